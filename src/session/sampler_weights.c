/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a remote sample weighs. A thread is charged with what it has used since
 * its last sample, by its own clock; never with more than the process's clock
 * has left, which is read later. What no thread has is unsampled, and what a
 * thread used that could not be looked at for long is lost.
 */
#include "sampler.h"

#include <unistd.h>

enum {
	PATIENCE = 8,		/* intervals of CPU time without a sample */
	SLACK = 4,		/* intervals that user and system may be off */
	SLACK_LEAST_NS = 50 * 1000 * 1000,
	UNIT_NS = 10 * 1000 * 1000,	/* of utime and stime */
	GAP_NS = 500 * 1000 * 1000,
	NEGLIGIBLE_NS = 10 * 1000,
	UNSEEN_NS = 50 * 1000 * 1000,
};

uint64_t
sampler_pending(const struct seen *th)
{
	return th->cpu_ns > th->booked_ns ? th->cpu_ns - th->booked_ns : 0;
}

/* What the process has used and nobody was charged with. */
static uint64_t
unbooked(const struct sampler *s)
{
	const uint64_t booked = s->clock_start_ns + s->booked_ns;

	return s->clock_ns > booked ? s->clock_ns - booked : 0;
}

/* So much CPU time without a sample is no chance. */
uint64_t
sampler_patience(const struct sampler *s)
{
	const uint64_t interval = s->opt->interval_ns;

	return PATIENCE * (interval > LAG_NS ? interval : LAG_NS);
}

/*
 * A sample in a system call is system time, any other user time; page faults
 * and interrupts do not show. So the thread's own utime and stime, which are
 * whole ticks, bound how far that may be off.
 */
static uint64_t
system_part(const struct sampler *s, const struct seen *th, uint64_t weight)
{
	const uint64_t some = SLACK * s->opt->interval_ns;
	const int64_t slack = (int64_t)(some > SLACK_LEAST_NS ? some :
					SLACK_LEAST_NS);
	const int64_t most = th->system_due_ns + slack;
	const int64_t least = th->system_due_ns - slack;
	int64_t part = th->in_call ? (int64_t)weight : 0;

	part = part > most ? most : part;
	part = part < least ? least : part;
	part = part < 0 ? 0 : part;
	return (uint64_t)part < weight ? (uint64_t)part : weight;
}

/*
 * The interrupt takes some microseconds to reach a thread on another
 * processor. A thread that makes a call meanwhile stops at the end of this
 * call: functions that make short calls often draw the stops of those around
 * them. utime:stime is not drawn, so it says how much time the calls can have.
 */
bool
sampler_doubts_call(const struct sampler *s, const struct seen *th)
{
	const int64_t slack = (int64_t)s->opt->interval_ns + UNIT_NS;

	return th->system_due_ns + slack < (int64_t)sampler_pending(th);
}

static uint64_t
charge(struct sampler *s, struct seen *th, uint64_t weight)
{
	const uint64_t system = system_part(s, th, weight);

	th->booked_ns += weight;
	th->system_due_ns -= (int64_t)system;
	s->booked_ns += weight;
	return system;
}

/* Not more than the process has used: clocks of threads are read later. */
static uint64_t
weight_of(const struct sampler *s, const struct seen *th)
{
	const uint64_t pending = sampler_pending(th), left = unbooked(s);

	return pending < left ? pending : left;
}

void
sampler_book_sample(struct sampler *s, struct seen *th)
{
	const uint64_t weight = weight_of(s, th);

	th->sampled = true;
	if (!weight)
		return;

	const uint64_t now = now_ns();
	const uint64_t system = charge(s, th, weight), user = weight - system;
	/* one sample, and what of it is of the other kind */
	const bool is_system = system > user;

	s->latest_tid = (uint64_t)th->tid;
	recorder_tick(s->rec, now, th->tid, th->cpu,
		      is_system ? MSTATE_SYSTEM : MSTATE_USER,
		      is_system ? system : user, th->frinfo);
	recorder_book(s->rec, now, th->tid,
		      is_system ? MSTATE_USER : MSTATE_SYSTEM,
		      is_system ? user : system, th->frinfo);
}

