/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring engine: the kernel copies registers and stack at each tick of our
 * clocks, we unwind. Nothing of ours is in the target.
 *
 * Weights. Thread form: a sample weighs the CPU time of its thread since the
 * thread's previous sample, exact from switch records; in user-mode-only
 * sampling what exceeds one period was system time. CPU form: ticks are
 * unbiased over all threads but know no thread's clock, so the samples of a
 * round share what the process clock has advanced beyond what is booked:
 *
 *     weight = (1 - A) period + A (clock - booked) / samples
 *
 * A drain gives what was taken before the drain before it, so the clock is
 * that of the drain before. A < 1 keeps few samples from swinging, and the
 * last round (A = 1) books the rest to the nanosecond; without a tick of its
 * own it goes to the stacks of the round before. Ticks in step with the
 * scheduler's would hit one process too often (measured: 1.33 of its CPU time
 * at 10.000 ms, which the clock now evades); A = 1/2 corrects up to 2.
 *
 * Neither form books more than the process's clock has counted: switch records
 * carry the time of the wall, which on a host that takes the CPU away is more
 * than the process had.
 */
#include "clock.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum {
	DRAIN_SHARE = 2,	/* A = 1/2 */
	NEGLIGIBLE_NS = 10 * 1000,	/* the rest of a division */
	/* a thread's time comes into its process's clock at the next tick of
	 * the scheduler: up to 4 ms on each CPU, 10 ms where HZ is 100 */
	CLOCK_LAG_NS = 20 * 1000 * 1000,
};

struct tick {			/* a sample that waits for its weight */
	uint64_t time_ns, frinfo;
	pid_t tid;
	int cpu;
	enum mstate state;
};

struct thread_tail {		/* where a thread was seen last */
	uint64_t frinfo;
	enum mstate state;
};

struct ring {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct clock *clock;
	const struct clock_traits *traits;
	uint64_t period_ns;		/* of the clock, by its samples */
	struct tick *ticks;
	size_t tick_count, tick_cap;
	size_t booked_ticks;		/* of the last round that had any */
	struct rest {			/* of threads, at the end */
		pid_t tid;
		uint64_t cpu_ns;
	} *rests;
	size_t rest_count, rest_cap;
	uint64_t clock_start_ns;	/* process CPU clock at start */
	uint64_t booked_ns;
	uint64_t lost_pending_ns;	/* lost weight not found in a thread */
	struct map tails;		/* tid -> struct thread_tail */
	bool running, final;
	bool clock_gone;		/* the process was reaped first */
	uint64_t stop_clock_ns;		/* process CPU clock when disabled */
	uint64_t drain_clock_ns;	/* ... at this drain */
	uint64_t last_clock_ns;		/* ... and at the one before */
};

/* ---- threads ----------------------------------------------------------------- */

static struct thread_tail *
tail_of(struct ring *r, pid_t tid)
{
	uint64_t *slot = map_slot_of(&r->tails, (uint64_t)tid);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct thread_tail));
	return (struct thread_tail *)(uintptr_t)*slot;
}

static void
drop_tail(struct ring *r, pid_t tid)
{
	uint64_t slot;

	if (map_get(&r->tails, (uint64_t)tid, &slot)) {
		free((void *)(uintptr_t)slot);
		map_remove(&r->tails, (uint64_t)tid);
	}
}

/* CPU time of a thread after its last sample: the same stack's, or nobody's. */
static void
book_rest(struct ring *r, uint64_t time_ns, pid_t tid, uint64_t cpu_ns)
{
	uint64_t slot;

	if (!cpu_ns)
		return;
	r->booked_ns += cpu_ns;
	if (!map_get(&r->tails, (uint64_t)tid, &slot)) {
		recorder_unsampled(r->rec, time_ns, tid, cpu_ns);
		return;
	}

	const struct thread_tail *tail = (void *)(uintptr_t)slot;

	recorder_book(r->rec, time_ns, tid, tail->state, cpu_ns, tail->frinfo);
}

/* ---- weights -------------------------------------------------------------------- */

/* Of a gap longer than a period, that part which the kernel says it lost. */
static uint64_t
take_lost(struct ring *r, const struct clock_record *rec, uint64_t weight)
{
	const uint64_t period = r->opt->interval_ns;

	if (!r->lost_pending_ns || weight < 2 * period)
		return 0;

	uint64_t lost = weight - period;

	if (lost > r->lost_pending_ns)
		lost = r->lost_pending_ns;
	r->lost_pending_ns -= lost;
	recorder_lost(r->rec, rec->time_ns, "ring", "", rec->tid, 0, lost);
	return lost;
}

/* No more than the process can have used. */
static uint64_t
bounded(const struct ring *r, uint64_t weight)
{
	const uint64_t clock_ns = r->final ? r->stop_clock_ns :
		r->drain_clock_ns;
	const uint64_t booked = r->clock_start_ns + r->booked_ns;

	if (!clock_ns || (r->final && r->clock_gone))
		return weight;

	const uint64_t most = clock_ns + CLOCK_LAG_NS;
	const uint64_t left = most > booked ? most - booked : 0;

	return weight < left ? weight : left;
}

