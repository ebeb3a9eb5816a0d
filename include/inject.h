/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject: put the guest into a running process, call its entries, take it out
 * of work again. ONE thread is borrowed for raw system calls; a helper thread
 * with its own stack and TLS starts a real pthread that calls dlopen and the
 * entry; all other threads keep running (injection.md 3).
 */
#ifndef SONDE_INJECT_H
#define SONDE_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control.h"
#include "record.h"
#include "trace.h"

enum { INJECT_BORROWED = 4 };

/* What befell a called function that did not return. */
enum inject_mishap {
	INJECT_RETURNED,
	INJECT_FAULTED,		/* by a signal that the program never gets */
	INJECT_JUMPED,		/* it was about to leave by longjmp */
	INJECT_THREAD_ENDED,	/* by itself: pthread_exit */
};
enum { INJECT_FRAMES = 24 };
struct inject_met {
	enum inject_mishap why;
	int signal;
	/* Where: its pc, and return addresses. */
	uint64_t frames[INJECT_FRAMES];
	size_t frame_count;
};

/* What an injection did, for the receipt. */
struct inject_report {
	pid_t donor;
	uint64_t donor_stop_ns;	/* how long the donor stood, all tries */
	unsigned tries;
	unsigned restarted_calls, rseq_aborts, resent_signals;
	uint64_t total_ns;
	char libc[24];		/* "glibc 2.36" */
	bool reused;		/* the library was there already */
	bool handler_kept;	/* guest_stop: the program's own was there */
	struct inject_met met;	/* inject_call */
	/* The threads that worked for us last, and what they block. */
	struct inject_borrowed {
		pid_t tid;
		uint64_t mask;
	} borrowed[INJECT_BORROWED];
	unsigned nborrowed;
};

/* What a thread blocks while it works for us. */
uint64_t inject_busy_mask(void);

/* Can it be done at all? -1 with the reason and remedy (static, 32-bit, Go,
 * seccomp, shared memory ...); FAIL_UNSUITABLE. *libc: which one it has, and
 * what of it was checked; the caller frees it; NULL: that was not reached. The
 * target is only read. */
int inject_possible(struct target *t, char **libc);

/* perf signals, or per-thread CPU timers. */
enum guest_clock { GUEST_PERF_SIGNAL, GUEST_POSIX_TIMER };
struct step_tables;

struct guest_options {
	uint32_t windows;	/* per-thread record windows */
	uint32_t window_bytes;
	uint32_t table_bytes;	/* room for published step tables */
	uint64_t interval_ns;
	unsigned donor_seed;	/* 0: best donor; else random by this seed */
	/* guest_publish these, too; they also serve to find a safe point.
	 * Needed until guest_open returns; NULL: neither. */
	const struct step_tables *tables;
	bool alternate;		/* its handler runs on alternate stacks */
	/* guest_start, too, in the same visit. */
	bool start;
	enum guest_clock clock;
};

struct guest;

/* Load (or find) the library and call its init entry; the channel memfd is
 * mapped on both sides. Nothing samples yet, unless opt->start. A target that
 * somebody else records so is refused and left as it is. */
struct guest *guest_open(struct target *t, const struct guest_options *opt,
			 struct inject_report *report);
/* Launch. In the shell, before the fork: the environment for the program and
 * a descriptor that it must inherit (-1: none). installed: the library's path,
 * NULL: none; used when it is the same as ours and safe from others. */
struct preload {
	char **envp;
	char *variable;		/* what was added to it */
	int fd;
};
int preload_open(struct preload *p, const char *installed, char *const *envp);
void preload_close(struct preload *p);
/* In the tracer, the target held where launch_to_start leaves it: take the
 * variable out of its environment and close its descriptor fd. */
int preload_give_back(struct target *t, const char *variable, int fd);
/* The library was preloaded, the target stands before any constructor; call
 * the same init entry there. */
struct guest *guest_open_preloaded(struct target *t,
				   const struct guest_options *opt,
				   struct inject_report *report);
