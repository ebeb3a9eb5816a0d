/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a breakpoint is made of: watches, one per thread, which the processor
 * keeps and the kernel drops when we die; or, where they cannot be had, a trap
 * instruction in the text.
 */
#ifndef CONTROL_BREAKPOINT_H
#define CONTROL_BREAKPOINT_H

#include "private.h"

/* ---- watch.c ------------------------------------------------------------ */

struct watch {
	pid_t tid;
	int fd;
	bool deaf;		/* counts only */
	bool rests;		/* counts nothing, and stops nobody */
	uint64_t seen;		/* hits that are told, or taken back */
	uint64_t looked_at;	/* seen, at a look that found an untold hit */
};

struct watches {
	struct watch *items;
	size_t len, cap;
	struct map by_tid;	/* tid -> place in items + 1 */
};

/* A signal that no thread of ours minds, at whatever moment we die; 0: there
 * is none, and why. */
int watch_signal(struct target *t, const char **why);
/* The same for one thread. */
int watch_signal_of(const struct target *t, pid_t tid);
/* Whatever this descriptor of perf has to say, as that signal. -1: errno. */
int watch_send(int fd, int signal, pid_t tid);
/* The program has begun to use t->signal. */
bool watch_signal_is_taken(struct target *t);
/* This thread blocks t->signal, for longer than a moment. */
bool watch_is_deaf(const struct target *t, const struct hold *h);
/* Code at addr, or so many bytes of data, aligned so. */
struct watched {
	uint64_t addr;
	unsigned data;		/* 1, 2, 4, 8; 0: code */
	bool reads;		/* of data also, not writes alone */
	bool rests;		/* for now, but in a deaf thread */
	const struct gate *gate;	/* before its signals; or NULL */
};
/* signal 0: count hits only. 0 also when the thread is gone; -1 with errno. */
int watches_arm(struct watches *w, const struct watched *at, int signal,
		pid_t tid);
void watches_disarm(struct watches *w, pid_t tid);
void watches_fini(struct watches *w);
struct watch *watches_find(const struct watches *w, pid_t tid);
/* For now, or no longer; what it has counted stays. -1 with errno. */
int watch_rest(struct watch *w, bool rests);
/* Hits that nobody was told of yet. */
uint64_t watch_hits(const struct watch *w);
/* Why nothing of this thread can be watched now; NULL: it can. */
const char *watch_probe(pid_t tid);
/* What a refused watches_arm means, in a few words. */
const char *watch_refusal(int error);

/* ---- trap.c ------------------------------------------------------------- */

/* The thread stands at a trap's address, all others are held. */
int trap_step_over(struct target *t, uint64_t addr, pid_t tid);

/* ---- judge.c ------------------------------------------------------------ */

/* A thread stands at ev->breakpoint: it may go on, behind it, or ev->passes. */
bool judge_passes(struct target *t, pid_t tid, struct event *ev);
/* Who hits it needs not stop. */
bool judge_unconcerned(const struct target *t, const struct breakpoint *bp,
		       pid_t tid);

/* ---- single.c ----------------------------------------------------------- */

/* Does the thread stand at the end of a system call (PTRACE_SYSCALL)? */
bool thread_at_exit_of_call(pid_t tid);
/* One instruction of a held thread, which stands after it, or with a signal
 * that is due to it. -1: it has ended, or has not come behind it within the
 * limit; then it stands within its system call. */
int step_one(struct target *t, pid_t tid, unsigned limit_ms);
/* The trap of a step of ours is queued for a thread that stands for something
 * else: it is its next stop, before anything of the program. */
bool step_trap_queued(const struct hold *h);

/* ---- breakpoint.c ------------------------------------------------------- */

struct breakpoint {
	struct breakpoint *next;
	uint64_t addr;
	unsigned data;		/* as of struct watched */
	bool reads;
	const char *why;	/* it is a trap; NULL: it is watched */
	const char *due;	/* it becomes one when all stand; NULL */
	bool off;		/* ... or nothing, as no trap is allowed, or
				 * would do: data */
	bool for_good;		/* ... and stays one */
	bool was_watched;	/* ... and threads may have passed it */
	struct watches watches;
	struct trap_text text;
};

static inline bool
breakpoint_is_trap(const struct breakpoint *bp)
{
	return bp->why && !bp->off;
}

/* For good, when the target is to run on: until all stand it is watched, so
 * that nobody passes unseen. why: a constant. */
void breakpoint_must_trap(struct target *t, struct breakpoint *bp,
			  const char *why);
/* The trap at addr, or NULL. */
struct breakpoint *breakpoint_trap_at(const struct target *t, uint64_t addr);

#endif
