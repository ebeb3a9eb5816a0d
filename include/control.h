/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * control: a process and what ptrace can do to it. Attach is not ptrace:
 * target_open takes a pidfd and looks; threads are seized only for a stop,
 * a call or a snapshot, by the tracer process alone (a thread has one
 * tracer), and every wait uses __WNOTHREAD.
 */
#ifndef SONDE_CONTROL_H
#define SONDE_CONTROL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch.h"

struct target;

/* Watch a live process; it runs on untouched. FAIL_MISSING when there is no
 * such process (or it is a zombie). */
struct target *target_open(pid_t pid);
/* Lets go of whatever is still held, then frees. */
void target_close(struct target *t);
pid_t target_pid(const struct target *t);
const char *target_name(const struct target *t);	/* comm */
int target_pidfd(const struct target *t);	/* readable when it ended */
int target_proc(const struct target *t);	/* dir fd of /proc/PID */
/* A thread that is alive (zombie leaders have no maps): for /proc and
 * process_vm_readv. */
pid_t target_live_thread(struct target *t);

/* May we look at it and measure it by perf? Another tracer does not matter
 * for that. Names reason and exact remedy (uid, capability, dumpable,
 * namespace, 32-bit ...). Changes nothing in the target. */
int target_check_rights(struct target *t);
/* And may we ptrace it? Also: traced by whom, Yama. */
int target_check_ptrace(struct target *t);
/* Does another process use its memory (CLONE_VM, a vforked child that stays)?
 * *with: who, else 0. Looks for up to 50 ms until a vforked child has gone. */
bool target_shares_memory(struct target *t, pid_t *with);
/* The same as a refusal, before anything is put into its memory. */
int target_check_alone(struct target *t);
/* Is its control group frozen? Names the group and how to thaw it. */
int target_check_frozen(struct target *t);
/* The control group that takes no `wanted` tasks more (pids.max), NULL: none
 * is so full. The caller frees it. */
char *target_full_pids(struct target *t, long long wanted);
/* What is particular about it, a line per finding, for `doctor`; visit gets
 * ok, subject and text. libc: what is known of that; NULL: it is told by the
 * files that are mapped. */
void target_doctor(struct target *t, const char *libc,
		   void (*visit)(void *arg, bool ok, const char *subject,
				 const char *text),
		   void *arg);
/* The same for this host without a target. */
void host_doctor(void (*visit)(void *arg, bool ok, const char *subject,
			       const char *text),
		 void *arg);

/* Called once by whoever sees it end (pidfd, perf, wait). status: a wait
 * status, or -1 when nobody may tell us. While we hold threads the pidfd does
 * not become readable before their ends are waited for: go on calling
 * target_next_event. */
void target_note_exit(struct target *t, int status);
/* The wait status of a process that has ended, where the kernel still tells
 * one that is not its parent; else -1. */
int target_outcome(const struct target *t);
bool target_gone(const struct target *t);
/* kill(2), of no other process that has its number by now. */
int target_signal(const struct target *t, int signal);
/* "exited with status 3", "was killed by SIGKILL", "ended". A view. */
const char *target_how_ended(const struct target *t);

/* Thread ids now, by repeated listing until a listing finds nobody new.
 * *tids is grown; the caller frees it. Returns the count or -1. */
ssize_t target_threads(struct target *t, pid_t **tids, size_t *cap);

/* A thread that the kernel made there for itself: it never stops. */
bool target_is_worker(const struct target *t, pid_t tid);

/* ---- stat.c: what the kernel counts; 0, or -1 when it is gone, without a
 * failure */

enum stat_field {		/* as proc(5) numbers them */
	STAT_PPID = 4, STAT_PGRP, STAT_SID, STAT_FLAGS = 9,
	STAT_MINOR_FAULTS, STAT_MAJOR_FAULTS = 12, STAT_UTIME = 14, STAT_STIME,
	STAT_CHILDREN_UTIME, STAT_CHILDREN_STIME,
	STAT_START_TIME = 22, STAT_START_CODE = 26, STAT_END_CODE,
	STAT_START_STACK, STAT_CPU = 39,
	STAT_START_DATA = 45, STAT_END_DATA, STAT_START_BRK, STAT_ARG_START,
	STAT_EXIT_CODE = 52, STAT_FIELDS
};
struct task_stat {
	char state;		/* its letter, 0: gone */
	char name[16];		/* as its owner gave it: not tame (base.h) */
	uint64_t field[STAT_FIELDS];	/* by stat_field; times in ticks */
};
int task_stat_of(int dir_fd, const char *path, struct task_stat *st);
/* The same of an open file, again and again. */
int task_stat_at(int fd, struct task_stat *st);
int target_stat(const struct target *t, struct task_stat *st);
int target_thread_stat(const struct target *t, pid_t tid,
		       struct task_stat *st);
