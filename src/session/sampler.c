/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Remote sampling: at each look the threads that used CPU time since the last
 * one and run now are stopped, each alone, for as long as its registers and
 * stack take to copy; they are unwound when they run again.
 *
 * A sample weighs the CPU time of its thread since the thread's last sample,
 * exact by its own clock. One that does not have a processor at a look is not
 * sampled: its time waits for a look that finds it running, so that a place
 * gets what it uses, and not what it sleeps or is preempted beside. What waits
 * for very long was used by one that never has a processor when we look: then
 * where it is will do; one that sleeps is peeked at, without a stop.
 *
 *	        used nothing            runs               sleeps
 *	skip <---------------- a look --------> stop, copy  ------> let it wait
 *	                                                     (long: peek)
 *
 * A thread can have used no more since the last look than the time between
 * them; that is the bound for one seen first, whose clock may have run for
 * long before we could read it. All of it together is what the process's
 * clock says: what no thread that we know has used is unsampled.
 */
#include "sampler.h"

#include <stdlib.h>
#include <string.h>

enum {
	WATCH_LOOKS = 3,
	BURST_NS = 1000 * 1000,	/* no piece of a transfer takes as long */
	SPARE_DOUBLINGS = 10,
};

/* After the first call that we cut. */
#define SPARE_NS	UINT64_C(500000000)

/* ---- clocks ------------------------------------------------------------- */

void
sampler_read_clock(struct sampler *s)
{
	uint64_t cpu_ns;

	if (target_cpu_ns(s->opt->target, &cpu_ns) == 0)
		s->clock_ns = cpu_ns;
	/* else it was reaped: the last reading stands */
}

struct seen *
sampler_thread(const struct sampler *s, pid_t tid)
{
	uint64_t slot;

	if (!map_get(&s->threads, (uint64_t)tid, &slot))
		return NULL;
	return (struct seen *)(uintptr_t)slot;
}

static struct seen *
add_thread(struct sampler *s, pid_t tid, uint64_t cpu_ns, uint64_t system_ns)
{
	struct seen *th = xcalloc(1, sizeof *th);
	const uint64_t most = s->before ? s->looked_at - s->before : 0;

	th->tid = tid;
	th->newborn = s->looks > 0;
	/* born since the last look, or not readable then */
	th->booked_ns = cpu_ns > most ? cpu_ns : 0;
	th->system_base_ns = cpu_ns > most ? system_ns : 0;
	map_put(&s->threads, (uint64_t)tid, (uintptr_t)th);
	return th;
}

/* ---- transfers ---------------------------------------------------------- */

void
sampler_spare(struct sampler *s, struct seen *th)
{
	th->transfers = s->transfers = true;
}

/* Some never block, and so do not show themselves, as a read of /dev/zero.
 * Each cut is a harm: in a visit of any length there are to be few of them. */
void
sampler_spare_cut(struct sampler *s, struct seen *th)
{
	const unsigned doublings = 2 * th->cuts++;

	sampler_spare(s, th);
	th->spared_until = s->looked_at +
		(SPARE_NS << (doublings < SPARE_DOUBLINGS ? doublings :
			      SPARE_DOUBLINGS));
}

/* 0: not known. */
static uint64_t
blocks_of(const struct sampler *s, pid_t tid)
{
	static const char name[] = "\nvoluntary_ctxt_switches:";
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/status", (int)tid);

	char *text = file_read_at(target_proc(s->opt->target), path, NULL);
	const char *at = text ? strstr(text, name) : NULL;
	const uint64_t n = at ? strtoull(at + sizeof name - 1, NULL, 10) : 0;

	free(text);
	return n;
}

/* Where it stood it was in no transfer that a stop cuts, or is spared now. */
void
sampler_note_blocks(struct sampler *s, struct seen *th)
{
	if (!th->transfers)
		return;
	th->blocks = blocks_of(s, th->tid);
	th->ran_from_ns = 0;
}

/*
 * It runs; is it in a transfer that has blocked and goes on, or waits to? Not
 * if it has computed since it blocked last, for longer than a transfer runs
 * before it blocks again.
 */
static bool
may_transfer(const struct sampler *s, struct seen *th)
{
	if (!th->transfers)
		return false;

	const uint64_t blocks = blocks_of(s, th->tid);

	if (!blocks || blocks != th->blocks) {
		th->blocks = blocks;
		th->ran_from_ns = th->cpu_ns;
		return true;
	}
	return s->looked_at < th->spared_until ||
		th->cpu_ns < th->ran_from_ns + BURST_NS;
}

/* ---- a look ------------------------------------------------------------- */

static void
plan_stop(struct sampler *s, pid_t tid)
{
	s->running = xgrow(s->running, &s->running_cap, s->running_count + 1,
			   sizeof *s->running);
	s->running[s->running_count++] = tid;
}

static void
plan_peek(struct sampler *s, pid_t tid)
{
	s->waiting = xgrow(s->waiting, &s->waiting_cap, s->waiting_count + 1,
			   sizeof *s->waiting);
	s->waiting[s->waiting_count++] = tid;
}

