/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room tell each other: the messages between the shell
 * and the tracer process, and the parts of that process.
 */
#ifndef SONDE_SESSION_PRIVATE_H
#define SONDE_SESSION_PRIVATE_H

#include "base.h"
#include "control.h"
#include "experiment.h"
#include "session.h"
#include "symbol.h"
#include "unwind.h"

/* ---- wire.c --------------------------------------------------------------
 *
 * Messages over a SOCK_SEQPACKET pair: a kind and a body of words and texts,
 * sent in parts that fit a packet. A request gets one answer, WIRE_OK or
 * WIRE_FAILED; WIRE_EVENT may come at any time.
 */
enum wire_kind {
	WIRE_OK = 1, WIRE_FAILED, WIRE_EVENT,
	WIRE_ATTACH, WIRE_SEIZE, WIRE_TO_START, WIRE_ENABLE, WIRE_DISABLE,
	WIRE_PAUSE, WIRE_RESUME, WIRE_SAMPLE, WIRE_WRITE_KEPT, WIRE_PROGRESS,
	WIRE_STOP,
	WIRE_CONT, WIRE_DETACH, WIRE_KILL, WIRE_WHERE, WIRE_THREADS,
	WIRE_READ, WIRE_WRITE, WIRE_REGSET, WIRE_SET_REGSET, WIRE_STEP,
	WIRE_BEHIND_CALL, WIRE_LOADER, WIRE_CALL_HERE, WIRE_CALL_GO,
	WIRE_CALL_END, WIRE_SUSPEND, WIRE_DELIVER, WIRE_CATCH, WIRE_FILTER,
	WIRE_HITS, WIRE_WANT, WIRE_FOLLOW, WIRE_BREAK, WIRE_UNBREAK,
	WIRE_WHY_TRAP, WIRE_CALL, WIRE_MAPS, WIRE_STOP_RECORDING,
	WIRE_CANCEL,		/* of the call that runs: no answer */
};

struct wire_message {
	uint32_t kind;
	struct str body;
	size_t at;		/* next word to take */
	bool broken;		/* a take went past the end */
};

void wire_init(struct wire_message *m, enum wire_kind kind);
void wire_fini(struct wire_message *m);
void wire_put(struct wire_message *m, uint64_t word);
void wire_put_text(struct wire_message *m, const char *text); /* NULL is kept */
uint64_t wire_take(struct wire_message *m);
/* A view into the message, or NULL. */
const char *wire_take_text(struct wire_message *m);
void wire_put_bytes(struct wire_message *m, const void *bytes, size_t n);
/* A view; NULL: none, or broken. */
const void *wire_take_bytes(struct wire_message *m, size_t *n);
int wire_send(int fd, const struct wire_message *m);
/* 1: m is filled (it is wire_init'ed here); 0: the other side is gone;
 * -1: failure. Waits. */
int wire_recv(int fd, struct wire_message *m);
/* A descriptor; the other side knows that it comes. -1: failure. */
int wire_send_fd(int fd, int sent);
int wire_recv_fd(int fd);
/* The failure just recorded, as a message; and back into fail_last(). */
void wire_put_failure(struct wire_message *m);
int wire_take_failure(struct wire_message *m);

void wire_put_settings(struct wire_message *m, const struct settings *s);
void wire_take_settings(struct wire_message *m, struct settings *s);

struct collection;
struct look_back;

struct filter;
struct interlude;
struct fresh_thread;
struct way_back;

enum { CONTROLS_MAX = 8, BREAKPOINTS_MAX = 256, CALLS_MAX = 8 };

