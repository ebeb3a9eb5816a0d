/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inject engine's files: inject_start.c begins, engine_inject.c runs it,
 * inject_weights.c turns what it brings into packets, inject_system.c finds the
 * place of system time, inject_posix.c asks /proc where perf is refused,
 * inject_mute.c and inject_deaf.c look whether ticks may be sent,
 * inject_bounds.c says how much of what records say can be.
 */
#ifndef SONDE_SESSION_ENGINE_INJECT_H
#define SONDE_SESSION_ENGINE_INJECT_H

#include "clock.h"
#include "inject.h"
#include "look_back.h"
#include "private.h"

struct kernel_sample {
	uint64_t time_ns, frinfo;
	int cpu;
	enum unwind_end end;
};

struct thread {
	pid_t tid;
	char name[16];
	uint64_t base_ns;	/* CPU clock when recording began */
	uint64_t cpu_ns;	/* since then */
	uint64_t compared_ns;	/* ... when its own clock was looked at last */
	uint64_t used_ns, clock_ns;	/* ... what it had used, and that clock */
	uint64_t first_cpu_ns, first_clock_ns;	/* ... for the first time */
	bool clocked;		/* ... in this stretch */
	double scale;		/* its own clock per counter; 0 not known */
	uint64_t booked_ns;
	uint64_t frinfo;	/* last user stack, 0 none yet */
	uint64_t drain;		/* when cpu_ns was read, of the POSIX form */
	bool ticked;		/* a record came since the last drain */
	bool deaf;		/* it gets no ticks: see inject_deaf.c */
	bool confined;		/* ... for its seccomp filters */
	uint32_t filters, asked;	/* so many permit a handler's return; so
					 * many there were when that was asked */
	uint64_t filter;	/* the kernel's name for these; 0 not known */
	/* by the clock's gate (GATE_REASONS): ticks; and their time that is
	 * not booked yet, and all of it */
	uint64_t held[GATE_REASONS], held_ns[GATE_REASONS];
	uint64_t held_all_ns[GATE_REASONS];
	unsigned searched;	/* so often for its stack */
	bool late;		/* they come when they do harm: never more */
	bool timed;		/* POSIX: a timer was asked for */
	/* system time, with a clock of kernel mode: samples that have none yet;
	 * it waits for such */
	struct kernel_sample *waiting;
	size_t waiting_len, waiting_cap;
	uint64_t system_ns;	/* booked to such */
	/* ... and without: the counter at the last tick (UINT64_MAX: not known),
	 * and what no tick tells */
	uint64_t tick_cpu_ns, owed_ns;
	uint64_t past_tick_ns;		/* booked since that tick */
};

/* The guest's, and of the clock of kernel mode. */
enum { INJECT_LOST_RING = RECORD_LOSSES, INJECT_LOSSES };

struct inject {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct guest *guest;
	struct signal_clock *clock;	/* NULL: POSIX timers */
	struct clock *kernel;		/* of kernel mode; NULL: none, */
	char *no_kernel;		/* ... and why */
	struct map threads;		/* tid -> struct thread */
	uint64_t lost_seen[RECORD_LOSSES];
	uint64_t lost_pending_ns[INJECT_LOSSES];	/* not taken yet */
	uint64_t utime, stime;		/* ticks at the last drain */
	uint64_t clock_ns;	/* process CPU clock, last reading */
	uint64_t clock_start_ns, booked_ns;	/* of this stretch */
	/* what records may have: see inject_bounds.c */
	uint64_t newest_ns, newest_at;	/* that clock, read for them */
	uint64_t slack_ns, records;	/* of this stretch */
	uint64_t forged, forged_seen;	/* left out: not told; by the guest */
	bool clock_gone;	/* the process was reaped */
	uint64_t clock_read_at;		/* now_ns() of that reading */
	uint64_t counted_ns;		/* by all perf counters together */
	uint64_t counted_start_ns, counted_then_ns; /* ... at the start, and
						     * at that reading */
	double scale;		/* process clock per counter, at most 1 */
	uint64_t drains;
	struct thread *latest;	/* that was sampled */
	double system_share;		/* of the last drain (POSIX) */
	/* POSIX: ticks so far, and those in calls; of the others, the system's */
	uint64_t ticks_ns, in_calls_ns, first_utime, first_stime;
	double outside_share;
	uint64_t *pcs;
	unsigned char *exact;
	bool running, final, maps_changed;
	bool slept;		/* the lease ran out before this drain */
	/* Since when no tick can come, NULL: they do; and why. */
	const char *mute_cause;
	char *mute_text;
	uint64_t mute_ns;
	uint64_t activity, user_ns, patience_ns;	/* see inject_mute.c */
	uint64_t last_beat_ns;
	uint64_t slept_ns;	/* past leases, all together */
	bool refresh_due;	/* POSIX: timers to be made or taken back */
	uint64_t refreshed_ns;
	bool births;		/* stacks to be published */
	uint64_t published_ns;
	uint64_t held_back;	/* ticks of all threads, by the gate */
	struct stacks stacks;	/* where they may write their frames */
	bool alternate;		/* ... or on alternate stacks */
	char *why;
};

