/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The remote engine's files: engine_remote.c decides when to look, sampler.c
 * chooses whose turn it is, sampler_stacks.c stops them and copies, and
 * sampler_weights.c turns what is seen into packets.
 */
#ifndef SONDE_SESSION_SAMPLER_H
#define SONDE_SESSION_SAMPLER_H

#include "inject.h"
#include "private.h"

struct seen {			/* a thread */
	pid_t tid;
	uint64_t cpu_ns;	/* its clock, at the last look */
	uint64_t moved_at;	/* the look that found it moved */
	uint64_t booked_ns;	/* of that: charged, or not ours */
	uint64_t system_base_ns;	/* stime when recording began */
	int64_t system_due_ns;	/* stime beyond what is charged as system */
	uint64_t frinfo;	/* its last stack, 0 none yet */
	uint64_t user_frinfo;	/* ... of those outside of system calls */
	uint64_t round;		/* of the last look that found it */
	int cpu;
	unsigned watched;	/* looks that found it at work */
	bool newborn;		/* it was not there at the first */
	bool ran;		/* ... and found it running, or about to */
	bool sampled;		/* ... and sampled it */
	bool in_call;		/* when sampled: in a system call */
	bool transfers;		/* not stopped where it may be in one */
	unsigned cuts;		/* of those, by a stop of ours */
	uint64_t spared_until;	/* the first look that may stop it again */
	uint64_t blocks;	/* how often it had blocked at a look */
	uint64_t ran_from_ns;	/* its clock at the first that found so */
	uint64_t gap_ns;	/* lost, and not yet a whole interval */
};

struct sampler {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct map threads;	/* tid -> struct seen */
	uint64_t round;
	unsigned looks;		/* of this stretch */
	bool transfers;		/* some thread is better not stopped */
	uint64_t looked_at, before;	/* now_ns() of this look, the last */
	uint64_t came_at;	/* for this look, to a processor */
	struct schedule urgent;	/* until the last thread goes on */
	bool hurries;
	uint64_t clock_ns;	/* process CPU clock, at the last reading */
	uint64_t clock_start_ns, booked_ns;	/* of this stretch */
	uint64_t latest_tid;	/* that was sampled */
	uint64_t synced_at;	/* the maps */
	pid_t *running;		/* to be stopped in this look */
	size_t running_count, running_cap;
	pid_t *waiting;		/* to be peeked at */
	size_t waiting_count, waiting_cap;
	uint64_t stood_ns;	/* of all stops together */
	unsigned stops, late;	/* late: in a call that the thread began
				 * while the stop was on its way */
};

/* All CPU time from now on counts, and nothing before it. */
void sampler_begin(struct sampler *s);
/* One look at every thread that used CPU time since the last one. came_at:
 * we have had the processor since then. */
void sampler_look(struct sampler *s, uint64_t came_at);
/* No look follows: every thread's rest goes to its last stack. */
void sampler_end(struct sampler *s);
void sampler_fini(struct sampler *s);
/* NULL: not seen yet. */
struct seen *sampler_thread(const struct sampler *s, pid_t tid);

void sampler_read_clock(struct sampler *s);
/* A stop may cut its call short: none where it may be in one. */
void sampler_spare(struct sampler *s, struct seen *th);
/* A stop has done so: none for some time, and for longer each time. */
void sampler_spare_cut(struct sampler *s, struct seen *th);
/* It was stopped, which counts as having blocked. */
void sampler_note_blocks(struct sampler *s, struct seen *th);

/* ---- sampler_stacks.c ---------------------------------------------------- */

/* We go first, from before the look until no thread stands. */
void sampler_hurry(struct sampler *s);
void sampler_share(struct sampler *s);
/* Those in s->running, and those in s->waiting. */
/* Who stopped behind the last look is let go, and counted. */
void sampler_note_late(struct sampler *s);
void sampler_sample_running(struct sampler *s);
void sampler_peek_waiting(struct sampler *s);

/* ---- sampler_weights.c --------------------------------------------------- */

/* th was stopped in a system call: is that more system time than utime:stime
 * of the thread leaves room for? */
bool sampler_doubts_call(const struct sampler *s, const struct seen *th);
/* What it has used and was not charged with. */
uint64_t sampler_pending(const struct seen *th);
/* So much CPU time without a sample is no chance. */
uint64_t sampler_patience(const struct sampler *s);
void sampler_book_sample(struct sampler *s, struct seen *th);
/* It runs, and is not to be looked at: what is pending is lost. */
void sampler_book_spared(struct sampler *s, struct seen *th);
/* It runs and runs, and cannot be looked at. */
void sampler_book_gap(struct sampler *s, struct seen *th, const char *cause);
void sampler_book_ended(struct sampler *s, struct seen *th);
/* At a resource sample: what is pending where a stack is known. */
void sampler_catch_up(struct sampler *s);
/* What the process has used beyond what is pending: nobody's. */
void sampler_book_unseen(struct sampler *s);
/* All that is pending now. */
void sampler_book_end(struct sampler *s);

#endif
