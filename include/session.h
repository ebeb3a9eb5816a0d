/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session: the door of the live tower. The shell talks through it to the
 * tracer process of one target (own session, makes all ptrace calls, owns
 * clocks and experiment); it may die at any moment, the tracer then closes
 * the experiment and lets the target go.
 */
#ifndef SONDE_SESSION_H
#define SONDE_SESSION_H

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch.h"

/* ---- settings.c: what to collect ----------------------------------------- */

enum session_engine { ENGINE_AUTO, ENGINE_RING, ENGINE_INJECT, ENGINE_REMOTE };
enum session_archive { SESSION_ARCHIVE_OFF, SESSION_ARCHIVE_ON,
		       SESSION_ARCHIVE_COPY };

enum { SESSION_CALIBRATE = -1 };	/* settings.sync_us: found */

struct settings {
	bool profile;			/* clock profiling */
	bool states;			/* also of threads that wait */
	bool creators;			/* who created each thread, where */
	bool heap;			/* calls of malloc and its like */
	uint64_t heap_interval;		/* bytes between two that are chosen,
					 * on average; 0: every call */
	bool sync, io;			/* waits for locks; input, output */
	uint32_t trace_wait_ms;		/* a call may wait so long for room */
	bool children;			/* of it have sessions of their own */
	int64_t sync_us;		/* waits that are recorded; 0: all */
	uint64_t interval_ns;		/* default 10.007 ms */
	uint64_t asked_ns;		/* less than that: it was raised */
	enum session_engine engine;
	char *directory;		/* "." */
	char *experiment;		/* NULL: test.N.er */
	bool overwrite;
	uint64_t limit_mb;		/* 0 unlimited */
	uint64_t keep_ns;		/* only the last so long; 0: all */
	enum session_archive archive;
	uint64_t sample_period_ns;	/* 0: manual */
	bool dbx_sample;		/* a sample at each stop */
	uint32_t stack_bytes;		/* copied for ring; 0: it chooses */
	uint32_t depth;			/* frames of a stack; beyond: truncated */
	char *notes;			/* NULL or text for `notes` */
	unsigned seed;			/* donor choice; 0: best (tests) */
};

void settings_init(struct settings *s);
void settings_fini(struct settings *s);
/* "on" "hi" "lo" "high" "low", "10", "2.5m", "200u" (default unit ms), and
 * with units of verbs: "1ms" "200us" "0.01s". -1: FAIL_USAGE. */
int settings_interval(struct settings *s, const char *word);
/* 997 (Hz). */
int settings_frequency(struct settings *s, const char *word);
int settings_engine(struct settings *s, const char *word);
/* "on" or "off". */
int settings_heap(struct settings *s, const char *word);
int settings_io(struct settings *s, const char *word);
/* "on", "off", or a threshold, which is "on" too. */
int settings_sync(struct settings *s, const char *word);
/* "calibrate", "all", or microseconds: which waits are recorded. */
int settings_sync_threshold(struct settings *s, const char *word);
int settings_trace_wait(struct settings *s, const char *word);
/* Frames, and kilobytes that engine ring has copied; kilobytes may be NULL. */
int settings_depth(struct settings *s, const char *frames,
		   const char *kilobytes);
/* "30s" "2m" "1h" "500ms", a bare number is seconds. */
int settings_duration(const char *word, uint64_t *ns);
const char *settings_engine_name(enum session_engine e);

/* ---- client.c: requests to the tracer process ---------------------------- */

struct session;

enum session_state { SESSION_RUNNING, SESSION_STOPPED, SESSION_ENDED };
enum experiment_state { NOT_COLLECTING, COLLECTING, PAUSED };

/* Start a tracer process for a running process. The target runs on. With
 * hold it is stopped and held. */
struct session *session_attach(pid_t pid, bool hold);
/* What became of the samples that a killed visit had left there: one line, or
 * NULL. */
const char *session_salvaged(const struct session *s);
/* Start a program under a new tracer, stopped before any constructor of its
 * has run (its environment carries nothing of ours when it goes on).
 * preload: inject's library is preloaded for a later enable by inject. */