/* One target of this process, and who asks for it. */
struct tracer {
	struct tracer *next, **siblings;	/* of this process; the first */
	struct pollfd *fds;	/* its slots of this round; NULL: it is new */
	int shell, signals, listener;
	int parted;		/* the shell's, which waits for our end; -1 */
	int controls[CONTROLS_MAX];
	struct target *target;
	struct look_back *look;		/* since we came; NULL: no target */
	struct collection *col;
	bool launched, keep, stopping, end_told;
	bool starting;		/* launch_to_start waits for its own stops */
	bool at_start;		/* nothing of the program has run yet */
	bool at_exec;		/* ... nor of its loader: starting.c */
	char *preloaded;	/* what is to be given back at its start */
	int preloaded_fd;
	char *last_receipt;	/* of the collection that ended last */
	bool partial;		/* the disk refused a part of one */
	struct trap {
		struct breakpoint *at;	/* NULL: the number is free */
		bool told_off;		/* that it is off was said */
		unsigned users;		/* who each have a filter, or none
					 * is asked; 0: nobody is */
	} traps[BREAKPOINTS_MAX];
	size_t trap_count;
	struct hit {
		pid_t tid;
		uint64_t addr;
	} *hits;		/* told of, and not passed yet: hits.c */
	size_t hit_count, hit_cap;
	struct filter *filters;	/* they stay when the process has ended */
	uint64_t fired_at;	/* the first that the shell is not told of */
	struct called {
		struct interlude *at;
		struct fresh_thread *own;	/* NULL: on a program's */
		pid_t from;		/* the one that was chosen */
		unsigned execs;		/* before it */
		bool waits;		/* it is over, and not yet told */
	} calls[CALLS_MAX];		/* that stand, innermost last */
	size_t call_count;
	struct way_back *way;	/* by which they come back */
	uint64_t caught;	/* signals */
	bool wants;		/* something of target_want */
	unsigned char follow;	/* session_follow_mode */
	bool programs;		/* it stands at the start of each */
	bool execs;		/* ... and at its exec */
	pid_t forked;		/* a child that stands; 0: none */
};

/* ---- tracer.c, siblings.c ------------------------------------------------ */

struct tracer *tracer_new(int shell, int signals);
/* Of two that stand at a fork both are ours: the child is a target too, with
 * a tracer of its own in this process, which the shell is told of. The parent
 * stands until it is let run. -1: nothing has changed. */
int tracer_both(struct tracer *tr, pid_t child);

/* ---- requests.c ---------------------------------------------------------- */

/* Serve one request. false: the other side is gone. */
bool request_serve(struct tracer *tr, int fd, bool outside);
/* Close the experiment, if there is one; how it ended, or NULL. */
void tracer_end_collection(struct tracer *tr, const char *how);
/* Let go of the target for good. */
int tracer_release(struct tracer *tr);
const char *tracer_receipt(const struct tracer *tr);

/* It runs on. */
int tracer_go_on(struct tracer *tr);
/* Does anything wait for a thread that runs? */
bool tracer_waits(const struct tracer *tr);
int tracer_need_target(struct tracer *tr);
int tracer_need_collection(struct tracer *tr);
/* It has been stopped; look: what became of the target. */
void tracer_close_collection(struct tracer *tr, const char *how,
			     const char *look);

struct request_handler {
	enum wire_kind kind;
	int (*run)(struct tracer *tr, struct wire_message *in,
		   struct wire_message *out);	/* NULL ends a table */
	bool from_outside;	/* also through the control socket */
};
extern const struct request_handler target_requests[]; /* requests_target.c */
extern const struct request_handler event_requests[]; /* requests_events.c */
extern const struct request_handler debug_requests[]; /* requests_debug.c */
extern const struct request_handler call_requests[]; /* requests_call.c */
extern const struct request_handler filter_requests[]; /* filters.c */
/* Which of the hits that are counted this one is, as just judged; 0: it was
 * not. */
uint64_t filter_told(struct tracer *tr, size_t number);
void filter_drop(struct tracer *tr, size_t number);
/* deeds.c: the shell is told what was done since; in how many ms it must be, -1:
 * nothing was. */
void deeds_tell(struct tracer *tr);
int deeds_due_ms(const struct tracer *tr);
/* Functions that were called come back by themselves. */
void tracer_leave_calls(struct tracer *tr);
/* The thread that is in the innermost one; 0: none is. */
/* Its function is over before those that were called later: not yet told. */
bool tracer_call_waits(struct tracer *tr, pid_t tid);
pid_t tracer_calls(const struct tracer *tr);
/* Is there something to read from the shell, or its end? */
bool tracer_shell_speaks(const struct tracer *tr);
/* It stands for whoever debugs it; -1: it runs. */
int tracer_need_held(struct tracer *tr);

