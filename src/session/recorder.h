/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorder's files: recorder_stacks.c makes stacks of what engines and
 * looks hand in, recorder.c books their time, recorder_system.c that which the
 * kernel takes between samples.
 */
#ifndef SONDE_SESSION_RECORDER_H
#define SONDE_SESSION_RECORDER_H

#include "private.h"

struct names {			/* of threads; names.c */
	struct map of;		/* tid -> struct named */
	struct ended_name {
		uint64_t at_ns;
		pid_t tid;
	} *ended;		/* in order of time */
	size_t ended_len, ended_cap;
	bool heard;		/* perf tells of births */
	char usual[16];
};

enum { RECORDER_READINGS = 8 };

struct recorder {
	struct recorder_options opt;
	struct engine engine;
	struct waits *waits;	/* NULL: not wanted */
	bool waits_untold;	/* failed stacks of theirs */
	struct creators *creators;	/* the same */
	struct calls *calls;		/* the same */
	struct recorder_counts counts;
	struct unwind_trace trace;
	struct fresh_stack {	/* handed in last; the engine's, or of trace */
		const uint64_t *pcs;
		size_t len;
		enum unwind_end end;
	} fresh;
	struct clock_reading {	/* of the process's CPU clock: the last */
		uint64_t time_ns, cpu_ns;
	} readings[RECORDER_READINGS];
	uint64_t at_exec_ns;	/* what it showed; 0: not known yet */
	struct map latest;	/* tid -> outer frames of the one before it */
	struct loss {
		char cause[16], detail[32];
		uint64_t samples, weight_ns;
	} *losses;
	size_t loss_count, loss_cap;
	uint64_t unsampled_ns;	/* CPU time of threads without a sample */
	struct map booked;	/* CPU time by thread */
	struct map counted;	/* the kernel's user and system time (modes.c);
				 * empty: ticks tell all */
	unsigned count_epoch;
	uint64_t followed_at;		/* recorder_follow_counts read them */
	bool counts_all;	/* who is not in it is new */
	struct names names;
	struct newborns {		/* recorder_descendant */
		pid_t *items;
		size_t len, cap;
	} descendants;
	uint64_t lack_ns, lack_read_at;	/* of all threads, by their clocks */
	bool nobody_named;
	uint64_t lost_frinfo, unsampled_frinfo, kernel_frinfo, unseen_frinfo,
		system_frinfo;
	struct modes {		/* of the target, in the kernel's units */
		uint64_t user, system, read_at;
	} first_modes, modes;
};

/* ---- names.c ------------------------------------------------------------- */

/* Before all others. */
void names_usual(struct recorder *rec);
void names_fini(struct names *n);
void names_birth(struct names *n, pid_t tid, pid_t by);
void names_death(struct names *n, pid_t tid);
/* After a drain. */
void names_settle(struct names *n);
/* Before a packet of that thread: its name is written if it was not. */
void names_packet(struct recorder *rec, uint64_t time_ns, pid_t tid);

/* ---- ledger.c ------------------------------------------------------------ */

void ledger_add(struct recorder *rec, pid_t tid, enum mstate state,
		uint64_t ns);
void ledger_forget(struct recorder *rec, pid_t tid);

/* ---- losses.c ------------------------------------------------------------ */

/* How much of the process's time so far was the kernel's. */
void losses_read_modes(struct recorder *rec);
/* The last word: how much time threads have used that had no sample. */
void losses_tell_unsampled(struct recorder *rec, struct str *text);

/* ---- modes.c ------------------------------------------------------------- */

void modes_note(struct recorder *rec, pid_t tid, enum mstate state,
		uint64_t ns);
void modes_forget(struct recorder *rec, pid_t tid);

/* ---- recorder_system.c --------------------------------------------------- */

void recorder_forget_latest(struct recorder *rec, pid_t tid);

/* ---- recorder_stacks.c --------------------------------------------------- */

/* Interned once, on first use. */
uint64_t recorder_artificial(struct recorder *rec, uint64_t *frinfo,
			     const char *name);

#endif