struct session_launch {
	char *const *argv;
	const char *in, *out;		/* redirections, NULL none */
	bool append;
	bool preload;
	bool to_exec;		/* not to its start: SESSION_EVENT_STARTED */
	/* A process group of its own, in the background: the terminal's
	 * signals are the shell's (session_stopped_itself). */
	bool own_group;
	const char *terminal;	/* of its own, its name; NULL: ours */
};
struct session *session_launch(const struct session_launch *l);
/* Will an enable with these settings need it? */
bool session_wants_preload(const struct settings *s);
/* End the connection; the target goes on (launched ones too). Frees. */
void session_close(struct session *s);

pid_t session_pid(const struct session *s);
const char *session_name(const struct session *s);	/* of the program */
bool session_launched(const struct session *s);
enum session_state session_state(const struct session *s);
/* A launched program that job control has stopped since the last call: the
 * signal (SIGTTIN, SIGTTOU, SIGTSTP, SIGSTOP); else 0. */
int session_stopped_itself(const struct session *s);
enum experiment_state session_experiment_state(const struct session *s);
/* The tracer process is gone: nothing more is answered. */
bool session_lost(const struct session *s);

/* Path of the experiment being recorded or recorded last; NULL: none. */
const char *session_experiment(const struct session *s);

/* The disk took only a part of what was recorded; the receipt counts it. */
bool session_partial(const struct session *s);

int session_enable(struct session *s, const struct settings *what);
/* Closes the experiment; the receipt is one line, caller frees. */
int session_disable(struct session *s, char **receipt);
int session_pause(struct session *s);
int session_resume(struct session *s);
int session_sample(struct session *s, const char *label);
/* Write what is kept so far as an experiment, name NULL: one of ours. The path
 * is the caller's. */
int session_write_kept(struct session *s, const char *name, char **path);
/* Counters so far. */
struct session_progress {
	uint64_t elapsed_ns, samples, lost, stacks_failed;
	uint64_t calls_lost;	/* traced ones; known when tracing has ended */
	uint64_t target_cpu_ns, recorded_cpu_ns;
	uint64_t children_cpu_ns;	/* in no experiment */
	bool children;	/* those of the beginning are recorded, too */
	uint64_t stop_ns;		/* longest time a thread stood */
	uint64_t stop_total_ns;		/* all stops together */
	unsigned stops;
	/* what these could not hide: waits whose time limit started once more,
	 * calls that gave back a part */
	unsigned began_again, cut_short;
	uint64_t keep_ns, dropped;	/* only the last of it; samples before */
	unsigned not_sampled;	/* threads without a clock; why says why */
	char untraced[320];	/* calls that were asked for and go unseen */
	char cuts[256];		/* stacks that are not whole, and a remedy */
	char engine[16];
	char why[512];
};
int session_progress(struct session *s, struct session_progress *out);

int session_stop(struct session *s);		/* stop and hold */
int session_cont(struct session *s);		/* let run */
enum session_leave { LEAVE_RUNNING, LEAVE_STOPPED, LEAVE_RECORDING };
/* Ends the experiment (but for LEAVE_RECORDING), lets go. receipt as above,
 * "" when nothing was recorded. s stays to be closed. */
int session_detach(struct session *s, enum session_leave how, char **receipt);
/* After session_detach: what is left in the target, "target clean". A view;
 * "" when recording goes on. */
const char *session_look(const struct session *s);
int session_kill(struct session *s, int signal);