/* utime and stime are in ticks. */
uint64_t stat_ticks_ns(uint64_t ticks);

struct task_turns {
	uint64_t cpu_ns;	/* exact, but for the tick of who runs */
	uint64_t wait_ns;	/* runnable, and not running */
	uint64_t switches;	/* how often it was put on a processor */
};
/* From an open schedstat file, again and again. A kernel without these counts
 * leaves zeros, but for the first. */
int task_turns_at(int fd, struct task_turns *turns);
int task_turns_of(int dir_fd, const char *path, struct task_turns *turns);
int target_thread_turns(const struct target *t, pid_t tid,
			struct task_turns *turns);

/* ---- syscall.c: what a thread is blocked in */

struct task_call {
	long nr;		/* -1: in no call */
	uint64_t sp, pc;
};
/* 1: blocked; 0: it runs; -1 with errno, without a failure (ESRCH: gone). args:
 * NULL, or filled if it is in a call. _at: of an open file (-1: none). */
int task_call_at(int fd, struct task_call *c, uint64_t args[6]);
int target_thread_call(const struct target *t, pid_t tid, struct task_call *c,
		       uint64_t args[6]);

/* ---- facts.c */

/* From /proc/PID/task/TID: state letter, name, CPU time by schedstat (exact,
 * ns), run-queue wait ns. */
struct thread_facts {
	char state;
	char name[16];
	uint64_t cpu_ns, wait_ns, switches;
	bool in_syscall;	/* by /proc/.../syscall; false: none, unknown */
	long syscall;		/* number, -1 none */
	bool partial;		/* a stop would leave that call half done */
	bool waits;		/* snapshots: it goes on in that call */
	uint64_t sp, pc;	/* of a blocked thread; 0 unknown */
	uint64_t args[6];	/* of the call */
};
int target_thread_facts(struct target *t, pid_t tid, struct thread_facts *f);
/* How often it was seen to execute a program: addresses from before another
 * count are none. */
unsigned target_execs(const struct target *t);
/* CPU time of the process (its own CPU clock), ns; also after its threads
 * ended; -1 once it is reaped. */
int target_cpu_ns(struct target *t, uint64_t *ns);

/* Memory, by process_vm_readv / a kept /proc/TID/mem descriptor. All bytes
 * or -1 with errno-based failure. */
int target_read(struct target *t, uint64_t addr, void *buf, size_t n);
/* Up to n bytes, less than a page, as far as they can be read: all of them, or
 * those before the next page, or 0; without a failure. */
size_t target_peek(struct target *t, uint64_t addr, void *buf, size_t n);
int target_write(struct target *t, uint64_t addr, const void *buf, size_t n);
/* Text of /proc/TID/maps read until two readings agree; caller frees. Paths
 * have one meaning (modules_parse decodes them), and text that the program
 * copied to other memory has the file whose text it is. */
char *target_maps(struct target *t);
/* The address of a dynamic symbol of the load object whose ELF header is at
 * base, read from memory. false: none, or no sound ELF image. */
bool image_symbol(struct target *t, uint64_t base, const char *name,
		  uint64_t *addr);
/* Does it take signals by a call, as sigtimedwait or a signalfd, by what its
 * load objects import? Then a signal of ours that a thread blocks may be seen:
 * which one calls what, to be freed. NULL: none does. */
char *target_takes_signals(struct target *t);
/* The same of calls by which a thread may forbid itself to return from a
 * handler: a filter (seccomp), or the dispatch of system calls. */
char *target_confines_threads(struct target *t);
/* The same of calls that run code on a stack of the program's own, whose size
 * nobody knows. (Code that sets the stack pointer itself is not recognized.) */
char *target_switches_stacks(struct target *t);
/* Open the very file of a mapping (base's mapped_file). -1: only its memory
 * has it. */
int target_open_mapped(struct target *t, uint64_t start, uint64_t end,
		       const char *path, uint64_t device, uint64_t inode);

/* ---- stacks.c: which memory the stacks of threads are -------------------- */

struct stack_bounds {
	uint64_t low, high;	/* low 0: not known */
};
/* How a thread's descriptor, libc's, tells the thread's stack: by three words,
 * {low, size, guard's size} (glibc), or {high, size, guard's size} (musl). */
enum descriptor_form { DESCRIPTOR_UNKNOWN, DESCRIPTOR_HAS_LOW,
		       DESCRIPTOR_HAS_HIGH };