/* Unmap our side; the target's scratch is gone, the library inert. */
void guest_close(struct guest *g);

/* Choose the signal of the ticks, which has no use in the program and whose
 * default is to do nothing; install its handler, and the timers where those
 * are the clock. */
int guest_start(struct guest *g, enum guest_clock clock);
/* SIGURG or SIGWINCH; 0: not started yet. */
int guest_signal(const struct guest *g);
/* The address of its handler, by the guest's word; 0: not started yet. */
uint64_t guest_handler(const struct guest *g);
/* Stop: flag off, timers deleted, the signal's default restored if it is
 * still ours, scratch unmapped. Nothing to do where it is not there, or when
 * it has been done. */
int guest_stop(struct guest *g, struct inject_report *report);
/* It could not be, as a thread is in our handler: all is stopped but its memory
 * is in use yet. inject_tidy removes that when the thread has run on. */
bool guest_is_parting(const struct guest *g);
/* Has the program put a handler of its own for the signal in our place? A visit.
 * -1: it cannot be known. */
int guest_lost_handler(struct guest *g);
/* Is the library still where we put it? No: the target has ended, or it is
 * another program since an exec. */
bool guest_is_there(struct guest *g);
/* Did somebody take it over because our heartbeat was silent for too long?
 * Then nothing of ours is in the target, and no clock of ours may go on. */
bool guest_is_lost(const struct guest *g);
/* After an exec: a signal of our clock that waits, blocked, for the program
 * that is there now, is taken away. */
int inject_drop_tick(struct target *t, int signo);
/* A trap takes from a program that it ignores or blocks SIGTRAP. What it does,
 * before its first one; and, while it is held, that given back. */
enum { TRAP_IGNORED = 1, TRAP_BLOCKED = 2 };
unsigned inject_trap_habit(struct target *t);
int inject_trap_restore(struct target *t, unsigned habit);
/* The shared area (include/record.h). */
struct record_area *guest_area(struct guest *g);
/* Publish tables: rows are copied into the area, then swapped atomically. */
int guest_publish(struct guest *g, const struct step_tables *tables);
/* When to give a call up. */
struct inject_limits {
	/* What the function may use or wait for, but for its turn on a
	 * processor; and with that. 0: for ever. */
	uint64_t own_ns, wall_ns;
	/* Asked every few ms while it runs: does nobody want it any more?
	 * May be NULL. */
	bool (*cancelled)(void *arg);
	void *arg;
};
/* Call a function of the target on a fresh thread: for `call f(args)`. A fault
 * in it, and what else keeps it from its return, is told in the report and
 * ends that thread alone; what the function has locked stays so. FAIL_ENDED
 * when it was the target's end. */
int inject_call(struct target *t, uint64_t function, const uint64_t *args,
		size_t nargs, const struct inject_limits *limits,
		uint64_t *result, struct inject_report *report);

/* ---- fresh.c: a thread of its own for functions that a debugger calls ---- */

struct fresh_thread;

/* The target is held, and stays so; limits->cancelled may let it run, and then
 * it is for the caller to hold it again. The thread is libc's own, of our
 * making, and stands as all others do: interlude_begin. A second one, a helper,
 * waits for its end. If we die both go on to it, and some memory stays. */
struct fresh_thread *fresh_make(struct target *t,
				const struct inject_limits *limits);
pid_t fresh_tid(const struct fresh_thread *f);
pid_t fresh_helper(const struct fresh_thread *f);
/* It is where it was made, or has ended: it comes to its end, and nothing of
 * all this is left. What befalls it there is told; the rest of its end is done
 * then. -1: it is not there yet (a lock that somebody holds), and some memory
 * will stay. Frees, but what *met names is copied. */
int fresh_end(struct fresh_thread *f, const struct inject_limits *limits,
	      struct inject_met *met);
/* It is in a function, and would be missed: it may go on for a moment if it has
 * what others need (malloc). */