/* Something happened at the target. */
enum session_event_kind { SESSION_EVENT_NONE, SESSION_EVENT_STOPPED,
			  SESSION_EVENT_BREAKPOINT, SESSION_EVENT_SIGNAL,
			  SESSION_EVENT_ENDED, SESSION_EVENT_EXEC,
			  SESSION_EVENT_MESSAGE, SESSION_EVENT_NOTE,
			  SESSION_EVENT_LOST,	/* all breakpoints */
			  /* it stands at the start of another program, its
			   * breakpoints are gone */
			  SESSION_EVENT_NEW_PROGRAM,
			  /* it stands before the first instruction of another
			   * program; STARTED, and where NEW_PROGRAM would be,
			   * when it has gone on from there */
			  SESSION_EVENT_SYNC, SESSION_EVENT_STARTED,
			  /* a function that was called by session_call_here is
			   * over: session_call_end; signal: of its fault */
			  SESSION_EVENT_CALLED,
			  /* session_want: a thread stands, before it has
			   * run; in its end; before a system call, or
			   * behind it (value: the answer; signal: which) */
			  SESSION_EVENT_BEGINS, SESSION_EVENT_ENDS,
			  /* the program, of which all is there still; value: its
			   * wait status to be */
			  SESSION_EVENT_DIES,
			  SESSION_EVENT_ENTERS, SESSION_EVENT_RETURNS,
			  SESSION_EVENT_FORK,
			  /* a filter (value: who) has done what it is to do
			   * so many times more (hits) */
			  SESSION_EVENT_FIRED,
			  /* its child, value, is the target now, and stands;
			   * signal: not 0 until it executes a program it
			   * has its parent's memory */
			  SESSION_EVENT_FOLLOWED,
			  /* the same, but the parent stays the target, and
			   * stands; the child is that of other */
			  SESSION_EVENT_BOTH,
			  SESSION_EVENT_TRACER_GONE };
struct session_event {
	enum session_event_kind kind;
	pid_t tid;
	int breakpoint;		/* number given by session_break */
	int signal;
	int64_t value;		/* of a signal: its code */
	uint64_t address;	/* ... and that of a fault */
	int status;		/* wait status of the ended program; -1 unknown */
	uint64_t hits;		/* of a filter, this one, which it lets through,
				 * included; 0: it was not asked */
	/* one sentence; the receipt when it ended, whose path may be quoted */
	char text[4 * PATH_MAX + 2048];
	struct session *other;	/* the child's: whose the event is has it */
};
/* Signals (bit n - 1 is n) of which an event comes, while all stand, before a
 * thread gets them. */
int session_catch(struct session *s, uint64_t signals);
/* What else an event is wanted of, while all stand. Calls by their numbers. */
enum { SESSION_CALLS_KNOWN = 512 };
struct session_wants {
	bool begins, ends;	/* threads; those that end by themselves */
	bool dies;		/* the program, before it has ended */
	uint64_t enters[SESSION_CALLS_KNOWN / 64];
	uint64_t returns[SESSION_CALLS_KNOWN / 64];
	pid_t calls_of;		/* of this thread only; 0: of all */
	unsigned char follow;	/* a child that it makes: session_follow_mode */
	unsigned char programs;	/* that it executes: NEW_PROGRAM */
	unsigned char execs;	/* ... and before anything: SYNC */
};
/* FOLLOW_ASK: SESSION_EVENT_FORK, value: the child, which stands as well. */
enum session_follow_mode { FOLLOW_PARENT, FOLLOW_CHILD, FOLLOW_ASK,
			   FOLLOW_BOTH };
/* After that event: the child is let go; or the parent is, and then an
 * SESSION_EVENT_FOLLOWED comes; or none is: SESSION_EVENT_BOTH. */
int session_follow(struct session *s, enum session_follow_mode whom);
int session_want(struct session *s, const struct session_wants *w);
/* session_cont, but that this thread gets another signal than is due to it, or
 * one though none is; 0: none. */
int session_cont_with(struct session *s, pid_t tid, int signal);
/* The same, for whenever it goes on. */
int session_deliver(struct session *s, pid_t tid, int signal);
/* While we wait for an answer: that the process can write to fd may be what the
 * answer waits for. */
typedef void session_serve_fn(void *arg);
void session_serve(struct session *s, int fd, session_serve_fn *serve,
		   void *arg);
/* Readable when an event may be there; for poll(2) beside the keyboard. */
int session_fd(const struct session *s);
/* 1: *ev filled; 0: none within timeout_ms (-1: for ever, until a signal
 * handler ran: then 0); -1 failed. */
