/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much the inject engine takes of what records say. The target can write
 * whatever it likes into the record memory, so what is booked for records is
 * never more than its process's clock has counted, and there are never more of
 * them than its clocks can have ticked. That bounds the experiment, too, and
 * what we keep for each thread: one that has ended cannot be asked for, but
 * has used CPU time if it was sampled.
 */
#include <stdlib.h>
#include <unistd.h>

#include "engine_inject.h"

enum {
	/* a thread's time comes into its process's clock at the next tick of
	 * the scheduler: up to 4 ms on each CPU, 10 ms where HZ is 100 */
	CLOCK_LAG_NS = 10 * 1000 * 1000,
	AGAIN_NS = 1000 * 1000,		/* between readings of the clock */
	/* counters go by the time of the wall, of which a host may take a
	 * part; timers may tick twice for one stretch */
	TICKS_MOST = 4,
};

static uint64_t
newest_clock(const struct inject *e)
{
	const uint64_t ns = e->clock_ns > e->newest_ns ? e->clock_ns :
		e->newest_ns;

	return ns > e->clock_start_ns ? ns - e->clock_start_ns : 0;
}

/* A process that is gone used no more than there was until now. */
static bool
read_again(struct inject *e)
{
	const uint64_t now = now_ns();
	uint64_t ns;

	if (now - e->newest_at < AGAIN_NS)
		return false;
	e->newest_at = now;
	if (recorder_cpu_ns(e->rec, &ns) < 0)
		ns = e->clock_ns + (now - e->clock_read_at) *
			(uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	e->newest_ns = ns;
	return true;
}

/* The first tick of each thread that is there may have had its beginning
 * before this stretch. */
void
inject_begin_bounds(struct inject *e)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(e->opt->target, &tids, &cap);

	free(tids);
	e->slack_ns = CLOCK_LAG_NS *
		(uint64_t)sysconf(_SC_NPROCESSORS_CONF) +
		(n > 0 ? (uint64_t)n : 1) * e->opt->interval_ns;
	e->newest_ns = e->clock_ns;
	e->records = 0;
}

static uint64_t
left_of_clock(const struct inject *e)
{
	const uint64_t most = newest_clock(e) + e->slack_ns;

	return most > e->booked_ns ? most - e->booked_ns : 0;
}

uint64_t
inject_bounded(struct inject *e, uint64_t weight)
{
	uint64_t left = left_of_clock(e);

	if (weight > left && read_again(e))
		left = left_of_clock(e);
	return weight < left ? weight : left;
}

static bool
has_room(const struct inject *e)
{
	const uint64_t most = TICKS_MOST * newest_clock(e) + e->slack_ns;

	return e->records <= most / e->opt->interval_ns;
}

bool
inject_may_be_true(struct inject *e, const struct record *r)
{
	if (!r->weight || (!has_room(e) && !(read_again(e) && has_room(e)))) {
		e->forged++;
		return false;
	}
	e->records++;
	return true;
}

uint64_t
inject_bounded_lost(struct inject *e, uint64_t n)
{
	uint64_t most = (TICKS_MOST * newest_clock(e) + e->slack_ns) /
		e->opt->interval_ns;

	if (e->records + n > most || e->records + n < n) {
		(void)read_again(e);
		most = (TICKS_MOST * newest_clock(e) + e->slack_ns) /
			e->opt->interval_ns;
		most = most > e->records ? most - e->records : 0;
		e->forged += n > most;
		n = n < most ? n : most;
	}
	e->records += n;
	return n;
}

/* Nobody's time: that is what the clock says. */
void
inject_tell_forged(struct inject *e)
{
	const uint64_t of_nobody = guest_forged(e->guest);
	const uint64_t n = e->forged + of_nobody - e->forged_seen;

	e->forged = 0;
	e->forged_seen = of_nobody;
	recorder_lost(e->rec, now_ns(), "forged", "", RECORDER_NO_THREAD, n,
		      0);
}