void fresh_calm(struct fresh_thread *f);
/* Nobody waits for its end, or there is none any more. */
void fresh_free(struct fresh_thread *f);

/* ---- interlude.c: a function called by a thread that stands -------------- */

struct interlude;

enum { INTERLUDE_INTS = 6, INTERLUDE_FLOATS = 8, INTERLUDE_STACK = 32 };
struct interlude_call {
	uint64_t function;
	uint64_t ints[INTERLUDE_INTS], floats[INTERLUDE_FLOATS];
	uint64_t stack[INTERLUDE_STACK];
	size_t int_count, float_count, stack_count;
	/* Bytes that lie on its stack meanwhile. Bit i: argument i is the
	 * place of one of them. */
	const void *data;
	size_t data_size;
	uint32_t data_ints, data_stack;
};

enum interlude_why {
	INTERLUDE_RETURNED,
	INTERLUDE_FAULTED,	/* by a signal that the program never gets */
	INTERLUDE_STANDS,	/* in the function */
	INTERLUDE_BREAKPOINT,	/* the same */
	INTERLUDE_JUMPS,	/* it would leave the function: longjmp */
	INTERLUDE_LEFT,		/* by a jump out of the function; one of ours:
				 * it is in its end (pthread_exit) */
	INTERLUDE_EXECED, INTERLUDE_ENDED,
};
struct interlude_news {
	enum interlude_why why;
	uint64_t ints[2], floats[2];	/* rax, rdx; xmm0, xmm1 */
	uint64_t x87[4];		/* st(0), st(1) */
	int signal;
	struct breakpoint *breakpoint;
};

struct way_back;
/* The target is held. The thread is about to enter the function; refused where
 * it is not safe. own: it is that one; else NULL. *way: NULL, or what is kept
 * for the next one; to be freed. */
struct interlude *interlude_begin(struct target *t, pid_t tid,
				  const struct fresh_thread *own,
				  const struct interlude_call *c,
				  struct way_back **way);
/* It runs, alone, for so long at most. Behind RETURNED, FAULTED and JUMPS
 * comes interlude_end; behind the last three only interlude_free. */
int interlude_go(struct interlude *il, uint64_t ns, bool (*cancelled)(void *),
		 void *arg, struct interlude_news *news);
/* Where is it, all of them having run? RETURNED, STANDS or LEFT. */
int interlude_look(struct interlude *il, struct interlude_news *news);
/* One within it is over, perhaps of the same thread. */
void interlude_go_on(struct interlude *il);
/* Where in the function the thread stands. */
void interlude_where(const struct interlude *il, struct inject_met *where);
/* The thread gets back all that it had, wherever it is now. */
int interlude_end(struct interlude *il);
/* Nobody waits for it: it will come back by itself. */
void interlude_let_go(struct interlude *il);
void interlude_free(struct interlude *il);
pid_t interlude_thread(const struct interlude *il);
/* Does the thread stand within a system call? */
bool interlude_waits(pid_t tid);

/* What killed visits have left; by reading alone, but where it says more. */
struct inject_left {
	bool library;	/* ours is there */
	bool orphan;	/* or another build's, for somebody who has ended */
	bool other_version;	/* one that we do not understand is there */
};
int inject_left(struct target *t, struct inject_left *left);
/* In his name: handler out, timers gone, area unmapped. A visit or two. */
int inject_tidy(struct target *t, struct inject_report *report);
struct inject_unhooked {
	size_t out;		/* slots that led to hooks, and do no more */
	size_t left;		/* that still do; the last failure says why */
};
/* Slots that lead to hooks by which nobody traces, as they were. Reads, and
 * visits only where there are some. */
int inject_unhook(struct target *t, struct inject_unhooked *n,
		  struct inject_report *report);

/* ---- tracing.c: calls of functions of the program ------------------------ */

struct tracing;