struct stacks {
	struct stack_bounds main;
	enum descriptor_form form;
	int64_t words_at;	/* from the thread pointer */
};
/* The main stack by a reading of the maps: where it begins now (it grows down),
 * and the end of what is mapped below, or 0. false: it has none. */
struct modules;
struct main_stack {
	uint64_t floor, low, end;
};
bool stacks_main(const struct modules *maps, struct main_stack *its);
/* The main stack, as far as it may grow, and the descriptor of the glibc that
 * we run with: what reads it must not trust it. The target runs on. */
void stacks_begin(struct target *t, struct stacks *s);
/* The stack of a thread with that sp, by the descriptor of libc's above it;
 * then the form is known. false: none is there. The target runs on. */
bool stacks_find(struct target *t, uint64_t sp, struct stacks *s,
		 struct stack_bounds *its);

/* ---- gate.c: before the signals of perf events --------------------------- */

/* The kernel itself looks at the thread, in the moment of an overflow, and
 * sends no signal that would be pending, whose handler could not return, or
 * whose frame would go where no stack is known to have room, or below that of
 * another signal. */
struct gate;
enum gate_reason { GATE_BLOCKED, GATE_DISPATCHED, GATE_CONFINED, GATE_BESIDE,
		   GATE_NARROW, GATE_TAKEN, GATE_REASONS };
/* Is the program, or a library that it has loaded, made by Go? */
bool target_runs_go(struct target *t);
struct gate_handler {
	size_t stack;		/* bytes that it needs beyond its frame; 0: a
				 * tracer takes the signal, and no handler runs */
	bool alternate;		/* it runs on the thread's alternate stack, if
				 * there is one (SA_ONSTACK) */
};
/* NULL, without a failure: the kernel has none for this user (Linux 6.10, root),
 * or we live in a PID namespace, and process pid in another one. */
struct gate *gate_open(pid_t pid, int signo, const struct gate_handler *handler);
void gate_close(struct gate *g);
/* An event, before it sends its first signal. -1 with errno. */
int gate_put(const struct gate *g, int fd);
/* A thread, before its first signal, or later: so many seccomp filters permit a
 * handler's return. -1 with errno. */
int gate_note_filters(const struct gate *g, pid_t tid, uint32_t filters);
/* Its stack; and what is common to all. -1 with errno. */
int gate_note_stack(const struct gate *g, pid_t tid,
		    const struct stack_bounds *its);
int gate_note_stacks(const struct gate *g, const struct stacks *stacks);
/* The address of the signal's handler: with any other there is no signal. 0: all
 * are right. -1 with errno. */
int gate_note_handler(const struct gate *g, uint64_t handler);
void gate_forget(const struct gate *g, pid_t tid);
/* Signals of a thread that were none, and at the last one of their kind: the
 * kernel's name for its filters (threads that live and have the same name have
 * the same filters), and sp, which was on no stack with room. tid 0: of all. */
struct gate_news {
	uint64_t held[GATE_REASONS], filter, sp;
	struct stack_bounds stack;	/* 0: not known */
};
void gate_held_back(const struct gate *g, pid_t tid, struct gate_news *news);
/* Bytes below sp that a handler's frame and the handler take. */
size_t gate_room(size_t handler_stack);

/* ---- stops -------------------------------------------------------------- */

/* One wait status, one event. */
enum event_kind { EVENT_NONE, EVENT_STOPPED, EVENT_GROUP_STOP, EVENT_SIGNAL,
		  EVENT_SYSCALL, EVENT_CLONE, EVENT_FORK, EVENT_EXEC,
		  EVENT_EXITING, EVENT_THREAD_GONE, EVENT_ENDED,
		  EVENT_BREAKPOINT, EVENT_ERRAND,
		  /* target_want: */
		  EVENT_BEGINS, EVENT_ENDS, EVENT_DIES, EVENT_ENTERS,
		  EVENT_RETURNS };
struct event {
	enum event_kind kind;
	pid_t tid;
	int signal;		/* EVENT_SIGNAL, EVENT_GROUP_STOP; EVENT_ERRAND:
				 * of a fault, 0: it is back */
	bool stands;		/* EVENT_SIGNAL: it is due, the thread stands */
	unsigned long message;	/* PTRACE_GETEVENTMSG: new tid, status;
				 * EVENT_BEGINS: who made it; of calls: which */
	int64_t answer;		/* EVENT_RETURNS; EVENT_DIES: a wait status */
	int status;		/* raw wait status */
	struct breakpoint *breakpoint;	/* EVENT_BREAKPOINT */
	bool passes;		/* ... which concerns nobody; but it must be
				 * stepped over it */
};
struct event event_of_status(pid_t tid, int status);