/* ---- starting.c ---------------------------------------------------------- */

/* Of a program that stands at its exec: to its start, and tell so. */
int tracer_start(struct tracer *tr);
/* To where launch_to_start leaves it; a SIGTRAP that the program ignores or
 * blocks stays so. */
int tracer_run_to_start(struct tracer *tr);
/* What its start shall give back; NULL: nothing. */
void tracer_note_preloaded(struct tracer *tr, const char *preloaded, int fd);
int tracer_give_back(struct tracer *tr);
/* -1: it stands at its exec, where nothing works yet. */
int tracer_need_started(struct tracer *tr);

/* ---- news.c -------------------------------------------------------------- */

/* After what was done before. */
void tracer_send_event(struct tracer *tr, const struct session_event *ev);
void tracer_send_only(struct tracer *tr, const struct session_event *ev);
void tracer_on_target_end(struct tracer *tr);
void tracer_on_collection_end(struct tracer *tr);
/* Take what has become of the threads, and tell the shell. */
void tracer_pump_events(struct tracer *tr);

/* The child becomes the target. -1: it does not. */
int tracer_follow(struct tracer *tr, pid_t child);

/* ---- hits.c -------------------------------------------------------------- */

/* It stands there, having hit it: the number of the breakpoint; -1: nobody here
 * has placed it. */
int tracer_note_hit(struct tracer *tr, const struct breakpoint *bp, pid_t tid);
/* Who stands at a trap executes what is under it first: all, or one of them. */
int tracer_step_off(struct tracer *tr, pid_t only);

/* ---- listener.c ---------------------------------------------------------- */

void tracer_open_listener(struct tracer *tr);
void tracer_close_listener(struct tracer *tr);
/* Somebody knocks: one of us, or he is sent away. */
void tracer_accept_control(struct tracer *tr);

/* ---- tracer.c ------------------------------------------------------------ */

/* The tracer process: never returns. */
void tracer_main(int socket) __attribute__((noreturn));

/* ---- session.c: one collection in the tracer process --------------------- */

struct collection;

/* How we came to the target. AT_START: it stands where launch_to_start leaves
 * it. */
enum collection_way { ATTACHED, LAUNCHED, AT_START };

struct collection *collection_start(struct target *t, const struct settings *s,
				    enum collection_way way,
				    struct look_back *look);
/* Descriptors to poll, and what to do when time or data came. */
size_t collection_pollfds(struct collection *c, struct pollfd *fds,
			  size_t max);
/* now_ns() when collection_work wants to be called again at the latest. */
uint64_t collection_deadline(const struct collection *c);
/* false: it has ended by itself (the target execed, limit ...): close it. */
bool collection_work(struct collection *c);
int collection_pause(struct collection *c, const char *who);
int collection_resume(struct collection *c);
int collection_sample(struct collection *c, const char *label);
/* The target is about to run, perhaps for the first time. */
void collection_runs(struct collection *c);
/* collection_here.c: the same while a thread stands that has hit a breakpoint:
 * nobody is stopped, and little is written. Only where that can be: */
bool collection_is_quick(const struct collection *c);
const char *collection_engine(const struct collection *c);
bool collection_may_resume(const struct collection *c);
int collection_pause_here(struct collection *c);
int collection_resume_here(struct collection *c);
void collection_sample_here(struct collection *c, const char *label);
/* Only its last moments are. */
bool collection_keeps(const struct collection *c);
/* What is kept so far, as an experiment; its path, the caller's. NULL: failed. */
char *collection_write(struct collection *c, const char *name);
void collection_progress(struct collection *c, struct session_progress *out);
bool collection_paused(const struct collection *c);
const char *collection_path(const struct collection *c);
/* Its descriptor, which stays ours; -1: none. */
int collection_directory(const struct collection *c);
/* What CPU time children had that it waited for, while that can be read. */
void collection_note_children(struct collection *c);
/* The target was stopped for pause_ns (for the receipt). */
void collection_note_stop(struct collection *c, uint64_t pause_ns);
/* It has just been stopped for the user: a resource sample, if wanted. */
void collection_stop_sample(struct collection *c);
/* The user's breakpoints want all debug registers. */
void collection_give_register(struct collection *c);
/* The end of recording, while the target may still be held. */
void collection_stop(struct collection *c);
/* Stops it if need be, and frees; how is one sentence or NULL, look what
 * became of the target. The receipt, caller frees. */
