/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a sample of the ring engine weighs.
 *
 * Thread form: the CPU time of its thread since the thread's previous sample,
 * exact from switch records; in user-mode-only sampling what exceeds one
 * period was system time. CPU form: ticks are unbiased over all threads but
 * know no thread's clock, so the samples of a round share what the process
 * clock has advanced beyond what is booked:
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
#include "engine_ring.h"

#include <stdlib.h>

enum {
	DRAIN_SHARE = 2,	/* A = 1/2 */
	NEGLIGIBLE_NS = 10 * 1000,	/* the rest of a division */
	/* a thread's time comes into its process's clock at the next tick of
	 * the scheduler: up to 4 ms on each CPU, 10 ms where HZ is 100 */
	CLOCK_LAG_NS = 20 * 1000 * 1000,
};

/* ---- threads ------------------------------------------------------------- */

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

/* ---- the thread form ----------------------------------------------------- */

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

/* ---- the CPU form -------------------------------------------------------- */

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

void
ring_book_round(struct ring *r)
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

/* ---- records ------------------------------------------------------------- */

void
ring_book_sample(struct ring *r, const struct clock_record *rec,
		 enum mstate state, uint64_t frinfo)
{
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

void
ring_book_lost(struct ring *r, const struct clock_record *rec)
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

void
ring_book_ended(struct ring *r, const struct clock_record *rec)
{
	book_rest(r, rec->time_ns, rec->tid, rec->u.exit.cpu_ns);
	drop_tail(r, rec->tid);
}

/* ---- the end ------------------------------------------------------------- */

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
void
ring_book_unsampled(struct ring *r)
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

void
ring_book_rests(struct ring *r)
{
	r->rest_count = 0;
	clock_rest(r->clock, keep_rest, r);

	const double scale = scale_of_rests(r);

	for (size_t i = 0; i < r->rest_count; i++)
		book_rest(r, now_ns(), r->rests[i].tid,
			  (uint64_t)((double)r->rests[i].cpu_ns * scale));
}
