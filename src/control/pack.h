/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that one tracing thread has seized: what is known of each, and
 * how it is stopped and let go.
 */
#ifndef CONTROL_PACK_H
#define CONTROL_PACK_H

#include <signal.h>

#include "base.h"
#include "control.h"

/* ---- pack.c: threads seized by one tracing thread ----------------------- */

enum want {
	WANT_STOPPED,	/* held for the user, or for a snapshot */
	WANT_RUNNING,	/* seized and running: events are wanted */
	WANT_GONE,	/* let go as soon as it stops (it could not yet) */
	WANT_ASIS,	/* held alone by thread_hold: its holder waits for it */
};

enum { NO_SIGNAL = -1 };

/* wants.c: what is told of it as soon as it is to run on */
enum tell { TELL_NOTHING, TELL_BEGINS, TELL_ENDS, TELL_ENTERS, TELL_RETURNS,
	    TELL_FORKS, TELL_DIES };

struct hold {
	pid_t tid;
	enum want want;
	bool stopped;		/* it stands, since stopped_at */
	bool asked;		/* INTERRUPT was sent, the stop has not come */
	bool newborn;		/* seized by its birth, its first stop comes */
	bool foreign;		/* another process, seized by its birth */
	bool lift;		/* ... with a copy of our breakpoints */
	bool vforking;		/* it waits for its vforked child */
	bool spared;		/* it was in a call that a stop cuts short */
	bool sleeps;		/* it did when looked at last, before a stop */
	bool at_trap;		/* it hit one, and its pc is put back */
	bool stepping;		/* by us: the trap after it is ours. Until it
				 * stands, and none is queued */
	bool masked;		/* by a step that did not end: mask is due */
	bool armed;		/* all watches of breakpoints are set */
	bool suspended;		/* it stands while the others run */
	struct thread_errand errand;	/* alone.c; behind 0: none */
	bool touches;		/* it stands, to be told of data or a signal */
	bool told;		/* of the signal that it stands with */
	bool kept;		/* its stop was looked at, not taken (caught.c) */
	int instead;		/* of that one: another, NO_SIGNAL; 0: it */
	int group_signal;	/* it stands in a group stop of this signal */
	enum tell tell;
	pid_t maker;		/* it was born while seized */
	pid_t child;		/* of TELL_FORKS */
	bool exits;		/* its end has begun */
	bool last;		/* ... and the program's: lastrites.c */
	int end;		/* ... by this wait status */
	bool in_kernel;		/* it stands there, and its registers are not
				 * what it goes on with */
	struct hold_call {	/* the last that was seen of it */
		uint64_t pc, sp;
		long nr;
		bool inside;	/* its return has not been seen */
		bool goes_on;	/* it is entered again, and not anew */
		int64_t answer;
	} call, back[4];	/* back: those that it was sent back from, and
				 * comes to once more, behind any handlers */
	uint64_t stopped_at;
	uint64_t late_since;	/* it was to be copied, and ran until then at
				 * least (late.c); 0: not so */
	uint64_t mask;		/* of signals */
	struct sentry *sentry;	/* waits for it in user mode; NULL: none */
	int call_fd;		/* its /proc file `syscall`; -1 none */
};

struct pack {
	struct target *target;
	struct hold *items;
	size_t len, cap;
	struct map by_tid;	/* tid -> place in items + 1 */
	unsigned long options;	/* for threads seized from now on */
	uint64_t asked_at;	/* when pack_stop began to stop them */
	uint64_t ran_until;	/* ... and those that ran; 0: nobody */
	bool execed;		/* another program has come since */
	bool spare;		/* let threads be that a stop would cut short */
};

void pack_fini(struct pack *p);
struct hold *pack_find(const struct pack *p, pid_t tid);
/* Valid until the next pack_add or pack_drop. */
struct hold *pack_add(struct pack *p, pid_t tid, enum want want);
void pack_drop(struct pack *p, pid_t tid);
/* There is nothing to wait for: it has ended, or become another program's
 * only thread; that is let go. */
void hold_vanished(struct pack *p, pid_t tid);

/* ---- pack_stop.c -------------------------------------------------------- */

/* Seize every thread and stop them all, again until nobody is new. */
int pack_stop(struct pack *p);
/* The same in steps: seize; perhaps stop those that sleep; then stop the
 * others, and whoever is new. */
int pack_seize(struct pack *p);
void pack_stop_sleepers(struct pack *p);
int pack_stop_rest(struct pack *p);
/* Does any run seized, for events? */
bool pack_runs(const struct pack *p);
/* Only this one. */
int pack_stop_one(struct pack *p, pid_t tid);
/* Note one wait status in the books, for whatever happens next. */
void hold_note(struct hold *h, const struct event *ev);
/* The kernel seizes what a seized thread makes: a thread becomes want, a
 * process is let go when its first stop comes. */