char *collection_close(struct collection *c, const char *how,
		       const char *look, bool *partial);

/* ---- maps.c: the target's mappings, to unwinder and experiment ----------- */

struct mapper;

struct mapper *mapper_new(struct target *t, struct unwind_space *space,
			  struct experiment *exp);
void mapper_free(struct mapper *m);
/* Read /proc/PID/maps and tell what is new and what is gone. */
int mapper_sync(struct mapper *m, uint64_t time_ns);
/* One new mapping, as a record said. */
void mapper_add(struct mapper *m, uint64_t time_ns, const struct module *mod);
/* Is code at pc in a mapping that was told? */
bool mapper_knows(const struct mapper *m, uint64_t pc);
/* A function that a hook has called has the program's as its caller, as it had
 * without us: hooks are left out where they are not the leaf. The rest. */
size_t mapper_skip_hooks(const struct mapper *m, uint64_t *pcs, size_t n);
/* Where libc has this function; false: nowhere (yet). */
bool mapper_libc_function(const struct mapper *m, const char *name,
			  uint64_t *address);
/* maps_vdso.c: its functions, to the experiment. */
void maps_tell_vdso(struct experiment *exp, struct target *t,
		    uint64_t time_ns, const struct module *mod);
/* A copy of memory for the unwinder (unwind_memory). */
int mapper_read(void *mapper, uint64_t addr, void *buf, size_t n);

/* ---- recorder.c: samples to weights, stacks and packets ------------------ */

struct recorder;

/* The scheduler's count of who runs lags by a tick, at most. */
enum { LAG_NS = 10 * 1000 * 1000 };

struct recorder_options {
	struct target *target;
	struct experiment *exp;
	struct unwind_space *space;
	struct mapper *mapper;
	struct look_back *look;
	uint64_t interval_ns;
	uint32_t stack_bytes;
	bool at_start;		/* before any constructor */
	/* It starts with its clocks off: what we do in the target before is no
	 * time of the program's. */
	bool held;
	const struct settings *settings;
};

struct guest;

/* An engine delivers samples; the recorder does the rest. */
struct engine_ops {
	const char *name;
	void *(*start)(struct recorder *rec, const struct recorder_options *o,
		       const char **why);
	size_t (*pollfds)(void *engine, struct pollfd *fds, size_t max);
	/* Is there enough to be drained, now that a descriptor wakes us? NULL:
	 * none does for nothing. */
	bool (*ripe)(const void *engine);
	/* Take what is there; final: everything. */
	void (*drain)(void *engine, bool final);
	int (*run)(void *engine, bool on);
	/* A resource sample is taken: what is pending for threads of which a
	 * stack is known is theirs, there. NULL: that is no more than an
	 * interval of each. */
	void (*catch_up)(void *engine);
	/* What was drained is in the files. NULL: nothing to do. */
	void (*settle)(void *engine);
	/* May it be switched off and on while a thread stands in the middle of
	 * an event, and nobody may be stopped? NULL: never. */
	bool (*quick)(const void *engine);
	/* How full, in percent, the last drain found what samples wait in.
	 * NULL: who fills it wakes us. */
	unsigned (*crowding)(void *engine);
	/* How many threads it could not give a clock. NULL: none needs one. */
	size_t (*not_sampled)(void *engine);
	/* What it has loaded into the target. NULL: nothing. */
	struct guest *(*guest)(void *engine);
	/* Stop; the target is clean afterwards, or text says why not. */
	void (*stop)(void *engine, struct str *text);
	/* A drain is a round, with weights of its own: not one more than need
	 * be. */
	bool rounds;
};
/* processes.c: in the shell: may this process be held, as far as we who sit at
 * a terminal depend on it? */
