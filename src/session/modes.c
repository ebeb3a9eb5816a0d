/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * User and system time where ticks come in user mode only. That a tick was
 * skipped tells of system time, but on a crowded machine ticks are late, too,
 * and a thread that never enters the kernel would have a part of its time
 * there. The kernel counts both for each thread, by what it finds at its own
 * ticks: right on average, and exact for a thread that has but one of them. So
 * what the ticks say stands as far as that count does not contradict it: no
 * more is booked of either than was counted, and what chance may add.
 *
 * A thread that has ended before anybody read its count, or was too many, is
 * held against the count of the whole process.
 */
#include "recorder.h"

#include <math.h>
#include <stdlib.h>

enum {
	PROCESS = 0,			/* the number of no thread */
	READ_NS = 250 * 1000 * 1000,	/* between readings of one, */
	MORE_NS = 2 * 1000 * 1000,	/* ... and more for each there is */
	UNIT_NS = 10 * 1000 * 1000,	/* of what the kernel tells */
	KERNEL_TICK_NS = 4 * 1000 * 1000,
	MOST_THREADS = 4096,		/* read at the beginning */
	LEAST_NS = 2 * UNIT_NS,		/* of a share that tells something */
};

enum { USER, SYSTEM, MODES };

struct counted {		/* of a thread, or of the process */
	uint64_t base[MODES], now[MODES], booked[MODES];
	uint64_t read_at;
	unsigned epoch;
};

/* ---- readings ------------------------------------------------------------ */

static bool
read_count(const struct recorder *rec, pid_t tid, uint64_t ns[MODES])
{
	struct task_stat st;

	if ((tid == PROCESS ? target_stat(rec->opt.target, &st) :
	     target_thread_stat(rec->opt.target, tid, &st)) < 0) {
		fail_clear();
		return false;
	}
	ns[USER] = stat_ticks_ns(st.field[STAT_UTIME]);
	ns[SYSTEM] = stat_ticks_ns(st.field[STAT_STIME]);
	return true;
}

static struct counted *
find(const struct recorder *rec, pid_t tid)
{
	uint64_t at;

	return map_get(&rec->counted, (uint64_t)tid, &at) ?
		(struct counted *)(uintptr_t)at : NULL;
}

static struct counted *
meet(struct recorder *rec, pid_t tid, bool new)
{
	struct counted *c = xcalloc(1, sizeof *c);

	if (read_count(rec, tid, c->now)) {
		c->read_at = now_ns();
		c->epoch = rec->count_epoch;
	}
	if (!new)
		for (int i = 0; i < MODES; i++)
			c->base[i] = c->now[i];
	map_put(&rec->counted, (uint64_t)tid, (uintptr_t)c);
	return c;
}

/* NULL: nothing is known of it. */
static struct counted *
counted_of(struct recorder *rec, pid_t tid)
{
	struct counted *c = find(rec, tid);
	const uint64_t now = now_ns();
	uint64_t ns[MODES];

	if (!c && rec->counts_all)
		c = meet(rec, tid, true);
	if (!c)
		return NULL;
	if ((c->epoch != rec->count_epoch || now - c->read_at >
	     READ_NS + rec->counted.len * (uint64_t)MORE_NS) &&
	    read_count(rec, tid, ns) && ns[USER] >= c->base[USER] &&
	    ns[SYSTEM] >= c->base[SYSTEM]) {
		c->now[USER] = ns[USER];
		c->now[SYSTEM] = ns[SYSTEM];
		c->read_at = now;
	}
	c->epoch = rec->count_epoch;
	return c->read_at ? c : NULL;
}

/* ---- how much of it was system time -------------------------------------- */

static uint64_t
used(const struct counted *c, int mode)
{
	return c->now[mode] - c->base[mode];
}

/* Twice the deviation of a count by so many ticks; 0 where all is of one
 * mode. */
static uint64_t
chance_ns(const struct counted *c)
{
	const double user = (double)used(c, USER);
	const double system = (double)used(c, SYSTEM);
	const double all = user + system;

	return all > 0 ? (uint64_t)
		(2 * sqrt(user / all * system * KERNEL_TICK_NS)) : 0;
}

/* How much more of it there can be. */
static uint64_t
room(const struct counted *c, int mode)
{
	const uint64_t most = used(c, mode) + chance_ns(c) + UNIT_NS;

	return most > c->booked[mode] ? most - c->booked[mode] : 0;
}

static uint64_t
by_count(const struct counted *c, uint64_t ns, uint64_t guess)
{
	const uint64_t user = room(c, USER), system = room(c, SYSTEM);
	const uint64_t least = ns > user ? ns - user : 0;
	const uint64_t most = ns < system ? ns : system;
	const uint64_t all = used(c, USER) + used(c, SYSTEM);

	if (least <= most)
		return guess < least ? least : guess > most ? most : guess;
	/* more than was counted by then: as it was on the whole */
	return all < LEAST_NS ? guess : (uint64_t)
		((double)ns * (double)used(c, SYSTEM) / (double)all);
}

uint64_t
recorder_system_of(struct recorder *rec, pid_t tid, uint64_t ns,
		   uint64_t guess)
{
	const struct counted *c = NULL;

	if (!ns || !rec->counted.len)
		return guess;
	if (tid != RECORDER_NO_THREAD)
		c = counted_of(rec, tid);
	if (!c)
		c = counted_of(rec, PROCESS);
	return c ? by_count(c, ns, guess) : guess;
}

/* ---- the books ----------------------------------------------------------- */

static void
note(struct recorder *rec, pid_t tid, int mode, uint64_t ns)
{
	struct counted *c = find(rec, tid);

	if (!c && tid != PROCESS && rec->counts_all)
		c = meet(rec, tid, true);
	if (c)
		c->booked[mode] += ns;
}

void
modes_note(struct recorder *rec, pid_t tid, enum mstate state, uint64_t ns)
{
	const int mode = state == MSTATE_SYSTEM ? SYSTEM : USER;

	if (!rec->counted.len)
		return;
	note(rec, PROCESS, mode, ns);
	if (tid != RECORDER_NO_THREAD)
		note(rec, tid, mode, ns);
}

void
modes_forget(struct recorder *rec, pid_t tid)
{
	uint64_t at;

	if (tid != PROCESS && map_take(&rec->counted, (uint64_t)tid, &at))
		free((void *)(uintptr_t)at);
}

void
recorder_read_counts(struct recorder *rec)
{
	rec->count_epoch++;
}

void
recorder_follow_counts(struct recorder *rec)
{
	const uint64_t now = now_ns();
	pid_t *tids = NULL;
	size_t cap = 0;
	ssize_t n;

	if (!rec->counted.len || now - rec->followed_at < READ_NS +
	    rec->counted.len * (uint64_t)MORE_NS)
		return;
	rec->followed_at = now;
	n = target_threads(rec->opt.target, &tids, &cap);
	for (ssize_t i = 0; rec->counts_all && i < n && i < MOST_THREADS; i++)
		(void)counted_of(rec, tids[i]);
	if (n >= 0)
		(void)counted_of(rec, PROCESS);
	free(tids);
	fail_clear();
}

void
recorder_begin_counts(struct recorder *rec)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(rec->opt.target, &tids, &cap);

	map_free_values(&rec->counted);
	rec->counts_all = n >= 0 && n <= MOST_THREADS;
	(void)meet(rec, PROCESS, false);
	for (ssize_t i = 0; rec->counts_all && i < n; i++)
		(void)meet(rec, tids[i], false);
	free(tids);
	fail_clear();
}