int session_wait(struct session *s, int timeout_ms, struct session_event *ev);

/*
 * A breakpoint at a run-time address. The number, or -1. Where the processor
 * cannot watch it, it must be a trap in the text, at which the process ends if
 * we are killed: in one that was attached that must be allowed, once for all
 * its breakpoints.
 */
enum may_trap { NO_TRAP, MAY_TRAP };
int session_break(struct session *s, uint64_t address,
		  enum may_trap may_trap);
/* The same of data: 1, 2, 4 or 8 bytes, aligned so. */
enum watch_for { WATCH_WRITES, WATCH_ACCESSES };
int session_watch(struct session *s, uint64_t address, unsigned size,
		  enum watch_for what);
int session_unbreak(struct session *s, int number);
/* Hits of a breakpoint of code that are told: of one thread (0: any), where
 * the condition holds, and of those each limit-th (0: each). Others are counted
 * only, and cost one stop of one thread. */
enum { SESSION_DEEDS = 4, SESSION_LABEL = 32, SESSION_SITES = 2,
       SESSION_PENDING = 64 };
struct session_filter {
	int who;		/* the caller's number of it */
	unsigned users;		/* who wait at that breakpoint: a hit of it is
				 * judged once each of them has a filter */
	pid_t thread;
	uint64_t limit, hits;
	struct condition condition;
	/* What is done at a hit that counts, where it can be while that thread
	 * alone stands: such a hit is not told, but SESSION_EVENT_FIRED. */
	struct session_deed {
		enum { DEED_RESUME, DEED_PAUSE, DEED_SAMPLE } what;
		char label[SESSION_LABEL];
	} deeds[SESSION_DEEDS];
	unsigned deed_count;
	/* What counts is that the function returns which begins there: to what
	 * `to` says where it begins, if it is one of these breakpoints. */
	bool returns;
	struct condition to;
	struct session_site {
		int number;
		unsigned users;
		uint64_t address;
	} sites[SESSION_SITES];
	unsigned site_count;
	/* It has been called, and not returned yet. */
	struct session_pending {
		pid_t tid;
		uint64_t address, least_sp, since_ns;
	} pending[SESSION_PENDING];
	unsigned pending_count;
};
int session_filter(struct session *s, int number,
		   const struct session_filter *f);
/* How many it has counted, and what is to return; end: no more from now on. Also
 * when the process has ended, until another breakpoint has that number. -1:
 * there is no filter. */
struct session_hits {
	uint64_t hits;
	struct session_pending pending[SESSION_PENDING];
	unsigned pending_count;
};
int session_hits(struct session *s, int who, bool end,
		 struct session_hits *out);
/* That it is a trap in the text for now, or off, and why; *why, the caller's,
 * is "" when it is watched. */
int session_why_trap(struct session *s, int number, char **why);

/* The objects that its dynamic loader has loaded, but the program itself; and
 * where code is that the loader executes when any come or go. -1: it has none
 * that tells. */
struct session_object {
	uint64_t base;
	char *name;
};
ssize_t session_loader(struct session *s, uint64_t *notify,
		       struct session_object **out);
void session_objects_free(struct session_object *objects, size_t n);

/* Stacks of one thread (tid) or all (0). A target that runs: only those who
 * wait, without a stop; gently, those who wait are not stopped and each is of
 * a moment of its own; or all of one moment, for which all stop. What was done
 * is said in how. */
enum session_look { LOOK_AT_WAITING, LOOK_GENTLY, LOOK_AT_ONE_MOMENT };
struct session_stack {
	pid_t tid;
	char state;
	char name[16];
	uint64_t sp, cpu_ns;
	bool waits;		/* stopped, and goes on to wait in its call */
	bool seen;		/* it has a stack, and of the same moment: */
	uint64_t turns;		/* on a processor, so far; 0 not known */
	long call;		/* -1 none */
	uint64_t args[6];
	/* of one that waits in futex(2): memory around the word, of the moment
	 * of the stack; size 0: not known */
	uint64_t futex_at;
	size_t futex_size;
	unsigned char futex[64];
	uint64_t *pcs;
	size_t len;
	bool complete;
};
struct session_stacks {
	struct session_stack *items;
	size_t len;
	uint64_t pause_ns;	/* the longest time that anyone stood */
	uint64_t run_pause_ns;	/* ... of those that ran; 0: nobody did */
	char how[128];
};
int session_where(struct session *s, pid_t tid, enum session_look look,
		  struct session_stacks *out);