/* Time of a thread behind its last sample: more of the same, or nobody's. */
static void
book_rest(struct sampler *s, struct seen *th, uint64_t rest)
{
	const uint64_t now = now_ns();

	if (!rest)
		return;
	if (!th->frinfo) {
		th->booked_ns += rest;
		s->booked_ns += rest;
		recorder_unsampled(s->rec, now, th->tid, rest);
		return;
	}

	const uint64_t system = charge(s, th, rest);

	recorder_book(s->rec, now, th->tid, MSTATE_USER, rest - system,
		      th->frinfo);
	recorder_book(s->rec, now, th->tid, MSTATE_SYSTEM, system, th->frinfo);
}

/* Pieces of less than an interval are a sample when they are one together. */
static void
book_lost(struct sampler *s, struct seen *th, uint64_t rest, const char *cause)
{
	const uint64_t interval = s->opt->interval_ns;

	th->booked_ns += rest;
	s->booked_ns += rest;
	th->gap_ns += rest;
	recorder_lost(s->rec, now_ns(), cause, "", th->tid,
		      th->gap_ns / interval, rest);
	th->gap_ns %= interval;
}

void
sampler_book_spared(struct sampler *s, struct seen *th)
{
	book_lost(s, th, weight_of(s, th), "transfer");
}

/* It runs and runs, and cannot be looked at. */
void
sampler_book_gap(struct sampler *s, struct seen *th, const char *cause)
{
	const uint64_t rest = weight_of(s, th);

	if (rest >= GAP_NS && rest >= 2 * sampler_patience(s))
		book_lost(s, th, rest, cause);
}

static uint64_t
pending_of_all(const struct sampler *s)
{
	uint64_t tid, slot, pending = 0;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot))
		pending += sampler_pending((struct seen *)(uintptr_t)slot);
	return pending;
}

/* Clocks are not read in one instant, and all processors may run it. */
void
sampler_book_unseen(struct sampler *s)
{
	const uint64_t took = now_ns() - s->looked_at;
	const uint64_t slack = UNSEEN_NS +
		took * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t left = unbooked(s);
	/* who lives has its turn at the end */
	const uint64_t rest = recorder_nobodys(s->rec, left,
					       pending_of_all(s), slack);

	recorder_unsampled(s->rec, now_ns(), RECORDER_NO_THREAD, rest);
	s->booked_ns += rest;
}

void
sampler_book_ended(struct sampler *s, struct seen *th)
{
	book_rest(s, th, weight_of(s, th));
}

void
sampler_catch_up(struct sampler *s)
{
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		struct seen *th = (struct seen *)(uintptr_t)slot;

		if (th->frinfo)
			book_rest(s, th, weight_of(s, th));
	}
}

/* Rests are not more than what is left of the process's clock, nor, but for
 * an interval of each thread, less. */
static double
scale_of_rests(const struct sampler *s)
{
	const uint64_t left = unbooked(s);
	uint64_t tid, slot, rests = 0, slack = 0;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		rests += sampler_pending((struct seen *)(uintptr_t)slot);
		slack += s->opt->interval_ns;
	}
	if (!rests || (rests <= left && left > rests + slack))
		return 1;
	return (double)left / (double)rests;
}

/* What is left belongs to the only thread there is, or to none that we know. */
static void
book_last(struct sampler *s)
{
	const uint64_t left = unbooked(s);
	struct seen *th = sampler_thread(s, (pid_t)s->latest_tid);

	if (left < NEGLIGIBLE_NS)
		return;
	if (th && th->frinfo &&
	    (s->threads.len == 1 || left < s->opt->interval_ns)) {
		book_rest(s, th, left);
		return;
	}
	recorder_unsampled_rest(s->rec, left);
	s->booked_ns += left;
}

void
sampler_book_end(struct sampler *s)
{
	const double scale = scale_of_rests(s);
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		struct seen *th = (struct seen *)(uintptr_t)slot;

		book_rest(s, th, (uint64_t)((double)sampler_pending(th) *
					    scale));
	}
	book_last(s);
}