/* A thread that we hold. */
struct held {
	pid_t tid;
	bool stopped;
	int group_signal;	/* it was in a group stop of this signal */
	uint64_t stopped_at;	/* now_ns(); 0: it did not stop */
	uint64_t ran_ns;	/* since then, by thread_run_to and others */
	bool lent;		/* it was held already: release keeps it so */
	bool faulted;		/* by what you made it do: the signal that it
				 * stands with is not the program's */
	int deliver;	/* this signal, when thread_run_alone lets it run */
};

/* For how long it has stood so far, without the time that it ran meanwhile. */
uint64_t held_stood_ns(const struct held *h);
/* Seize one thread with extra PTRACE_O_ options (never EXITKILL), interrupt
 * it and wait (bounded by timeout_ns) for the stop; signals that come first
 * are delivered to it. A thread in state D is not even seized. -1: it is
 * untouched and let go (one that stops too late is let go by the next
 * target_next_event: keep calling that). All of this is for one thread of
 * ours: ptrace obeys only the thread that seized. */
int thread_hold(struct target *t, pid_t tid, unsigned long options,
		uint64_t timeout_ns, struct held *h);
/* The same for a thread that is to work for us: stopped in user mode, between
 * two of its system calls, or in a call that begins again by itself. One that
 * computes, or is in a call that a stop would cut short or that would say
 * EINTR, is waited for (perf; where that is refused: as thread_hold, if it is
 * not seen in a call that would be cut short). -1: it runs on, or stays seized
 * until it comes out of that call: call target_next_event, or try again. */
int thread_catch(struct target *t, pid_t tid, uint64_t timeout_ns,
		 struct held *h);
/* Does this call answer EINTR to any stop? We repair that, if we live. */
bool call_sees_eintr(long nr);
/* Let it go as it is: group stops stay, a signal it was about to get is
 * delivered, EINTR-class calls restart. It may stand or run. A trap of your
 * own making (int3) is yours to clear first: see thread_settle. */
int thread_release(struct target *t, struct held *h);
int thread_get_regs(pid_t tid, struct user_regs_struct *regs);
int thread_set_regs(pid_t tid, const struct user_regs_struct *regs);
/* Let a held thread run without letting it go. signal: to be delivered. */
enum thread_run { RUN_FREE, RUN_TO_SYSCALL, RUN_STEP };
int thread_resume(pid_t tid, enum thread_run how, int signal);
/* From any stop, or running, to a plain stop, where the kernel's own restart
 * logic works on the registers that are set there. A signal it was about to
 * get is delivered (its handler is entered, nothing else runs). */
int thread_settle(struct target *t, struct held *h, uint64_t timeout_ns);
/* Let a held thread run to this address, and stand there at a plain stop; its
 * signals are delivered. NOT_REACHED: it stands somewhere else, since the time
 * is over. UNWATCHED: it has not run, the processor cannot watch for it. -1
 * failed. Nothing of it stays should we be killed. */
enum reached { NOT_REACHED, REACHED, UNWATCHED };
int thread_run_to(struct target *t, struct held *h, uint64_t addr,
		  uint64_t timeout_ns);
/* Let a held thread run to the end of a system call, or for so long, and stand
 * at a plain stop; its signals are delivered. 0, -1 failed. Nothing of it stays
 * should we be killed. */
int thread_run_through_call(struct target *t, struct held *h,
			    uint64_t timeout_ns);
/* Wait for the next event of one thread, held or auto-attached; 0, or -1 at
 * the deadline (EVENT_NONE) or when it is gone (EVENT_THREAD_GONE,
 * EVENT_ENDED). */
int thread_wait(pid_t tid, uint64_t timeout_ns, struct event *ev);
/* Undo what a ptrace stop does to an interrupted system call, on the saved
 * registers (EINTR-class calls restart, rseq sections abort). true: changed. */
bool thread_fix_interrupted(struct target *t, pid_t tid,
			    struct user_regs_struct *regs);
/* The number of the call that a thread in restart_syscall at pc sleeps in, by
 * the code in front of it; -1: it does not show. */
long thread_sleeping_call(struct target *t, uint64_t pc);

/* Hold all threads (rescanning until none is new) / let all go (breakpoints
 * are taken out first, and forgotten). For `stop`. Threads that cannot stop
 * (vfork parents) are not waited for: they run nothing of the program. */
int target_hold_all(struct target *t);
int target_release_all(struct target *t);
/* Threads that were to stop, and did not in time, are waited for once more, and
 * let go; before anybody looks whether we are gone. */
void target_let_go_late(struct target *t);
/* Those of them that stand now are let go; and for limit_ns at most, those that
 * stop then, until there is none. For whoever is about to be slow. */