static void
book_thread_sample(struct ring *r, const struct clock_record *rec,
		   enum mstate state, uint64_t frinfo)
{
	uint64_t weight = bounded(r, rec->u.sample.cpu_ns);

	r->booked_ns += weight;
	weight -= take_lost(r, rec, weight);

	uint64_t system = 0;

	/* user mode only: the ticks that fell into the kernel were skipped */
	if (!r->traits->kernel && weight > r->opt->interval_ns)
		system = weight - r->opt->interval_ns;
	recorder_tick(r->rec, rec->time_ns, rec->tid, rec->cpu, state,
		      weight - system, frinfo);
	recorder_book(r->rec, rec->time_ns, rec->tid, MSTATE_SYSTEM, system,
		      frinfo);
}

static void
keep_tick(struct ring *r, const struct clock_record *rec, enum mstate state,
	  uint64_t frinfo)
{
	r->ticks = xgrow(r->ticks, &r->tick_cap, r->tick_count + 1,
			 sizeof *r->ticks);
	r->ticks[r->tick_count++] = (struct tick){
		.time_ns = rec->time_ns, .frinfo = frinfo, .tid = rec->tid,
		.cpu = rec->cpu, .state = state,
	};
}

/* What the process clock advanced beyond what is booked, until the newest
 * sample that was delivered; false: unknown. */
static bool
unbooked(const struct ring *r, uint64_t *rest)
{
	const uint64_t clock_ns = r->final ? r->stop_clock_ns :
		r->last_clock_ns;

	if (r->clock_gone || !clock_ns)
		return false;

	const uint64_t booked = r->clock_start_ns + r->booked_ns;

	*rest = clock_ns > booked ? clock_ns - booked : 0;
	return true;
}

static uint64_t
weight_of_round(struct ring *r)
{
	const uint64_t period = r->period_ns;
	uint64_t rest;

	if (!unbooked(r, &rest))
		return period;

	const uint64_t share = rest / r->tick_count;

	if (r->final)
		return share;

	const uint64_t weight =
		period - period / DRAIN_SHARE + share / DRAIN_SHARE;
	const uint64_t booked = r->clock_start_ns + r->booked_ns;
	const uint64_t left = r->drain_clock_ns > booked ?
		(r->drain_clock_ns - booked) / r->tick_count : 0;

	/* the clock of now: it has these ticks, and more */
	return r->drain_clock_ns && left < weight ? left : weight;
}

static void
book_round(struct ring *r)
{
	if (!r->tick_count)
		return;

	const uint64_t weight = weight_of_round(r);

	r->booked_ticks = r->tick_count;
	for (size_t i = 0; i < r->tick_count; i++) {
		const struct tick *t = &r->ticks[i];

		recorder_tick(r->rec, t->time_ns, t->tid, t->cpu, t->state,
			      weight, t->frinfo);
	}
	r->booked_ns += weight * r->tick_count;
	r->tick_count = 0;
}

/*
 * What the process used behind its last tick: more of the same. In the thread
 * form threads have their own time, and little is left: the way out of the
 * last one.
 */
static bool
book_behind_ticks(struct ring *r, uint64_t rest)
{
	const size_t n = r->booked_ticks;

	if (r->traits->form == CLOCK_FORM_THREAD &&
	    rest > r->opt->interval_ns)
		return false;

	for (size_t i = 0; i < n; i++) {
		const struct tick *t = &r->ticks[i];

		recorder_book(r->rec, now_ns(), t->tid, t->state,
			      rest / n + (i < rest % n), t->frinfo);
	}
	return n > 0;
}

/* Whatever the clock counted and nobody was charged with is one row. */
static void
book_unsampled(struct ring *r)
{
	uint64_t rest;

	if (!unbooked(r, &rest) || rest < NEGLIGIBLE_NS)
		return;
	if (!book_behind_ticks(r, rest))
		recorder_unsampled(r->rec, now_ns(),
				   target_pid(r->opt->target), rest);
	r->booked_ns += rest;
}

static void
keep_rest(void *arg, pid_t tid, uint64_t cpu_ns, bool sampled)
{
	struct ring *r = arg;

	(void)sampled;	/* our tails know the stack as well */
	if (!cpu_ns)
		return;
	r->rests = xgrow(r->rests, &r->rest_cap, r->rest_count + 1,
			 sizeof *r->rests);
	r->rests[r->rest_count++] = (struct rest){ tid, cpu_ns };
}

/*
 * The clocks of the threads stop one after another, the process's is read
 * behind them: what lies between is theirs, but for more than an interval
 * each.
 */
static double
scale_of_rests(const struct ring *r)
{
	uint64_t sum = 0, rest;

	for (size_t i = 0; i < r->rest_count; i++)
		sum += r->rests[i].cpu_ns;
	if (!sum || !unbooked(r, &rest) ||
	    rest > sum + r->rest_count * r->opt->interval_ns)
		return 1;
	return (double)rest / (double)sum;
}