void session_stacks_fini(struct session_stacks *st);

/* The threads: tid, state, name, CPU time. */
struct session_thread { pid_t tid; char state; char name[16];
			uint64_t cpu_ns; };
ssize_t session_threads(struct session *s, struct session_thread **out);

/* Call a function in the target by the injector, on a thread of its own, while
 * the others run. -1, and met tells why, where the function was what failed:
 * its thread is gone, and what it has locked stays so. */
struct session_beside {
	uint64_t function;
	const uint64_t *args;
	size_t nargs;
};
enum session_mishap {		/* as enum inject_mishap has them */
	SESSION_BESIDE_RETURNED,
	SESSION_BESIDE_FAULTED,
	SESSION_BESIDE_JUMPED,
	SESSION_BESIDE_THREAD_ENDED,
};
enum { SESSION_CALLED_AT = 24 };
/* Where a function was: its pc, and return addresses. */
struct session_called_at {
	uint64_t frames[SESSION_CALLED_AT];
	size_t len;
};
struct session_met {
	enum session_mishap why;
	int signal;
	struct session_called_at where;
};
int session_call(struct session *s, const struct session_beside *c,
		 uint64_t *result, struct session_met *met);

/* Ask a tracer that records without a shell (detach -keep, record) to stop:
 * `sonde stop EXP.er`. receipt: caller frees. */
int session_stop_experiment(const char *path, char **receipt);

/* ---- ask_debug.c: a target that stands ----------------------------------- */

/* All n bytes (16 MB at most), or -1. A target that runs can be read, too. */
int session_read(struct session *s, uint64_t addr, void *buf, size_t n);
int session_write(struct session *s, uint64_t addr, const void *buf, size_t n);
/* A set of registers of a thread by its number in elf.h (NT_PRSTATUS: a
 * user_regs_struct, NT_FPREGSET ...): its size, at most size; -1. */
ssize_t session_regset(struct session *s, pid_t tid, unsigned type, void *buf,
		       size_t size);
int session_set_regset(struct session *s, pid_t tid, unsigned type,
		       const void *buf, size_t size);

/*
 * Let one thread execute instructions, while all others stand, as long as its
 * pc is in [start, end) and is not at a call; equal: one instruction, whatever
 * it is. Signals wait until it goes on, but for those that it raises.
 */
enum session_stepped {
	SESSION_STEPPED,
	SESSION_STEP_CALLS,	/* it stands before a call: see behind_call */
	SESSION_STEP_SIGNALLED,	/* a signal is due to it */
	SESSION_STEP_WAITS,	/* within a system call, and for others perhaps */
	SESSION_STEP_INTERRUPTED,	/* by another request */
	SESSION_STEP_ENDED,
};
struct session_step {
	enum session_stepped why;
	uint64_t pc, sp;	/* where it stands now */
	uint64_t behind_call;	/* the address behind the call at pc; 0: none */
	int breakpoint;		/* which it came to there, and hit; -1: none */
};
int session_step(struct session *s, pid_t tid, uint64_t start, uint64_t end,
		 struct session_step *at);
/* How often it was let run, stepped or changed: what was known is of before
 * then. */
uint64_t session_moves(const struct session *s);
/* Where it stands; nothing runs. */
int session_at(struct session *s, pid_t tid, struct session_step *at);
/* The address behind the call at pc; 0: no call is there. */
int session_behind_call(struct session *s, uint64_t pc, uint64_t *behind);

/* While it stands: that thread shall stand while the others run; before: did
 * it already? */