struct tracing_options {
	unsigned families;	/* 1 << enum trace_family */
	uint64_t bytes;		/* of memory for records, at least; ours */
	uint64_t wait_ns;	/* how long a call may be held up for want of
				 * room, before its record is dropped */
	uint64_t sync_ns;	/* waits below are counted, not recorded */
	bool sync_all;		/* also what did not wait at all */
	bool may_be_none;	/* no slot yet: what is loaded may bring some */
	/* Of the heap, blocks that one byte in so many is of; 0: all. */
	uint64_t heap_interval;
};

/* A call as it was recorded. */
struct trace_event {
	enum trace_kind kind;		/* but TRACE_REST */
	enum trace_function function;
	pid_t tid;
	uint64_t time_ns;		/* CLOCK_MONOTONIC */
	uint64_t since_ns;		/* TRACE_WAIT, TRACE_CALL */
	uint64_t address, size;
	uint64_t stack;			/* its id; 0: unknown */
	uint64_t old_address, old_time_ns;	/* TRACE_MOVE */
	uint64_t object;		/* TRACE_WAIT */
	pid_t owner;			/* its tid; 0: not known */
	int fd, other_fd;		/* TRACE_CALL; -1: none */
	int64_t result;			/* bytes, or -errno */
	const char *path;		/* or NULL */
	size_t path_bytes;		/* with its '\0' */
	/* TRACE_STACK, told before its id: leaf first, return addresses */
	const uint64_t *pcs;
	size_t depth;
	enum record_end end;
};
typedef void (*trace_sink)(void *arg, const struct trace_event *ev);

struct tracing_counts {
	size_t slots, others;	/* that lead to hooks; to something else */
	size_t refused;		/* could not be written */
	size_t of_family[TRACE_FAMILIES];	/* of slots, by what they call */
	size_t unseen[TRACE_FAMILIES];	/* of others and refused, likewise */
	size_t heap_of_program;	/* slots of malloc and its like there */
	uint64_t lost[TRACE_LOSSES];
	uint64_t waits, waited_ns;
	uint64_t short_waits;	/* below sync_ns */
	uint64_t spoiled;	/* records that made no sense */
};

/* From here on calls of malloc and its like leave records, in all load objects
 * that are there. A visit. The guest has been opened; it need not tick. */
struct tracing *tracing_open(struct guest *g,
			     const struct tracing_options *opt,
			     struct inject_report *report);
/* What has slots that lead to hooks by now; the rest of *counts is so far, too. */
void tracing_count(const struct tracing *tr, struct tracing_counts *counts);
/* Objects that have come since. A visit, if there is any. */
int tracing_look_again(struct tracing *tr, struct inject_report *report);
/* What is there, or as much of it as a round has time for; the next one goes on
 * from there. All that was written before the time it returns has been read. */
uint64_t tracing_drain(struct tracing *tr, bool all, trace_sink sink,
		       void *arg);
/* Off: hooks stay, pass all through, and wait for nothing. */
void tracing_run(struct tracing *tr, bool on);
/* Where the function is that a hook stands before. */
uint64_t tracing_original(const struct tracing *tr, enum trace_function f);
/* Slots as they were, records out, all of it unmapped. -1: something of it
 * stays, which is said. Frees. */
int tracing_close(struct tracing *tr, trace_sink sink, void *arg,
		  struct tracing_counts *counts,
		  struct inject_report *report);

/* ---- salvage.c: records that a killed visit did not take ----------------- */

struct salvage;

/* A copy of what is in the area mapped at `at`, which no handler writes into
 * from now on. The owner must have ended; no other visit comes meanwhile. */
struct salvage *salvage_open(struct target *t, uint64_t at, uint64_t size);
void salvage_close(struct salvage *s);
/* Its header, checked as to where things are; what else it says (keep, lost)
 * the target may have written. keep.path is a string. */
const struct record_area *salvage_area(const struct salvage *s);
/* Are there records? */
bool salvage_pending(const struct salvage *s);
/* Each record once, as guest_drain does. */
size_t salvage_each(struct salvage *s,
		    void (*visit)(void *arg, const struct record *r),
		    void *arg);
