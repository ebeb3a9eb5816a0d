/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inject engine's counters beside the scheduler's clocks: of the process,
 * and of each thread that has run enough for it. A counter of perf has the
 * time of the wall from one switch to the next; what a switch itself takes,
 * and the host, it counts otherwise than the scheduler (a thread that sleeps
 * a microsecond at a time: 0.9 of its CPU time).
 */
#include "engine_inject.h"

enum { COMPARE_NS = 100 * 1000 * 1000 };

/*
 * Once the process is gone its clock cannot be read: what the counters have
 * counted since the last reading is added to it; or, without perf, ticks.
 */
static void
follow_gone(struct inject *e)
{
	const uint64_t booked = e->clock_start_ns + e->booked_ns;

	if (e->clock && e->counted_ns > e->counted_then_ns)
		e->clock_ns += (uint64_t)((double)(e->counted_ns -
						   e->counted_then_ns) *
					  e->scale);
	e->counted_then_ns = e->counted_ns;
	if (!e->clock && e->clock_ns < booked)
		e->clock_ns = booked;
}

/* What its clock has advanced, from one comparison to the next; for a while
 * the counter must do. Only of who has run since: for most there is nothing to
 * compare. */
static void
compare_thread(struct inject *e, struct thread *th)
{
	const uint64_t counted = th->cpu_ns - th->compared_ns;
	uint64_t clock_ns, booked_ns;

	if ((counted < COMPARE_NS && !e->final) ||
	    !recorder_thread_clock(e->rec, th->tid, &clock_ns, &booked_ns))
		return;
	if (th->clocked && clock_ns >= th->clock_ns) {
		th->used_ns += clock_ns - th->clock_ns;
		if (th->cpu_ns - th->first_cpu_ns >= COMPARE_NS)
			th->scale = (double)(clock_ns - th->first_clock_ns) /
				(double)(th->cpu_ns - th->first_cpu_ns);
	} else {
		th->used_ns += (uint64_t)((double)counted * e->scale);
		th->first_clock_ns = clock_ns;
		th->first_cpu_ns = th->cpu_ns;
		th->scale = 0;
	}
	th->clocked = true;
	th->clock_ns = clock_ns;
	th->compared_ns = th->cpu_ns;
}

uint64_t
inject_used(const struct inject *e, const struct thread *th)
{
	return th->used_ns + (uint64_t)
		((double)(th->cpu_ns - th->compared_ns) * inject_scale(e, th));
}

static void
compare_threads(struct inject *e)
{
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&e->threads, &at, &tid, &slot))
		compare_thread(e, (struct thread *)(uintptr_t)slot);
}

double
inject_scale(const struct inject *e, const struct thread *th)
{
	return e->clock && th->scale > 0 ? th->scale : e->scale;
}

void
inject_compare_clocks(struct inject *e)
{
	uint64_t clock_ns = e->clock_ns;

	if (e->clock_gone) {
		follow_gone(e);
		return;
	}
	e->counted_then_ns = e->counted_ns;
	if (!e->clock || e->counted_ns <= e->counted_start_ns)
		return;
	/* of the same moment as the counters, or later */
	if (!e->final && recorder_cpu_ns(e->rec, &clock_ns) < 0)
		return;
	e->scale = (double)(clock_ns - e->clock_start_ns) /
		(double)(e->counted_ns - e->counted_start_ns);
	if (e->scale > 1)
		e->scale = 1;	/* threads that no counter has */
	compare_threads(e);
}
