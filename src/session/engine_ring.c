/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring engine: the kernel copies registers and stack at each tick of our
 * clocks, we unwind. Nothing of ours is in the target. What a sample weighs:
 * ring_weights.c.
 */
#include "engine_ring.h"

#include <stdlib.h>

/* ---- records ------------------------------------------------------------- */

/* Some hypervisors hold a tick that is due in the kernel back until the call
 * returns. */
static enum mstate
state_of(const struct ring *r, const struct clock_record *rec)
{
	const bool in_call = r->traits->kernel && rec->u.sample.has_user &&
		arch.in_call && arch.in_call(&rec->u.sample.regs);

	return rec->u.sample.kernel || in_call ? MSTATE_SYSTEM : MSTATE_USER;
}

static void
on_record(void *arg, const struct clock_record *rec)
{
	struct ring *r = arg;
	const struct recorder_counts *counts = recorder_counts(r->rec);

	if (rec->kind == CLOCK_LOST) {
		ring_book_lost(r, rec);
		return;
	}
	if ((rec->pid != target_pid(r->opt->target) &&
	     rec->kind != CLOCK_FORK) ||
	    (counts->execed && rec->time_ns >= counts->exec_ns))
		return;
	switch (rec->kind) {
	case CLOCK_SAMPLE:
		ring_book_sample(r, rec, state_of(r, rec),
				 recorder_copied_stack(r->rec, rec));
		break;
	case CLOCK_EXIT:
		ring_book_ended(r, rec);
		(void)sideband_take(r->rec, rec);
		break;
	default:
		(void)sideband_take(r->rec, rec);
		break;
	}
}

/* ---- the engine ---------------------------------------------------------- */

static size_t
ring_pollfds(void *engine, struct pollfd *fds, size_t max)
{
	const struct ring *r = engine;

	return clock_pollfds(r->clock, fds, max);
}

static void
ring_drain(void *engine, bool final)
{
	struct ring *r = engine;

	r->final = final;
	if (final)
		recorder_read_counts(r->rec);
	else if (!r->traits->kernel)
		recorder_follow_counts(r->rec);
	r->before = r->now;
	r->now.time_ns = now_ns();
	if (recorder_cpu_ns(r->rec, &r->now.clock_ns) < 0)
		r->now = (struct reading){0};	/* it was reaped */
	clock_drain(r->clock, final, on_record, r);
	/* it was told just now */
	if (recorder_counts(r->rec)->execed && r->now.clock_ns)
		(void)recorder_cpu_ns(r->rec, &r->now.clock_ns);
	if (recorder_counts(r->rec)->execed && r->stop_clock_ns)
		(void)recorder_cpu_ns(r->rec, &r->stop_clock_ns);
	if (r->traits->form == CLOCK_FORM_CPU)
		ring_book_round(r);
	else if (final)
		ring_book_rests(r);
	if (final)
		ring_book_unsampled(r);
}

static int
ring_run(void *engine, bool on)
{
	struct ring *r = engine;
	uint64_t cpu_ns;

	if (on == r->running)
		return 0;
	r->running = on;
	if (!on) {
		clock_disable(r->clock);
		r->clock_gone = recorder_cpu_ns(r->rec, &cpu_ns) < 0;
		r->stop_clock_ns = r->clock_gone ? 0 : cpu_ns;
		ring_drain(r, true);
		/* without a clock there is nothing to be held against */
		recorder_clock(r->rec, false, r->clock_gone ?
			       r->clock_start_ns + r->booked_ns :
			       r->stop_clock_ns);
		return 0;
	}
	if (recorder_cpu_ns(r->rec, &cpu_ns) < 0)
		return -1;
	r->clock_start_ns = cpu_ns;
	recorder_clock(r->rec, true, cpu_ns);
	if (!r->traits->kernel)
		recorder_begin_counts(r->rec);
	r->booked_ns = 0;
	r->booked_ticks = 0;
	r->stop_clock_ns = 0;
	r->now = (struct reading){ now_ns(), cpu_ns };
	r->round++;		/* no tail is of the round before */
	clock_enable(r->clock);
	return 0;
}

/* In the thread form what a thread has behind its tick is less than a period. */
static void
catch_up(void *engine)
{
	struct ring *r = engine;

	if (r->traits->form == CLOCK_FORM_CPU)
		ring_catch_up(r);
}

static size_t
ring_not_sampled(void *engine)
{
	const struct ring *r = engine;

	return r->traits->not_sampled;
}

static bool
ring_ripe(const void *engine)
{
	const struct ring *r = engine;

	return clock_ripe(r->clock);
}

static bool
ring_quick(const void *engine)
{
	(void)engine;	/* nothing of it is in the target */
	return true;
}

static void
free_ring(struct ring *r)
{
	clock_close(r->clock);
	map_free_values(&r->tails);
	free(r->ticks);
	free(r->rests);
	free(r);
}

static void
ring_stop(void *engine, struct str *text)
{
	struct ring *r = engine;

	(void)text;	/* nothing was put into the target */
	ring_run(r, false);
	free_ring(r);
}

static void *
ring_start(struct recorder *rec, const struct recorder_options *o,
	   const char **why)
{
	const struct clock_options options = {
		.pid = target_pid(o->target),
		.interval_ns = o->interval_ns,
		.stack_bytes = o->stack_bytes,
		.form = CLOCK_FORM_AUTO,
	};
	struct ring *r = xcalloc(1, sizeof *r);

	r->rec = rec;
	r->opt = o;
	r->period_ns = o->interval_ns;
	if (!(r->clock = clock_open(&options)) ||
	    recorder_cpu_ns(rec, &r->clock_start_ns) < 0) {
		free_ring(r);
		return NULL;
	}
	r->traits = clock_traits(r->clock);
	if (!r->traits->kernel)
		recorder_begin_counts(rec);
	*why = r->traits->why;
	if (o->held) {
		clock_disable(r->clock);
		return r;
	}
	recorder_clock(rec, true, r->clock_start_ns);
	r->running = true;
	return r;
}

const struct engine_ops engine_ring = {
	.name = "ring", .start = ring_start, .pollfds = ring_pollfds,
	.drain = ring_drain, .run = ring_run, .stop = ring_stop,
	.ripe = ring_ripe, .catch_up = catch_up,
	.not_sampled = ring_not_sampled, .quick = ring_quick, .rounds = true,
};
