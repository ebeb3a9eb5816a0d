/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What samples of the CPU form weigh. Its ticks are unbiased over all threads
 * but know no thread's clock. The scheduler has one for each, so the samples
 * of a thread in a round share what its clock has advanced beyond what is
 * booked to it, and all those of a round the same of the process's clock; this
 * counts for threads without one (they have ended by now, or states are off):
 *
 *     weight = (1 - A) period + A (clock - booked) / samples
 *
 * A drain gives what was taken until some time before it, mostly the drain
 * before, so the clock is that of then, between two readings. A < 1 keeps few
 * samples from swinging, and the last round (A = 1) books the rest to the
 * nanosecond; without a tick of its own it goes to the stacks of before. So it
 * is at a resource sample, too, for each thread that had a tick. Ticks in step
 * with the scheduler's hit a thread too often, or too rarely (1.33 of a
 * process's CPU time at 10.000 ms, which the clock now evades; a fifth of a
 * thread's that runs for 10 us at a time): A = 1/2 corrects up to 2, and less
 * than 1 wholly.
 */
#include "engine_ring.h"

#include <stdlib.h>

enum { DRAIN_SHARE = 2 };	/* A = 1/2 */

void
ring_keep_tick(struct ring *r, const struct clock_record *rec,
	       enum mstate state, uint64_t frinfo)
{
	r->ticks = xgrow(r->ticks, &r->tick_cap, r->tick_count + 1,
			 sizeof *r->ticks);
	r->ticks[r->tick_count++] = (struct tick){
		.time_ns = rec->time_ns, .frinfo = frinfo, .tid = rec->tid,
		.cpu = rec->cpu, .state = state,
	};
}

static uint64_t
beyond(uint64_t clock_ns, uint64_t booked_ns)
{
	return clock_ns > booked_ns ? clock_ns - booked_ns : 0;
}

/* What a clock had counted when the newest ticks delivered came. */
static uint64_t
clock_then(const struct ring *r, struct reading before, struct reading now)
{
	const uint64_t then = clock_drained(r->clock);

	/* less than before: a thread of the same number */
	if (then >= now.time_ns || now.clock_ns <= before.clock_ns)
		return now.clock_ns;
	if (then <= before.time_ns)
		return before.clock_ns;
	return before.clock_ns + (uint64_t)
		((double)(now.clock_ns - before.clock_ns) *
		 (double)(then - before.time_ns) /
		 (double)(now.time_ns - before.time_ns));
}

bool
ring_unbooked(const struct ring *r, uint64_t *rest_ns)
{
	const uint64_t clock_ns = r->final ? r->stop_clock_ns :
		clock_then(r, r->before, r->now);

	if (r->clock_gone || !clock_ns)
		return false;
	*rest_ns = beyond(clock_ns, r->clock_start_ns + r->booked_ns);
	return true;
}

uint64_t
ring_left(const struct ring *r)
{
	const uint64_t clock_ns = r->final ? r->stop_clock_ns :
		r->now.clock_ns;

	if (!clock_ns || (r->final && r->clock_gone))
		return UINT64_MAX;
	return beyond(clock_ns, r->clock_start_ns + r->booked_ns);
}

static uint64_t
mixed(const struct ring *r, uint64_t rest_ns, size_t samples)
{
	const uint64_t share = rest_ns / samples;

	return r->final ? share : r->period_ns -
		r->period_ns / DRAIN_SHARE + share / DRAIN_SHARE;
}

/*
 * A thread that has ended has no clock any more: what it was seen to have, and
 * a period for each tick behind that look. The process's clock may be gone as
 * well, and nothing else be left to go by.
 */
static bool
weigh_ended(struct ring *r, pid_t tid, struct thread_tail *tail)
{
	uint64_t seen, seen_at, booked, after = 0;

	if (!recorder_seen_clock(r->rec, tid, &seen, &seen_at, &booked))
		return false;
	for (size_t i = 0; i < r->tick_count; i++)
		after += r->ticks[i].tid == tid &&
			r->ticks[i].time_ns > seen_at;
	tail->weight_ns = (beyond(seen, booked) + after * r->period_ns) /
		tail->ticks;
	return true;
}

/* false: it has no clock. */
static bool
weigh_thread(struct ring *r, pid_t tid, struct thread_tail *tail)
{
	const bool lately = tail->round + 1 == r->round;
	uint64_t now, booked;

	if (!recorder_thread_clock(r->rec, tid, &now, &booked))
		return weigh_ended(r, tid, tail);

	const uint64_t most = beyond(now, booked) / tail->ticks;
	const struct reading reading = { r->now.time_ns, now };

	tail->then_ns = r->final ? now : clock_then(r, tail->clock, reading);
	tail->weight_ns = lately || r->final ?
		mixed(r, beyond(tail->then_ns, booked), tail->ticks) :
		r->period_ns;
	if (tail->weight_ns > most)
		tail->weight_ns = most;
	tail->clock = reading;
	tail->round = r->round;
	return true;
}

/* How many ticks have no clock; *sum: of the weights of the others. */
static size_t
weigh_threads(struct ring *r, uint64_t *sum)
{
	size_t unknown = 0;

	*sum = 0;
	for (size_t i = 0; i < r->tick_count; i++)
		ring_tail(r, r->ticks[i].tid)->ticks++;
	for (size_t i = 0; i < r->tick_count; i++) {
		struct tick *t = &r->ticks[i];
		struct thread_tail *tail = ring_tail(r, t->tid);

		tail->frinfo = t->frinfo;
		tail->state = t->state;
		if (tail->ticks && !weigh_thread(r, t->tid, tail))
			tail->weight_ns = UINT64_MAX;
		tail->ticks = 0;
		t->weight_ns = tail->weight_ns;
		if (t->weight_ns == UINT64_MAX)
			unknown++;
		else
			*sum += t->weight_ns;
	}
	return unknown;
}