int session_check_holdable(pid_t pid);
/* doctor.c: the last failure's remedy, where perf is refused. */
void engine_remedy(void);
extern const struct engine_ops engine_ring, engine_inject, engine_remote;

/* engine.c: one that runs. */
struct engine {
	const struct engine_ops *ops;
	void *self;		/* NULL: it has ended */
	char *why;		/* our copy: it is told after the engine ended */
};
int engine_start(struct recorder *rec, const struct recorder_options *o,
		 enum session_engine wanted, struct engine *engine);

struct recorder *recorder_new(const struct recorder_options *o,
			      enum session_engine engine);
void recorder_free(struct recorder *rec);
const char *recorder_engine(const struct recorder *rec);
const char *recorder_why(const struct recorder *rec);

/* false: it was forgotten since. */
bool recorder_has_stack(const struct recorder *rec, uint64_t frinfo);

/* What engines call. A sample's stack is interned by the recorder. under: a
 * second piece of it (snapshot_thread), or NULL. */
uint64_t recorder_walk(struct recorder *rec, const struct arch_regs *regs,
		       const struct step_stack *stack,
		       struct step_stack *under, bool window_full);
uint64_t recorder_raw_stack(struct recorder *rec, uint64_t *pcs, size_t n,
			    const unsigned char *exact, enum unwind_end end);
/* How the stack ends that was handed in last; and one that is of no use after
 * all. */
enum unwind_end recorder_latest_end(const struct recorder *rec);
void recorder_uncount(struct recorder *rec, enum unwind_end end);
/* Of a sample of a clock of ours. */
struct clock_record;
uint64_t recorder_copied_stack(struct recorder *rec,
			       const struct clock_record *sample);
/* A tick of a clock: one sample, with the time that it stands for. */
void recorder_tick(struct recorder *rec, uint64_t time_ns, pid_t tid, int cpu,
		   enum mstate state, uint64_t weight_ns, uint64_t frinfo);
/* Time that a clock counted beside the ticks, charged to a stack: no sample. */
void recorder_book(struct recorder *rec, uint64_t time_ns, pid_t tid,
		   enum mstate state, uint64_t weight_ns, uint64_t frinfo);
/* System time where only user mode is sampled: between the sample of this
 * thread that was told before, and that whose stack was handed in last. To be
 * told of each sample, with 0 ns if there was none. */
void recorder_system_between(struct recorder *rec, uint64_t time_ns, pid_t tid,
			     uint64_t ns);
/* ... and after its last one. */
void recorder_system_behind(struct recorder *rec, uint64_t time_ns, pid_t tid,
			    uint64_t ns);
/* From here on the kernel counts user and system time of each thread for us,
 * as ticks do not tell them apart. */
void recorder_begin_counts(struct recorder *rec);
/* What it has counted by now, for all that is booked next. */
void recorder_read_counts(struct recorder *rec);
/* Each round: of a thread that no tick meets, too, for it may end unseen. */
void recorder_follow_counts(struct recorder *rec);
/* Of so much CPU time that is to be booked, the system time; guess: by ticks.
 * Held against what the kernel has counted. */
uint64_t recorder_system_of(struct recorder *rec, pid_t tid, uint64_t ns,
			    uint64_t guess);
/* Time without a processor, of a thread that waits. */
void recorder_wait(struct recorder *rec, uint64_t time_ns, pid_t tid,
		   enum mstate state, uint64_t ns, uint64_t frinfo);
/* The stack of one that waits, of which pc and sp are known. 0: a larger copy
 * would show more: after the first whatever does not end there, later what is
 * known to go on above; the last has to do. */
enum waiting_copy { COPY_FIRST, COPY_LARGER, COPY_LAST };
uint64_t recorder_waiting_stack(struct recorder *rec, uint64_t pc, uint64_t sp,
				const struct step_stack *stack,
				struct step_stack *under, bool window_full,
				enum waiting_copy copy);