/* Rings that made no sense. */
unsigned salvage_spoiled(const struct salvage *s);
/* What was read is kept, in so many bytes of profile: as guest_settle. */
int salvage_settle(struct salvage *s, uint64_t bytes);

/* Is this the start of scratch memory of ours? Its size; 0: no. */
uint64_t inject_scratch_size(struct target *t, uint64_t at);
/* Does a thread of ours run in it that is bound for the guest, or comes from
 * there, and not in a function of the program's? */
bool inject_scratch_is_bound(struct target *t, uint64_t at);
/* Unmap it, by a borrowed thread, when no thread of ours is in it any more;
 * FAIL_UNSUITABLE when one is. */
int inject_unmap_scratch(struct target *t, uint64_t at,
			 struct inject_report *report);

/* Is that descriptor of this thread a file of ours? Close it then, by a thread
 * that has the same descriptors. */
bool inject_owns_descriptor(struct target *t, pid_t tid, const char *number);
int inject_close_descriptor(struct target *t, pid_t tid, unsigned fd,
			    struct inject_report *report);
/* Have these two threads the same ones? 1, 0, or -1: it cannot be known. */
int inject_share_descriptors(pid_t tid, pid_t other);

/* Bytes that guest_publish needs for these tables: a good table_bytes. */
size_t guest_publish_need(const struct step_tables *tables);
/* GUEST_PERF_SIGNAL: before the first signal of a descriptor, the thread that
 * it goes to. */
int guest_ticker(struct guest *g, int fd, pid_t tid);
/* Does it block the signal, or wait for it in sigtimedwait? Then no tick may
 * be sent to it. */
bool inject_thread_is_deaf(struct target *t, pid_t tid, int signo);
/* How many seccomp filters it has; strict mode is none. UINT32_MAX: there are
 * some, and the kernel does not say how many. */
uint32_t inject_thread_filters(struct target *t, pid_t tid);
/* Stop it, and ask each of them about rt_sigreturn: how many there are, or 0:
 * one of them forbids it, or the kernel does not show them to this user. */
uint32_t inject_ask_filters(struct target *t, pid_t tid,
			    struct inject_report *report);
/* What makes ticks unsafe for some thread, where the kernel does not look at
 * each one: FAIL_UNSUITABLE. */
int inject_check_ungated(struct target *t);
/* By seccomp: a call of ours may end it. */
bool inject_thread_is_confined(struct target *t, pid_t tid);
/* GUEST_POSIX_TIMER: all that are deaf; what guest_refresh goes by. */
void guest_set_deaf(struct guest *g, const pid_t *tids, size_t n);
/* GUEST_POSIX_TIMER: timers for all threads that have none and are not deaf, by
 * a call into the target; also arms those that went to sleep when our heartbeat was
 * silent for RECORD_LEASE_NS. */
int guest_refresh(struct guest *g, struct inject_report *report);

/* Take records that are complete; visit gets each once, per window in
 * order; tid is translated to our pid namespace. Returns how many. */
size_t guest_drain(struct guest *g,
		   void (*visit)(void *arg, const struct record *r),
		   void *arg);
/* Records that the window's thread cannot have written; visit got none. */
uint64_t guest_forged(const struct guest *g);
/* How full the fullest ring was that guest_drain found, in percent. */
unsigned guest_crowding(const struct guest *g);
/* From now on what was drained stays where it is until it is settled, and the
 * area says whose it is, for a visit after we were killed. */
void guest_keep(struct guest *g, const struct record_keep *keep);
/* What was drained is in the experiment, whose profile has so many bytes now;
 * of the area's lost[], told[] are booked. */
void guest_settle(struct guest *g, uint64_t bytes,
		  const uint64_t told[RECORD_LOSSES]);
/* Must be called at least every RECORD_LEASE_NS / 4. */
void guest_heartbeat(struct guest *g);

#endif