void target_serve_late(struct target *t, uint64_t limit_ns);
/* Those that stand, if a SIGCHLD waits, which tells of it: between two steps of
 * some longer work. */
void target_serve_told(struct target *t);
bool target_has_late(const struct target *t);
/* Only this one. true: it stood. */
bool target_serve_late_of(struct target *t, pid_t tid);
/* None of them has stood until now. */
void target_late_run_still(struct target *t);
/* For how long they stood, those that were let go since this was asked last:
 * from the last moment that each was known to run. */
struct late_stops {
	unsigned stops;
	uint64_t total_ns, longest_ns;
};
struct late_stops target_take_late(struct target *t);
/* Run on, but stay seized: for breakpoints and events. */
int target_continue_all(struct target *t);
/* true: all stand. */
bool target_held(const struct target *t);
/* While it is held: when it runs on, this one stands until it is held again, or
 * all are let go. */
int target_suspend(struct target *t, pid_t tid, bool suspend);
bool target_is_suspended(const struct target *t, pid_t tid);
bool target_has_suspended(const struct target *t);
/* What our stops could not hide from the program, so far. */
struct target_marks {
	unsigned began_again;	/* waits whose time limit started once more */
	unsigned cut_short;	/* calls that gave back a part */
};
const struct target_marks *target_marks(const struct target *t);
/* From the first stop to the last release of the last hold, ns; so far, while
 * it is held. */
uint64_t target_pause_ns(const struct target *t);
/* Pump the waits of seized threads, from the poll loop at every SIGCHLD and
 * timeout, non-blocking. Stopped: news of ends, late stops. Running: new
 * clones run on as seized, signals are delivered and then reported, group
 * stops stay in force, a breakpoint's thread stands (the others run: call
 * target_hold_all). true: *ev was filled, call again. */
bool target_next_event(struct target *t, struct event *ev);

/* Copies of every thread's registers and used stack, taken within one short
 * stop; the target runs again when this returns. */
enum { FUTEX_BEFORE = 16, FUTEX_BYTES = 64 };
struct snapshot_thread {
	pid_t tid;
	bool ok;
	struct arch_regs regs;
	uint64_t stack_base;
	unsigned char *stack;
	size_t stack_size;
	uint64_t tp;		/* its thread pointer; 0: not known */
	/* a handler on an alternate stack: the stack that it interrupted;
	 * under_size 0: none */
	uint64_t under_base;
	unsigned char *under;
	size_t under_size;
	struct thread_facts facts;
	/* snapshot_take and peek_thread, of one in futex(2): what lay around
	 * its word at that moment; futex_size 0: not known */
	uint64_t futex_at;
	size_t futex_size;
	unsigned char futex[FUTEX_BYTES];
	/* snapshot_running: */
	bool waited;		/* for a processor, since before came_at: it
				 * stands where that was taken from it */
	bool cut_short;		/* see thread_in_transfer */
};
struct snapshot {
	struct snapshot_thread *threads;
	size_t len;
	uint64_t pause_ns;	/* longest time anyone stood */
	uint64_t run_pause_ns;	/* snapshot_take: ... of those that ran; at
				 * most, since the last to go is waited for */
	uint64_t pause_total_ns;	/* snapshot_running: all of them */
	unsigned stops;			/* ... and how many */
};
/* only: 0 for all threads. max_stack bytes copied per thread. */
int snapshot_take(struct target *t, pid_t only, size_t max_stack,
		  struct snapshot *snap);
void snapshot_fini(struct snapshot *snap);
/* What it owns. */
void snapshot_thread_fini(struct snapshot_thread *th);
/* In this copy of a stack from sp upwards: the sp that a signal interrupted
 * whose handler runs on an alternate stack; it is outside the copy. 0: none. */
uint64_t under_find(const unsigned char *stack, uint64_t base, size_t size);
/* Copies of n threads that run, each stopped alone and only for its copy; of
 * facts, what registers tell, and the counts at its stop. came_at: who had a
 * processor until then lost it to a timer of ours. One that did not stop within
 * the limit, has ended or is another tracer's is not in snap; 0 also when there is
 * none. Go on calling target_next_event: it lets late ones go. */
int snapshot_running(struct target *t, const pid_t *tids, size_t n,
		     uint64_t came_at, uint64_t limit_ns, size_t max_stack,
		     struct snapshot *snap);
/* It waits within a call that a stop would cut short and nothing repairs, a
 * large write into a pipe: better not stopped, now or soon. A stop that seems
 * to have done so is told by snapshot_running. */