/* It has used some; or its clock lags, for a tick of the scheduler at most:
 * who waits longer than that for a processor has an exact one. */
static bool
uses_cpu(const struct sampler *s, const struct seen *th)
{
	return sampler_pending(th) || s->looked_at - th->moved_at < LAG_NS;
}

/*
 * Who moves much in one call waits in it, mostly, and is not to be stopped:
 * each thread is watched at work for a while before its first stop. Newborn
 * ones are taken to be like those that were watched.
 */
static bool
is_known(const struct sampler *s, const struct seen *th)
{
	return th->watched > WATCH_LOOKS ||
		(th->newborn && !s->transfers && s->looks > WATCH_LOOKS);
}

/* What a spared one runs is lost at once: left pending, it would be had by the
 * call in which it is peeked at next. */
static void
plan_running(struct sampler *s, struct seen *th)
{
	if (may_transfer(s, th))
		sampler_book_spared(s, th);
	else if (uses_cpu(s, th) && is_known(s, th))
		plan_stop(s, th->tid);
	else
		sampler_book_gap(s, th, "transfer");
}

static void
plan_thread(struct sampler *s, struct seen *th, char state)
{
	const uint64_t pending = sampler_pending(th);

	th->watched++;
	th->sampled = false;
	th->ran = state == 'R';
	if (th->ran)
		plan_running(s, th);
	if (state != 'S' || !pending)
		return;
	if (!th->transfers && thread_in_transfer(s->opt->target, th->tid))
		sampler_spare(s, th);
	if (pending > (th->transfers ? s->opt->interval_ns : sampler_patience(s)))
		plan_peek(s, th->tid);
}

static void
note_state(struct seen *th, const struct task_stat *st)
{
	const uint64_t system_ns = stat_ticks_ns(st->field[STAT_STIME]);

	th->cpu = (int)st->field[STAT_CPU];
	if (system_ns > th->system_base_ns) {
		th->system_due_ns += (int64_t)(system_ns - th->system_base_ns);
		th->system_base_ns = system_ns;
	}
}

/* One that does not run and has not run is done with by one reading. */
static void
read_thread(struct sampler *s, pid_t tid)
{
	struct seen *th = sampler_thread(s, tid);
	struct task_turns turns;
	struct task_stat st;

	if (target_thread_turns(s->opt->target, tid, &turns) < 0)
		return;			/* now, or any more */
	if (th && turns.cpu_ns == th->cpu_ns && !th->ran) {
		th->round = s->round;
		return;
	}
	if (target_thread_stat(s->opt->target, tid, &st) < 0)
		return;
	if (!th)
		th = add_thread(s, tid, turns.cpu_ns,
				stat_ticks_ns(st.field[STAT_STIME]));
	if (turns.cpu_ns != th->cpu_ns)
		th->moved_at = s->looked_at;
	th->cpu_ns = turns.cpu_ns;
	th->round = s->round;
	note_state(th, &st);
	plan_thread(s, th, st.state);
}

static void
read_threads(struct sampler *s)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(s->opt->target, &tids, &cap);

	s->round++;
	s->running_count = s->waiting_count = 0;
	for (ssize_t i = 0; i < n; i++) {
		read_thread(s, tids[i]);
		target_serve_told(s->opt->target);
	}
	free(tids);
	fail_clear();
}

/* Those that were not found: their rest is known but for the last bit, which
 * only the process's clock has. One whose clock could not be read comes back
 * as a new one. */
static void
drop_ended(struct sampler *s)
{
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		struct seen *th = (struct seen *)(uintptr_t)slot;

		if (th->round == s->round)
			continue;
		sampler_book_ended(s, th);
		free(th);
		map_remove(&s->threads, tid);
		at--;		/* another may have moved here */
	}
}

void
sampler_look(struct sampler *s, uint64_t came_at)
{
	const uint64_t clock_ns = s->clock_ns;

	sampler_read_clock(s);
	/* it lags, so whoever ran may have run on */
	if (s->clock_ns == clock_ns && !s->running_count)
		return;
	s->before = s->looked_at;
	s->looked_at = now_ns();
	s->came_at = came_at;
	s->looks++;
	read_threads(s);
	sampler_sample_running(s);
	sampler_peek_waiting(s);
	sampler_read_clock(s);
	drop_ended(s);
	sampler_book_unseen(s);
}

/* ---- a stretch ---------------------------------------------------------- */

void
sampler_begin(struct sampler *s)
{
	map_free_values(&s->threads);
	s->before = s->looked_at = 0;
	s->looks = 0;
	read_threads(s);
	s->looked_at = s->synced_at = now_ns();
	sampler_read_clock(s);
	s->clock_start_ns = s->clock_ns;
	s->booked_ns = 0;
	s->latest_tid = 0;
}

void
sampler_end(struct sampler *s)
{
	if (!target_gone(s->opt->target))
		read_threads(s);
	sampler_note_late(s);
	sampler_read_clock(s);
	sampler_book_end(s);
}

void
sampler_fini(struct sampler *s)
{
	map_free_values(&s->threads);
	free(s->running);
	free(s->waiting);
}
