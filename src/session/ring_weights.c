/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a sample of the ring engine weighs.
 *
 * Thread form: the CPU time of its thread since the thread's previous sample,
 * exact from switch records; in user-mode-only sampling what exceeds one
 * period was system time (recorder_system.c), if the kernel says so (modes.c). CPU form: see ring_rounds.c.
 *
 * Neither form books more than the process's clock has counted: switch records
 * carry the time of the wall, which on a host that takes the CPU away is more
 * than the process had.
 */
#include "engine_ring.h"

#include <stdlib.h>

enum {
	NEGLIGIBLE_NS = 10 * 1000,	/* the rest of a division */
	/* a thread's time comes into its process's clock at the next tick of
	 * the scheduler: up to 4 ms on each CPU, 10 ms where HZ is 100 */
	CLOCK_LAG_NS = 20 * 1000 * 1000,
};

/* ---- threads ------------------------------------------------------------- */

struct thread_tail *
ring_tail(struct ring *r, pid_t tid)
{
	uint64_t *slot = map_slot_of(&r->tails, (uint64_t)tid);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct thread_tail));
	return (struct thread_tail *)(uintptr_t)*slot;
}

void
ring_drop_tail(struct ring *r, pid_t tid)
{
	uint64_t slot;

	if (map_get(&r->tails, (uint64_t)tid, &slot)) {
		free((void *)(uintptr_t)slot);
		map_remove(&r->tails, (uint64_t)tid);
	}
}

/* Of user mode only: the ticks that fell into the kernel were skipped, or were
 * late. */
static uint64_t
system_part(const struct ring *r, pid_t tid, uint64_t cpu_ns)
{
	if (r->traits->kernel)
		return 0;
	return recorder_system_of(r->rec, tid, cpu_ns,
				  cpu_ns > r->opt->interval_ns ?
				  cpu_ns - r->opt->interval_ns : 0);
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
	const uint64_t system = system_part(r, tid, cpu_ns);

	recorder_book(r->rec, time_ns, tid, tail->state, cpu_ns - system,
		      tail->frinfo);
	recorder_system_behind(r->rec, time_ns, tid, system);
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
		r->now.clock_ns;
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

	const uint64_t system = system_part(r, rec->tid, weight);

	recorder_tick(r->rec, rec->time_ns, rec->tid, rec->cpu, state,
		      weight - system, frinfo);
	if (!r->traits->kernel)
		recorder_system_between(r->rec, rec->time_ns, rec->tid,
					system);
}

/* ---- records ------------------------------------------------------------- */

void
ring_book_sample(struct ring *r, const struct clock_record *rec,
		 enum mstate state, uint64_t frinfo)
{
	if (r->traits->form == CLOCK_FORM_CPU) {
		r->period_ns = rec->u.sample.period_ns;
		ring_keep_tick(r, rec, state, frinfo);
		return;
	}
	r->tick_count = 0;
	ring_keep_tick(r, rec, state, frinfo);
	*ring_tail(r, rec->tid) = (struct thread_tail){
		.frinfo = frinfo, .state = state,
	};
	book_thread_sample(r, rec, state, frinfo);
}

void
ring_book_lost(struct ring *r, const struct clock_record *rec)
{
	const uint64_t n = rec->u.lost.samples;
	uint64_t weight = n * r->period_ns;

	if (r->traits->form == CLOCK_FORM_CPU) {
		const uint64_t left = ring_left(r);

		weight = weight < left ? weight : left;
		r->booked_ns += weight;
	} else {
		r->lost_pending_ns += weight;
		weight = 0;
	}
	recorder_lost(r->rec, rec->time_ns, "ring", "",
		      RECORDER_NO_THREAD, n, weight);
}

void
ring_book_ended(struct ring *r, const struct clock_record *rec)
{
	book_rest(r, rec->time_ns, rec->tid, rec->u.exit.cpu_ns);
	ring_drop_tail(r, rec->tid);
}

/* ---- the end ------------------------------------------------------------- */

/* In the thread form threads have their own time, and little is left: the way
 * out of the last one. */
void
ring_book_unsampled(struct ring *r)
{
	uint64_t rest;

	if (!ring_unbooked(r, &rest) || rest < NEGLIGIBLE_NS)
		return;
	if (r->traits->form == CLOCK_FORM_CPU)
		ring_book_behind(r, rest);
	else if (rest <= r->opt->interval_ns && r->tick_count)
		recorder_book(r->rec, now_ns(), r->ticks[0].tid,
			      r->ticks[0].state, rest, r->ticks[0].frinfo);
	else
		recorder_unsampled_rest(r->rec, rest);
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
	if (!sum || !ring_unbooked(r, &rest) ||
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
