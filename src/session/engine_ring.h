/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring engine's files: engine_ring.c runs it and takes its records,
 * ring_weights.c gives them their weights, those of the CPU form by
 * ring_rounds.c.
 */
#ifndef SONDE_SESSION_ENGINE_RING_H
#define SONDE_SESSION_ENGINE_RING_H

#include "clock.h"
#include "private.h"

struct tick {			/* a sample that waits for its weight */
	uint64_t time_ns, frinfo;
	pid_t tid;
	int cpu;
	enum mstate state;
	uint64_t weight_ns;	/* UINT64_MAX: its thread has no clock */
};

struct reading {		/* of a CPU clock */
	uint64_t time_ns, clock_ns;
};

struct thread_tail {		/* where a thread was seen last */
	uint64_t frinfo;
	enum mstate state;
	/* the CPU form's: */
	unsigned ticks;			/* of this round */
	unsigned round;			/* that had a tick of it last */
	struct reading clock;		/* its own, at that drain, */
	uint64_t then_ns;		/* ... and when that tick came */
	uint64_t weight_ns;
};

struct ring {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct clock *clock;
	const struct clock_traits *traits;
	uint64_t period_ns;		/* of the clock, by its samples */
	struct tick *ticks;
	size_t tick_count, tick_cap;
	unsigned round;			/* of those that had any tick */
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
	struct reading now;		/* ... at this drain; or zeros */
	struct reading before;		/* ... and at the one before */
};

/* A sample: of the thread form it is booked at once, of the CPU form at the
 * end of its round. */
void ring_book_sample(struct ring *r, const struct clock_record *rec,
		      enum mstate state, uint64_t frinfo);
void ring_book_lost(struct ring *r, const struct clock_record *rec);
/* A thread has ended, cpu_ns after its last sample. */
void ring_book_ended(struct ring *r, const struct clock_record *rec);
/* What the threads' clocks have counted since their last samples. */
void ring_book_rests(struct ring *r);
/* What the process's clock counted and nobody was charged with. */
void ring_book_unsampled(struct ring *r);
struct thread_tail *ring_tail(struct ring *r, pid_t tid);
void ring_drop_tail(struct ring *r, pid_t tid);

/* ---- ring_rounds.c ------------------------------------------------------ */

void ring_keep_tick(struct ring *r, const struct clock_record *rec,
		    enum mstate state, uint64_t frinfo);
void ring_book_round(struct ring *r);
/* What it has used by now and is not booked; UINT64_MAX: unknown. */
uint64_t ring_left(const struct ring *r);
/* What threads used behind their last ticks, at a resource sample. */
void ring_catch_up(struct ring *r);
/* What the process used behind its last tick. */
void ring_book_behind(struct ring *r, uint64_t rest_ns);
/* What the process clock advanced beyond what is booked, until the newest
 * sample that was delivered; false: unknown. */
bool ring_unbooked(const struct ring *r, uint64_t *rest_ns);

#endif