static void
book_rests(struct ring *r)
{
	r->rest_count = 0;
	clock_rest(r->clock, keep_rest, r);

	const double scale = scale_of_rests(r);

	for (size_t i = 0; i < r->rest_count; i++)
		book_rest(r, now_ns(), r->rests[i].tid,
			  (uint64_t)((double)r->rests[i].cpu_ns * scale));
}

/* ---- records ---------------------------------------------------------------------- */

static uint64_t
stack_of(struct ring *r, const struct clock_record *rec)
{
	if (!rec->u.sample.has_user)
		return recorder_kernel_stack(r->rec);

	const struct step_stack stack = {
		.data = rec->u.sample.stack,
		.base = rec->u.sample.stack_base,
		.size = rec->u.sample.stack_size,
	};

	return recorder_walk(r->rec, &rec->u.sample.regs, &stack,
			     rec->u.sample.stack_full);
}

static void
on_sample(struct ring *r, const struct clock_record *rec)
{
	const uint64_t frinfo = stack_of(r, rec);
	const enum mstate state = rec->u.sample.kernel ?
		MSTATE_SYSTEM : MSTATE_USER;

	if (r->traits->form == CLOCK_FORM_CPU) {
		r->period_ns = rec->u.sample.period_ns;
		keep_tick(r, rec, state, frinfo);
		return;
	}
	r->tick_count = 0;
	keep_tick(r, rec, state, frinfo);
	r->booked_ticks = r->tick_count;
	*tail_of(r, rec->tid) = (struct thread_tail){ frinfo, state };
	book_thread_sample(r, rec, state, frinfo);
}

static void
on_lost(struct ring *r, const struct clock_record *rec)
{
	const uint64_t n = rec->u.lost.samples;
	uint64_t weight = n * r->period_ns;

	if (r->traits->form == CLOCK_FORM_CPU) {
		r->booked_ns += weight;
	} else {
		r->lost_pending_ns += weight;
		weight = 0;
	}
	recorder_lost(r->rec, rec->time_ns, "ring", "",
		      target_pid(r->opt->target), n, weight);
}

static void
on_record(void *arg, const struct clock_record *rec)
{
	struct ring *r = arg;
	const struct recorder_counts *counts = recorder_counts(r->rec);

	if (rec->kind == CLOCK_LOST) {
		on_lost(r, rec);
		return;
	}
	if (rec->pid != target_pid(r->opt->target) ||
	    (counts->execed && rec->time_ns >= counts->exec_ns))
		return;
	switch (rec->kind) {
	case CLOCK_SAMPLE:
		on_sample(r, rec);
		break;
	case CLOCK_EXIT:
		book_rest(r, rec->time_ns, rec->tid, rec->u.exit.cpu_ns);
		drop_tail(r, rec->tid);
		break;
	default:
		(void)sideband_take(r->rec, rec);
		break;
	}
}

/* ---- the engine --------------------------------------------------------------------- */

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
	r->last_clock_ns = r->drain_clock_ns;
	if (target_cpu_ns(r->opt->target, &r->drain_clock_ns) < 0)
		r->drain_clock_ns = 0;		/* it was reaped */
	clock_drain(r->clock, final, on_record, r);
	if (r->traits->form == CLOCK_FORM_CPU)
		book_round(r);
	else if (final)
		book_rests(r);
	if (final)
		book_unsampled(r);
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
		r->clock_gone = target_cpu_ns(r->opt->target, &cpu_ns) < 0;
		r->stop_clock_ns = r->clock_gone ? 0 : cpu_ns;
		ring_drain(r, true);
		/* without a clock there is nothing to be held against */
		recorder_clock(r->rec, false, r->clock_gone ?
			       r->clock_start_ns + r->booked_ns : cpu_ns);
		return 0;
	}
	if (target_cpu_ns(r->opt->target, &cpu_ns) < 0)
		return -1;
	r->clock_start_ns = cpu_ns;
	recorder_clock(r->rec, true, cpu_ns);
	r->booked_ns = 0;
	r->booked_ticks = 0;
	r->stop_clock_ns = r->drain_clock_ns = 0;
	clock_enable(r->clock);
	return 0;
}

static void
free_ring(struct ring *r)
{
	size_t at = 0;
	uint64_t tid, tail;

	clock_close(r->clock);
	while (map_next(&r->tails, &at, &tid, &tail))
		free((void *)(uintptr_t)tail);
	map_fini(&r->tails);
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
	    target_cpu_ns(o->target, &r->clock_start_ns) < 0) {
		free_ring(r);
		return NULL;
	}
	r->traits = clock_traits(r->clock);
	recorder_clock(rec, true, r->clock_start_ns);
	r->running = true;
	*why = r->traits->why;
	return r;
}

const struct engine_ops engine_ring = {
	.name = "ring", .start = ring_start, .pollfds = ring_pollfds,
	.drain = ring_drain, .run = ring_run, .stop = ring_stop,
};