/* For those that have none: of the process's clock, as if nobody had one. To
 * what those with a clock leave of it, these ticks are too few. */
static uint64_t
weight_of_unknown(const struct ring *r)
{
	uint64_t rest;

	return ring_unbooked(r, &rest) ? mixed(r, rest, r->tick_count) :
		r->period_ns;
}

/* Their ends were told before their last ticks were booked. */
static void
forget_ended(struct ring *r)
{
	for (size_t i = 0; i < r->tick_count; i++) {
		const pid_t tid = r->ticks[i].tid;

		if (r->ticks[i].weight_ns != UINT64_MAX ||
		    recorder_knows_thread(r->rec, tid))
			continue;
		ring_drop_tail(r, tid);
		recorder_forget_thread(r->rec, tid);
	}
}

void
ring_book_round(struct ring *r)
{
	uint64_t sum, left;

	if (!r->tick_count)
		return;
	r->round++;

	const size_t unknown = weigh_threads(r, &sum);
	const uint64_t other = weight_of_unknown(r);

	sum += unknown * other;
	left = ring_left(r);

	const double scale = sum > left ? (double)left / (double)sum : 1;

	r->booked_ticks = r->tick_count;
	for (size_t i = 0; i < r->tick_count; i++) {
		const struct tick *t = &r->ticks[i];
		const uint64_t weight = (uint64_t)(scale *
			(double)(t->weight_ns == UINT64_MAX ? other :
				 t->weight_ns));

		recorder_tick(r->rec, t->time_ns, t->tid, t->cpu, t->state,
			      weight, t->frinfo);
		r->booked_ns += weight;
	}
	forget_ended(r);
	r->tick_count = 0;
}

/* ---- what is behind the ticks of threads --------------------------------- */

/* A thread's own clock: at the end, as it is; else as it was when the newest
 * ticks came, by the last look at it. */
static uint64_t
tail_lacks(const struct ring *r, pid_t tid, const struct thread_tail *tail)
{
	struct reading seen;
	uint64_t booked;

	if (r->final && recorder_thread_clock(r->rec, tid, &seen.clock_ns,
					      &booked))
		return beyond(seen.clock_ns, booked);
	if (!recorder_seen_clock(r->rec, tid, &seen.clock_ns, &seen.time_ns,
				 &booked))
		return 0;
	if (r->final)		/* it has ended */
		return beyond(seen.clock_ns, booked);
	if (tail->round == r->round && tail->clock.time_ns == r->now.time_ns)
		return beyond(tail->then_ns, booked);
	return beyond(clock_then(r, tail->clock, seen), booked);
}

/* Each thread's own, where it was seen last. Returns what it booked, or would
 * with that scale. */
static uint64_t
book_tails(struct ring *r, double scale, bool really)
{
	const uint64_t time_ns = r->final ? now_ns() : clock_drained(r->clock);
	uint64_t tid, at, sum = 0;
	size_t i = 0;

	while (map_next(&r->tails, &i, &tid, &at)) {
		const struct thread_tail *tail = (void *)(uintptr_t)at;
		const uint64_t ns = (uint64_t)(scale * (double)
				tail_lacks(r, (pid_t)tid, tail));

		if (really)
			recorder_book(r->rec, time_ns, (pid_t)tid,
				      tail->state, ns, tail->frinfo);
		sum += ns;
	}
	return sum;
}

/* ... which is no more than the process's clock has left. */
static uint64_t
book_all_tails(struct ring *r, uint64_t rest_ns)
{
	const uint64_t lack = book_tails(r, 1, false);

	return book_tails(r, lack > rest_ns ?
			  (double)rest_ns / (double)lack : 1, true);
}

/* A thread may run for less than a period between two ticks: many of them have
 * much behind their last ones. */
void
ring_catch_up(struct ring *r)
{
	uint64_t rest;

	if (ring_unbooked(r, &rest))
		r->booked_ns += book_all_tails(r, rest);
}

/* ---- the end ------------------------------------------------------------- */

/* Of threads without ticks, as far as clocks tell; else of those that ended:
 * more of the same. */
static void
book_others(struct ring *r, uint64_t rest_ns)
{
	const size_t n = r->booked_ticks;
	const uint64_t lack = recorder_unbooked_of_threads(r->rec);
	/* more than that is of threads that no tick has met */
	const uint64_t most = r->tails.len > 1 ?
		lack + 2 * (n + 1) * r->period_ns : UINT64_MAX;
	const bool all = !n || lack > rest_ns || rest_ns > most;
	const uint64_t known = all ? rest_ns : lack;

	recorder_unsampled_rest(r->rec, known);
	rest_ns -= known;
	for (size_t i = 0; i < n; i++) {
		const struct tick *t = &r->ticks[i];

		recorder_book(r->rec, now_ns(), t->tid, t->state,
			      rest_ns / n + (i < rest_ns % n), t->frinfo);
	}
}

void
ring_book_behind(struct ring *r, uint64_t rest_ns)
{
	const uint64_t done = book_all_tails(r, rest_ns);

	if (rest_ns > done)
		book_others(r, rest_ns - done);
}
