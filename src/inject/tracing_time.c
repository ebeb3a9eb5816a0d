/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From ticks of the TSC to time. The longer we are there the better its pace
 * is known. No event may seem to be before one that it came after, also where
 * they are read in two rounds: from each round on time goes on where it is by
 * what was known before, a little faster or slower until it is right.
 */
#include "private.h"
#include "tracing.h"

enum { CALIBRATE_NS = 2 * 1000 * 1000 };
#define OFF_MOST 1e-3

uint64_t
tracing_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* Whoever was interrupted between the two clocks tries again. */
static struct instant
instant_now(void)
{
	enum { TRIES = 8 };
	struct instant best = {0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		const uint64_t before = tracing_ticks();
		const uint64_t ns = now_ns();
		const uint64_t took = tracing_ticks() - before;

		if (took < least) {
			least = took;
			best = (struct instant){ ns, before + took / 2 };
		}
	}
	return best;
}

static double
time_by(const struct pace *p, uint64_t ticks)
{
	return (double)(int64_t)(ticks - p->from.ticks) * p->ns_per_tick;
}

uint64_t
tracing_time(const struct tracing *tr, uint64_t ticks)
{
	const struct pace *p = ticks < tr->pace.from.ticks ?
		&tr->pace_before : &tr->pace;

	return p->from.ns + (uint64_t)(int64_t)time_by(p, ticks);
}

uint64_t
tracing_ticks_of(const struct tracing *tr, uint64_t ns)
{
	return (uint64_t)((double)ns / tr->ns_per_tick);
}

void
tracing_calibrate(struct tracing *tr)
{
	const struct instant now = instant_now();
	const uint64_t told = tracing_time(tr, now.ticks);
	double off;

	if (now.ticks <= tr->pace.from.ticks)
		return;
	tr->ns_per_tick = (double)(now.ns - tr->start.ns) /
		(double)(now.ticks - tr->start.ticks);
	off = (double)(int64_t)(now.ns - told) / 1e9;
	off = off > OFF_MOST ? OFF_MOST : off < -OFF_MOST ? -OFF_MOST : off;
	tr->pace_before = tr->pace;
	tr->pace = (struct pace){ .from = { told, now.ticks },
				  .ns_per_tick = tr->ns_per_tick * (1 + off) };
}

void
tracing_calibrate_first(struct tracing *tr)
{
	tr->start = instant_now();
	while (now_ns() - tr->start.ns < CALIBRATE_NS)
		;

	const struct instant now = instant_now();

	tr->ns_per_tick = (double)(now.ns - tr->start.ns) /
		(double)(now.ticks - tr->start.ticks);
	tr->pace = (struct pace){ tr->start, tr->ns_per_tick };
	tr->pace_before = tr->pace;
}