void pack_note_birth(struct pack *p, const struct event *ev, enum want want);
void pack_note_exec(struct pack *p, const struct event *ev);
void vfork_begins(struct target *t, struct hold *parent);
void vfork_ends(struct target *t, struct hold *parent);

/* ---- wait.c ------------------------------------------------------------- */

/* Nap between two looks; *nap_ns starts at 0. */
void wait_nap(uint64_t since, long *nap_ns);
/* The calling thread is a real-time one: it naps at once. */
void wait_goes_first(bool yes);
/* waitpid(WNOHANG) of one tracee; a trap of ours is undone before. */
pid_t take_status(pid_t tid, int *status);
/* One that nobody waits for: if it has ended its status is taken, but for the
 * first thread's; if it stops in its end (PTRACE_O_TRACEEXIT) it goes on. */
void thread_let_end(const struct target *t, pid_t tid);
/* Wait for a status of one tracee: 1 it came, 0 the deadline, -1 it is not
 * (any more) a tracee of this thread. */
int wait_status(pid_t tid, uint64_t deadline, int *status);

/* ---- thread.c ----------------------------------------------------------- */

/* SEIZE; -1 with the true reason. */
int seize(struct target *t, pid_t tid, unsigned long options);
/* No thread of the program. -1 */
int worker_refused(pid_t tid);
/* seize.c: an error number, 0: it is seized. Waits for an exec of the program
 * for 3 s at most (EAGAIN). */
int seize_call(struct target *t, pid_t tid, unsigned long options);
/* Digest one wait status on the way to a plain stop. 1: it stands; 0: it was
 * let run on towards it; -1: it is gone. */
int hold_step(struct pack *p, pid_t tid, int status);
/* The signal that a stopped thread is about to get and should. A trap of ours
 * is none: its pc is put back. Once only: ask again and pc differs. */
int hold_due_signal(struct pack *p, pid_t tid);
/* Ask for a plain stop and leave the one it stands at, with this signal:
 * nothing of the program runs in between but the entry of its handler. */
void hold_ask_through(struct hold *h, int signal);
/* From a stop on the way, where nothing of ours was met: run on, with what is
 * due to it. 0; it does not stop again by itself. */
int hold_pass(struct pack *p, const struct event *ev);
/* Bring a seized thread to a plain stop, delivering signals on the way. 1:
 * it stands; 0: not by the deadline; -1: it is gone. Clones it makes are
 * added to the pack. */
int hold_settle(struct pack *p, pid_t tid, uint64_t deadline);
/* Detach, with whatever signal it was about to get. 0: gone or free; 1: it
 * cannot be let go yet and stays in the pack as WANT_GONE. */
int hold_let_go(struct pack *p, pid_t tid);
/* Children made while we stopped a thread, or let it go, which are not to be
 * held: WANT_GONE. */
void pack_let_newborn_go(struct pack *p);
/* From any stop: run, with the signal it was about to get, or stay in its
 * group stop. It stays seized. */
void hold_run_on(struct target *t, struct hold *h);
/* hold.c: the same, from a stop at which nothing has to be repaired, with this
 * signal; or on in its group stop. */
void hold_continue(const struct target *t, struct hold *h, int signal);
void hold_listen(struct hold *h);
/* What a called function needs beside the pack's options, to be seen at its
 * return. */
unsigned long errand_options(const struct hold *h);
/* Who has hit a trap of ours, and was not seen yet, goes on to a plain stop. */
void hold_other_hits(struct target *t);
/* The signal that it stands with is not delivered. */
void hold_swallows(struct target *t, pid_t tid);
/* Repair the call of a thread that stands at a plain stop. It goes on right
 * after: what is due to it now decides. */
void hold_repair(struct target *t, const struct hold *h);
/* It stands at the delivery of this signal, which it will get: repair what the
 * program would not have seen without us. */
void hold_delivers(struct target *t, pid_t tid, const siginfo_t *si);
/* It is ignored, or ignored by default: no handler will run, nothing ends. */
bool signal_reaches_nobody(struct target *t, pid_t tid, int signal);
/* The signal that a stopped thread is about to get, 0 for all other stops. */
int signal_of_stop(pid_t tid, siginfo_t *info);
/* This SIGTRAP was made by a step or a watch of ours: it is for nobody. */
bool sigtrap_is_ours(pid_t tid, const siginfo_t *info);
/* Record why a ptrace request failed: running, gone, or errno. -1. */
int ptrace_failed(pid_t tid, const char *what);
pid_t tracer_tid(void);

#endif