bool thread_in_transfer(struct target *t, pid_t tid);
/* The same for one blocked thread without a stop, by /proc/TID/syscall and
 * process_vm_readv, verified by its switch count. -1: it ran meanwhile.
 * regs: only pc and sp are known, all others (the frame pointer too) are 0. */
int peek_thread(struct target *t, pid_t tid, size_t max_stack,
		struct snapshot_thread *out);
/* The same for all threads at once, with all registers, and in less time for
 * each (bench/run --only look), but 2 ms when it is called first: by the kernel's
 * task iterator (BPF, Linux 6.1, as root, on x86-64). Who is not visited runs, or is to be
 * peeked at; so is who has more than 60 KB of stack, if all of it is wanted.
 * The stack of who is visited lasts until visit returns, unless it is kept.
 * -1: not here. */
typedef void snapshot_visit_fn(void *arg, struct snapshot_thread *th);
int snapshot_sleeping(struct target *t, size_t max_stack,
		      snapshot_visit_fn *visit, void *arg);
/* From then on it owns what it shows. */
void snapshot_thread_keep(struct snapshot_thread *th);

/* ---- launch ------------------------------------------------------------- */

struct launch {
	char *const *argv;
	char *const *envp;		/* NULL: ours */
	const char *in, *out;		/* redirections or NULL */
	bool append;
	bool own_group;			/* a process group, in the background */
	const char *terminal;		/* for a session of its own, or NULL */
	pid_t tracer;			/* may seize us (Yama 1) */
};
/* In the shell: find and fork the program; it waits before exec until
 * released by launch_go (so that the tracer can seize it first), and exits
 * with 125 when that never comes. What cannot be found, executed or opened is
 * a failure here. Its exit status is 126 or 127 when exec fails after all. */
pid_t launch_fork(const struct launch *l, int *go_fd);
/* Closes go_fd, also when it fails. Not before the tracer's launch_seize. */
int launch_go(int go_fd);
/* In the tracer: seize the waiting child without stopping it. */
int launch_seize(struct target *t);
/* In the tracer, target seized: run to exec, then to ld.so's first
 * consistent notification (everything mapped and relocated, no constructor
 * has run), or the entry point where there is none (static programs). Leaves
 * it held there (target_held), its text as it was. Waits until launch_go.
 * -1 with FAIL_ENDED when it ended first (target_how_ended). */
int launch_to_start(struct target *t);
/* Only to exec: held before its first instruction. target_run_to_start is what
 * comes next. */
int launch_to_exec(struct target *t);
/* The same of a program that it executes later (target_stand_at_exec). */
int target_hold_at_exec(struct target *t);
/* A program that it executes later: its thread stands at the exec's event (an
 * EVENT_EXEC of target_next_event) until target_run_to_start, which leaves it
 * as launch_to_start does. */
void target_stand_at_exec(struct target *t, bool stand);
int target_run_to_start(struct target *t);

/* Its dynamic loader: whoever executes notify has loaded or unloaded
 * something, or is about to. -1: FAIL_UNSUITABLE (static; at its entry). */
struct loader {
	uint64_t debug, notify;
};
int target_loader(struct target *t, struct loader *l);
/* What is loaded, but the program itself, by the names that the loader has. */
void loader_each(struct target *t, const struct loader *l,
		 void (*visit)(void *arg, uint64_t base, const char *name),
		 void *arg);

/* Signals (bit n - 1 is n) that a thread of a target which runs seized gets
 * only after an EVENT_SIGNAL that stands: call target_hold_all. */
void target_catch(struct target *t, uint64_t signals);
/* A thread has hit this breakpoint of code, and stands there; others may run.
 * true: it concerns nobody, and there is no event of it. */
typedef bool target_judge(void *arg, const struct breakpoint *bp,
			  const struct arch_regs *regs, pid_t tid);
/* Can a hit of this thread concern anybody, as things are? false: where the
 * processor watches, the thread runs through it, and nothing is known of it. */
typedef bool target_concern(void *arg, const struct breakpoint *bp, pid_t tid);
void target_set_judge(struct target *t, target_judge *judge,
		      target_concern *concern, void *arg);
/* The concern may be another from now on: of this thread, which stands; 0: of
 * all, whether they stand or run. */
void target_ask_concern(struct target *t, struct breakpoint *bp, pid_t tid);

/* A thread that is held: it gets this signal, instead of the one that is due
 * to it; 0: none. */
int target_deliver(struct target *t, pid_t tid, int signal);
/* 0: none is due to this one, which stands. */
int thread_due_signal(pid_t tid, siginfo_t *info);
bool target_is_seized(const struct target *t);

/* What else is told of a target that runs seized: the thread stands, call
 * target_hold_all. To be set while all stand. */