int session_suspend(struct session *s, pid_t tid, bool suspend, bool *before);

/* ---- ask_calls.c: functions that a standing thread calls ----------------- */

/* Arguments as they are passed; bit i of data_ints and data_stack: that one is
 * the place of a byte of data, which lies on the stack meanwhile. */
enum { SESSION_CALL_INTS = 8, SESSION_CALL_FLOATS = 8,
       SESSION_CALL_STACK = 32 };
struct session_call {
	uint64_t function;
	uint64_t ints[SESSION_CALL_INTS], floats[SESSION_CALL_FLOATS];
	uint64_t stack[SESSION_CALL_STACK];
	size_t int_count, float_count, stack_count;
	const void *data;
	size_t data_size;
	uint32_t data_ints, data_stack;
	bool only_waiting;	/* refuse it unless the thread is in a call */
	bool did_wait;		/* ... or was, when it was made to call */
	bool fresh;		/* on a thread that is made for it */
};
enum session_called {
	SESSION_CALL_RETURNED,	/* the thread is as it was */
	SESSION_CALL_FAULTED,	/* the same; by this signal, or given up (0) */
	SESSION_CALL_JUMPS,	/* the same; it would have left by longjmp */
	/* It stands in the function: all may run (session_cont), until
	 * SESSION_EVENT_CALLED or something else. */
	SESSION_CALL_STANDS,
	SESSION_CALL_BREAKPOINT,	/* the same */
	SESSION_CALL_LEFT,	/* it has jumped out of the function, or gone
				 * back by itself; nothing was put back. Of one
				 * of our own: it has ended itself */
	SESSION_CALL_EXECED,	/* it has begun another program */
	SESSION_CALL_ENDED,	/* the thread has */
	SESSION_CALL_GONE,	/* the process has: SESSION_EVENT_ENDED comes */
};
struct session_call_news {
	enum session_called why;
	uint64_t ints[2], floats[2];	/* rax, rdx; low halves of xmm0, 1 */
	uint64_t x87[4];		/* st(0), st(1), each in 16 bytes */
	int signal, breakpoint;
	struct session_called_at where;	/* it faulted, or was given up */
	pid_t tid;			/* in the function */
	bool own;			/* made for it; it ends with it */
	pid_t from;			/* chosen before; 0: it has ended */
	int end_signal;			/* this befell that at its end; 0 */
	struct session_called_at end_where;
};
/* The thread, or the one that is made for it, goes into the function, and runs
 * alone for ms at most. */
int session_call_here(struct session *s, pid_t tid,
		      const struct session_call *c, unsigned ms,
		      struct session_call_news *news);
/* The innermost one: alone, once more; or what has become of it, everybody
 * having run. abandon: it is given up where it stands. */
int session_call_go(struct session *s, unsigned ms,
		    struct session_call_news *news);
int session_call_end(struct session *s, bool abandon, int signal,
		     struct session_call_news *news);

/* ---- the target's program, for symbols of live addresses ----------------- */

/* Text of the target's maps now; caller frees. NULL on failure. */
char *session_maps(struct session *s);

/* ---- looking without a session ------------------------------------------- */

/* `doctor`: findings about the host, or about pid when it is not 0. visit:
 * ok, subject, one line; what mends it comes next, with the subject "fix". 1:
 * nothing can be done with pid, and why is the last failure. */
int session_doctor(pid_t pid,
		   void (*visit)(void *arg, bool ok, const char *subject,
				 const char *text),
		   void *arg);

/* Why a process uses no time though nobody here holds it: "stopped by a
 * signal: kill -CONT 4711", "held by its tracer, process 12 (gdb)". NULL: it
 * runs, or waits for something of its own. The caller frees it. */
char *session_why_halted(pid_t pid);

/* Running processes whose comm or argv[0] basename is name (0: every one).
 * For NAME arguments, completion and --children. */
struct session_process { pid_t pid, ppid; char name[64];
			 double cpu_percent; };
ssize_t session_processes(const char *name, struct session_process **out);

#endif