/* No sample: the stack of one that creates a thread, from the function of libc
 * at entry on (0: all of it). 0: it could not be kept. */
uint64_t recorder_creator_stack(struct recorder *rec,
				const struct arch_regs *regs,
				const struct step_stack *stack,
				bool window_full, uint64_t entry);
/* For one whose stack may not be read. */
uint64_t recorder_unseen_stack(struct recorder *rec);
void recorder_unsampled_wait(struct recorder *rec, uint64_t time_ns,
			     uint64_t ns);
void recorder_birth(struct recorder *rec, uint64_t time_ns, pid_t tid,
		    pid_t by);
/* A process was born that descends from this one; and each of those that
 * came since the last question: 0, no more. */
void recorder_descendant(struct recorder *rec, pid_t pid);
pid_t recorder_next_descendant(struct recorder *rec);
void recorder_death(struct recorder *rec, uint64_t time_ns, pid_t tid);
/* Looks at those that wait: when, and do it. false: there is more. */
uint64_t recorder_look_due(const struct recorder *rec);
/* ... or now, since we are awake? */
bool recorder_look_wanted(const struct recorder *rec, uint64_t now);
bool recorder_look(struct recorder *rec);
/* A resource sample is taken: what is held until now is written. */
void recorder_settle(struct recorder *rec);
/* It counts from the time returned, once the engine's clocks are on, and to
 * there; returns when that was, 0: it had ended. */
uint64_t recorder_begin_waits(struct recorder *rec);
uint64_t recorder_end_waits(struct recorder *rec);
/* A recorder of a program that stands at its start: it goes on, and all counts
 * from here; nothing was written yet. */
void recorder_restart_waits(struct recorder *rec);
int recorder_start(struct recorder *rec);
/* The same, but what is told of it then is told at the next end. */
uint64_t recorder_rest_waits(struct recorder *rec);
/* Time without a processor so far, by state. */
void recorder_waited(const struct recorder *rec, uint64_t now,
		     uint64_t sum[MSTATE_COUNT]);
/* For a sample without a user stack (a process on its way out). */
uint64_t recorder_kernel_stack(struct recorder *rec);
/* ... and in kernel mode, of which the stack is not known. */
uint64_t recorder_system_stack(struct recorder *rec);
void recorder_calls_lost(struct recorder *rec, uint64_t calls);
void recorder_calls_untraced(struct recorder *rec, unsigned untraced);
/* "NOT TRACED: ...", or nothing. */
void calls_untraced_text(unsigned untraced, struct str *s);
/* Traced calls are traced no more: hooks out; text as of recorder_stop. */
void recorder_end_calls(struct recorder *rec);
void recorder_lost(struct recorder *rec, uint64_t time_ns, const char *cause,
		   const char *detail, pid_t tid, uint64_t samples,
		   uint64_t weight_ns);
/* For tid: time of threads that nobody knows, or nobody can tell which. */
enum { RECORDER_NO_THREAD = 0 };
/* CPU time of a thread, by its clock and by what is booked of it, since its
 * waits are recorded; false: no such clock, or it has ended. */
bool recorder_thread_clock(const struct recorder *rec, pid_t tid,
			   uint64_t *cpu_ns, uint64_t *booked_ns);
/* ... the clock as of the last look at it. */
bool recorder_seen_clock(const struct recorder *rec, pid_t tid,
			 uint64_t *cpu_ns, uint64_t *time_ns,
			 uint64_t *booked_ns);
/* ... and of all that live: what is not booked. */
uint64_t recorder_unbooked_of_threads(struct recorder *rec);
/* Of what is left of the process's clock: what no thread that lives lacks, nor
 * has pending, and is more than slack. Meanwhile: asked often, it says 0. */
uint64_t recorder_nobodys(struct recorder *rec, uint64_t left_ns,
			  uint64_t pending_ns, uint64_t slack_ns);
/* It has ended, and its number may come again. */
void recorder_forget_thread(struct recorder *rec, pid_t tid);
/* Nothing tells of its end. */
bool recorder_knows_thread(const struct recorder *rec, pid_t tid);
/* The rest of the process's clock: of the threads that lack it by their own
 * clocks, the others' of none. At the end, when all else is booked. */