enum { CALLS_KNOWN = 512 };
struct target_wants {
	bool begins, ends;	/* threads; those that end by themselves */
	bool dies;		/* the program, before it has ended */
	uint64_t enters[CALLS_KNOWN / 64], returns[CALLS_KNOWN / 64];
	pid_t calls_of;		/* of this thread only; 0: of all */
	unsigned char follow;	/* not 0: an EVENT_FORK stands, and both do */
	unsigned char programs, execs;	/* the holder's own notes */
};
void target_want(struct target *t, const struct target_wants *w);
/* After an EVENT_DIES, all held: the thread that ends the program, by a call of
 * its own or a fault; where nobody does, its first; 0: not known. */
pid_t target_ended_by(const struct target *t);

/* Children that stand for an EVENT_FORK. */
void target_let_children_go(struct target *t);
/* Or: one of them instead, which is held; the old one is let go, and closed.
 * NULL: nothing has changed. */
struct target *target_follow(struct target *old, pid_t child);
/* Or: one of them is a target as well, which is held; the old one stands as it
 * did. NULL: nothing has changed. */
struct target *target_adopt(struct target *old, pid_t child);

/* ---- breakpoints -------------------------------------------------------- */

/* Seen by target_next_event while the target runs by target_continue_all.
 * Each is a watch that the processor keeps in every thread, and that goes with
 * us should we be killed; or, where that cannot be, a trap in the text. While
 * the target is held its text is its own. A vforked child runs without traps;
 * forked ones are freed of them. Should we be killed, the guardian takes them
 * out; without one the next hit ends the target. */
struct breakpoint;
/* The target must be held. */
struct breakpoint *breakpoint_insert(struct target *t, uint64_t addr);
/* The same of data: 1, 2, 4 or 8 bytes, aligned so, that are written, or read,
 * by instructions of the program; its thread stands behind that one. It is
 * never a trap: what cannot be watched is refused, or is off. */
struct breakpoint *breakpoint_watch(struct target *t, uint64_t addr,
				    unsigned size, bool reads);
bool breakpoint_is_data(const struct breakpoint *bp);
int breakpoint_remove(struct target *t, struct breakpoint *bp);
uint64_t breakpoint_address(const struct breakpoint *bp);
/* The one of code, not of data, that is there; NULL: none. */
struct breakpoint *breakpoint_at(const struct target *t, uint64_t addr);
/* Why it is a trap for now, in a few words; NULL: it is none. */
const char *breakpoint_why_trap(const struct target *t,
				const struct breakpoint *bp);
/* Why a breakpoint would have to be a trap now, in a few words, or NULL. */
const char *target_why_traps(struct target *t);
/* Traps are allowed unless forbidden. What cannot be watched then is refused,
 * or is off until it can be: the text is never written to. */
void target_forbid_traps(struct target *t);
void target_allow_traps(struct target *t);
bool breakpoint_is_off(const struct target *t, const struct breakpoint *bp);
/* false: it went with all others, at an exec or a stop that failed. */
bool breakpoint_is_there(const struct target *t, const struct breakpoint *bp);
/* Is any of them a trap, so that hits must be seen at once? */
bool target_has_traps(const struct target *t);
/* Places in the text that held a trap, and hold one still though none is
 * wanted there: how many, the first in *addr; -1: it cannot be seen. */
int target_traps_left(struct target *t, uint64_t *addr);
/* No trap in the text, while it runs too: threads that nobody traces come. And
 * as before; who came is traced then. */
void target_lift_traps(struct target *t);
void target_plant_traps(struct target *t);
/* Call target_next_event at least this often, ms; -1: at news only. */
int target_look_ms(const struct target *t);
/* The thread stands at a breakpoint, its pc at the address; all others are
 * held. Execute the original instruction, or see to it that this comes first
 * when it goes on; keep the breakpoint. */
int breakpoint_step_over(struct target *t, struct breakpoint *bp, pid_t tid);

/* ---- errands ------------------------------------------------------------ */

/* A thread executes a function for whoever debugs the program. It is back when
 * it enters a system call at that place with that sp. */
struct thread_errand {
	uint64_t behind;	/* the system call; 0: it executes none */
	uint64_t sp;
	bool unfiltered;	/* seccomp does not apply to it meanwhile */
};
/* Among others, by target_continue_all: its return, and a fault, which is not
 * delivered, are an EVENT_ERRAND; it stands there. NULL: no more. */
void thread_calls(struct target *t, pid_t tid,
		  const struct thread_errand *errand);
/* A thread of the target that the caller traces by itself, beside all others:
 * it is one of them from now on, and stands at a plain stop. STANDS: it does
 * already, at any stop. STAYS: it goes on standing when all are let run, until
 * it is let go. -1: it has ended. */