/* A thread of the target, known from now on. */
struct thread *inject_thread(struct inject *e, pid_t tid);
/* For engine_ops. */
void *inject_start(struct recorder *rec, const struct recorder_options *o,
		   const char **why);
void inject_free(struct inject *e);
int inject_run(void *engine, bool on);
/* The clocks go on, or have gone on: from here all CPU time counts. */
void inject_begin_stretch(struct inject *e);
/* A record of the kernel, for signal_clock_drain. */
void inject_kernel_record(void *engine, const struct clock_record *rec);

/* A clock of kernel mode, stopped, where that is permitted. */
void inject_open_kernel_clock(struct inject *e);
void inject_drain_kernel_clock(struct inject *e);
/* Of the time that a thread used beyond its ticks: what is the kernel's, or
 * waits until that is known. */
uint64_t inject_book_system(struct inject *e, struct thread *th, uint64_t rest);
/* Samples of kernel mode that got no time: at the end. */
void inject_forget_samples(struct inject *e, struct thread *th);
/* Between the tick before and this one, whose stack was handed in. */
void inject_book_between(struct inject *e, struct thread *th,
			 const struct tick_time *tick);
/* Every nanosecond that gets a place, so that the rest can be told. */
void inject_note_booked(struct inject *e, struct thread *th, uint64_t weight);
void inject_note_lost(struct inject *e, int cause, uint64_t samples);
/* Of a time without samples: what is known to be lost. */
uint64_t inject_take_lost(struct inject *e, struct thread *th, uint64_t rest);

/* Without perf: */
enum reading { READ_LIST, READ_BASES, READ_CLOCKS };
void inject_read_threads(struct inject *e, enum reading what);
/* user and system */
void inject_read_share(struct inject *e);
bool inject_has_execed(struct inject *e);

/* A visit: for the receipt. */
void inject_note_report(struct inject *e, const struct inject_report *report);
/* A record of the guest, for guest_drain. */
void inject_guest_record(void *engine, const struct record *r);
/* Do our ticks still come to us? If not they are stopped. */
void inject_watch_handler(struct inject *e);
/* Asked before its first tick: shall this thread get any? */
bool inject_wants_ticks(struct inject *e, pid_t tid);
/* It used its CPU time and no tick came: is it deaf, or has it been? */
bool inject_is_deaf(struct inject *e, struct thread *th);
/* A tick came into a call that lets signals in: the last for this thread. */
void inject_came_late(struct inject *e, struct thread *th);
/* Ticks that the clock's gate has held back since. */
void inject_note_held_back(struct inject *e);
/* Of a rest their time, booked as lost. */
uint64_t inject_book_held_back(struct inject *e, struct thread *th,
			       uint64_t rest);
/* Threads that could not be sampled for their state, for the receipt. */
void inject_tell_held_back(const struct inject *e, struct str *text);
/* A stretch of a thread's time in which no tick could be taken. */
void inject_book_gap(struct inject *e, struct thread *th, uint64_t rest,
		     const char *cause, const char *detail);
/* POSIX: tell the guest who is deaf, and whether a handler may make calls. */
void inject_tell_guest(struct inject *e);
/* inject_bounds.c: a stretch begins. */
void inject_begin_bounds(struct inject *e);
/* So much of the weight of a record as the process can have used. */
uint64_t inject_bounded(struct inject *e, uint64_t weight);
/* Counts those that cannot be. */
bool inject_may_be_true(struct inject *e, const struct record *r);
/* Records that were left out since the last time. */
void inject_tell_forged(struct inject *e);
/* Of n ticks that the guest says it has lost: so many there may have been. */
uint64_t inject_bounded_lost(struct inject *e, uint64_t n);
/* What the guest has counted as lost since the last time. */
void inject_book_losses(struct inject *e);
/* What the threads' clocks counted beyond their ticks. */
void inject_book_threads(struct inject *e);
/* The process's clock is held against what the counters say. */
void inject_compare_clocks(struct inject *e);
/* A thread's CPU time per counter. */
double inject_scale(const struct inject *e, const struct thread *th);
/* Its CPU time since it was met. */
uint64_t inject_used(const struct inject *e, const struct thread *th);

#endif