void recorder_unsampled_rest(struct recorder *rec, uint64_t rest_ns);
void recorder_unsampled(struct recorder *rec, uint64_t time_ns, pid_t tid,
			uint64_t cpu_ns);
void recorder_thread_name(struct recorder *rec, uint64_t time_ns, pid_t tid,
			  const char *name);
/* It lives, and is called so: for who is asked when it has ended. */
void recorder_thread_met(struct recorder *rec, pid_t tid, const char *name);
void recorder_exec(struct recorder *rec, uint64_t time_ns, const char *comm);
/* The process's CPU clock; once the program has changed, as it was then. -1: it
 * has none any more. */
int recorder_cpu_ns(struct recorder *rec, uint64_t *cpu_ns);
/* The engine's clocks went on or off at this reading of the process's CPU
 * clock: what is recorded is to be held against the time between. */
void recorder_clock(struct recorder *rec, bool on, uint64_t cpu_ns);
void recorder_stopped(struct recorder *rec, uint64_t pause_ns);
void recorder_stops(struct recorder *rec, unsigned n, uint64_t total_ns,
		    uint64_t longest_ns);
/* It was this thread that stood, and runs. */
void recorder_stood(struct recorder *rec, pid_t tid);
const struct recorder_options *recorder_get_options(const struct recorder *r);

struct recorder_counts {
	uint64_t samples, lost, lost_ns, failed, truncated, complete;
	uint64_t recorded_ns, full_steps;
	uint64_t too_deep;	/* of the truncated: they have more frames */
	uint32_t cut_bytes;	/* the copy that the others end with */
	uint64_t looks, looks_cut;	/* stacks of those that wait */
	uint64_t clock_ns;	/* CPU time of the process while on */
	uint64_t clock_start_ns;	/* of the present stretch */
	bool clock_on;
	uint64_t stop_ns, stop_total_ns;
	unsigned stops;
	size_t not_sampled;	/* threads */
	uint64_t calls_lost;	/* traced ones, once their tracing has ended */
	unsigned untraced;	/* as calls_untraced says; calls_untraced_text */
	bool execed;
	uint64_t exec_ns;
	char exec_comm[32];
};
const struct recorder_counts *recorder_counts(const struct recorder *rec);
bool recorder_is_quick(const struct recorder *rec);
size_t recorder_pollfds(struct recorder *rec, struct pollfd *fds, size_t max);
void recorder_drain(struct recorder *rec, bool final);
/* Is there enough to be drained before it is due? */
bool recorder_ripe(const struct recorder *rec);
unsigned recorder_crowding(struct recorder *rec);
/* Write it all. -1: the disk refused some, which is counted. */
int recorder_flush(struct recorder *rec);
int recorder_run(struct recorder *rec, bool on);
void recorder_stop(struct recorder *rec, struct str *text);
/* Somebody has more need of a debug register. */
void recorder_give_register(struct recorder *rec);

/* ---- sideband.c ---------------------------------------------------------- */

struct clock_record;
/* true: there is new code in the target. */
bool sideband_take(struct recorder *rec, const struct clock_record *r);

/* ---- cuts.c -------------------------------------------------------------- */

/* "42 stacks cut at 16 KB (--depth ...)", or "": what ends before its stack
 * does, and with which words it would not. The caller frees it. */
char *cuts_text(const struct recorder *rec);

/* ---- receipt.c ----------------------------------------------------------- */

/* clean: what became of the target; how: how it ended, or NULL; trouble: of
 * the recording, or ""; lost: why there is no experiment, or NULL. The caller
 * frees it. */
char *receipt_text(const struct session_progress *p, const char *clean,
		   const char *trouble, const char *how, const char *path,
		   const char *lost);

/* ---- stacks.c ------------------------------------------------------------ */

/* Put the stacks of tid (0: all threads) into an answer. */
int stacks_answer(struct target *t, pid_t tid, enum session_look how,
		  struct wire_message *m, uint64_t *pause_ns);

#endif