enum enlist { ENLIST_RUNS, ENLIST_STANDS, ENLIST_STAYS };
int thread_enlist(struct target *t, pid_t tid, enum enlist how);
/* The caller's again: it stands, and waiting for it is his affair. false: it is
 * not there. */
bool thread_discharge(struct target *t, pid_t tid);
/* Is it one of those that stand, or run seized? */
bool target_knows(const struct target *t, pid_t tid);
/* It stands, and goes on standing while others run, until target_suspend. */
void thread_stays(struct target *t, pid_t tid);
/* It stands at that system call, which has not begun. */
bool thread_is_back(struct target *t, pid_t tid);
struct alone_limit {
	uint64_t deadline;	/* now_ns() */
	bool (*cancelled)(void *arg);	/* does nobody want it? May be NULL */
	void *arg;
};
/* A held one runs while all others stand, until EVENT_SYSCALL, EVENT_SIGNAL
 * (*info; it is not delivered), EVENT_BREAKPOINT, EVENT_EXEC; EVENT_STOPPED
 * beyond the limit. -1 with *ev when it has ended. */
int thread_run_alone(struct target *t, struct held *h,
		     const struct alone_limit *limit, struct event *ev,
		     siginfo_t *info);
/* By what the thread itself did, abort(3) too. */
bool signal_is_fault(const siginfo_t *info);
/* Or it has sent such a one to itself, and stands at it. */
bool thread_raised(pid_t tid, const siginfo_t *info);
/* By which watches of breakpoints tell a hit; 0: nothing is watched. */
int target_watch_signal(struct target *t);
/* One thread is not to come to a place: that is an EVENT_SIGNAL which
 * thread_watch_takes. there: it stands at the place, and passes it when it goes
 * on. NULL: it cannot be watched. */
struct thread_watch;
struct thread_watch *thread_watch_open(struct target *t, pid_t tid,
				       uint64_t addr);
void thread_watch_close(struct thread_watch *w);
bool thread_watch_takes(struct thread_watch *w, const siginfo_t *info,
			bool *there);

/* ---- steps -------------------------------------------------------------- */

/* Execute one instruction of a thread, while all stand (target_hold_all). What
 * stands at a breakpoint passes it. A signal that is due to it is delivered
 * first; others wait. WAITS: the instruction is a system call that has not
 * returned after 200 ms; the thread stands within it, and goes on in it when
 * it runs. SIGNALLED: it stands, and a signal is due to it. ENDED: it has
 * exited. */
enum stepped { STEPPED, STEP_SIGNALLED, STEP_WAITS, STEP_ENDED };
int target_step(struct target *t, pid_t tid, enum stepped *how);
/* Having come by a step to where a breakpoint is, it has hit it: that one, and
 * it passes it when it goes on; NULL: there is none. */
struct breakpoint *target_meet(struct target *t, pid_t tid);
/* The instruction at which it stands calls a function: the address behind it;
 * 0: it does not. */
uint64_t target_behind_call(struct target *t, uint64_t pc);

/* A set of registers of a held thread (NT_PRSTATUS, NT_FPREGSET ... of elf.h,
 * as ptrace(2) has them): its size, or -1. */
ssize_t thread_get_regset(pid_t tid, unsigned type, void *buf, size_t size);
int thread_set_regset(pid_t tid, unsigned type, const void *buf, size_t size);

/* Start a guardian, a child of the calling thread, for all breakpoints from
 * now on; best while the process is small. -1: none, and they go unguarded.
 * It ends with the calling thread, or by guard_end when all targets are let
 * go. It has no descriptor but of the target's memory. */
int guard_start(void);
void guard_end(void);

/* How a thread is scheduled: sched_attr of linux/sched/types.h, as of 3.14.
 * size 0: nothing known. */
struct schedule {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

#define SCHEDULE_SHORT_NS	UINT64_C(100000)	/* of runtime: a slice */

/* tid 0: the calling thread. -1 with errno. */
int schedule_get(pid_t tid, struct schedule *s);
int schedule_set(pid_t tid, struct schedule s);
bool schedule_is_fair(const struct schedule *s);
/* Real-time, of the lowest priority; mostly only root may. */
int schedule_first(pid_t tid);
/* From _begin to _end the calling thread comes before others, where that is
 * permitted. Before is for _end. */
void urgent_begin(struct schedule *before);
void urgent_end(const struct schedule *before);

/* Before thread tid is scheduled otherwise: should we be killed, the guardian
 * gives it this back. 0 and NULL: it has it back. */
void guard_schedule(pid_t tid, const struct schedule *before);

#endif
