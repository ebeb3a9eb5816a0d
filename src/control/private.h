/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of control share: the target itself, the pack of threads
 * we have seized, and readings of /proc.
 */
#ifndef CONTROL_PRIVATE_H
#define CONTROL_PRIVATE_H

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base.h"
#include "control.h"
#include "symbol.h"

enum {
	/* Any thread, and only those that this very thread traces. */
	WAIT_FLAGS = __WALL | __WNOTHREAD,
	NS_PER_US = 1000,
	NS_PER_MS = 1000 * 1000,
	/* A thread that can stop does so within this, even on a busy machine */
	STOP_LIMIT_MS = 2000,
	/* A call that a stop would cut short is given this long to end */
	PARTIAL_LIMIT_MS = 500,
	/* ... and this where it has to be stopped at any rate */
	PARTIAL_GRACE_MS = 20,
};

static inline uint64_t
deadline_in_ms(uint64_t ms)
{
	return now_ns() + ms * NS_PER_MS;
}

/* ---- proc.c: readings of /proc ------------------------------------------ */

struct proc_status {
	char state;
	pid_t tgid, ppid, tracer;
	unsigned uid[4], gid[4];	/* real, effective, saved, file */
	int seccomp;
	int ns_depth;			/* 1: our own pid namespace */
	pid_t ns_pid;			/* as the innermost namespace says */
	uint64_t sig_pending, sig_shared, sig_blocked, sig_ignored, sig_caught;
	uint64_t cap_permitted, cap_effective;
	uint64_t switches;
};

/* Both -1 with errno, without a failure: callers know what was tried. */
int proc_status_of(int dir_fd, const char *path, struct proc_status *st);
int proc_status_tid(pid_t tid, struct proc_status *st);
/* Of a thread of a target, through its kept directory: never of a stranger
 * who got the number later. */
int proc_status_thread(const struct target *t, pid_t tid,
		       struct proc_status *st);

/* ---- stat.c: what the kernel counts -------------------------------------- */

/* 0: gone. */
char proc_thread_state(const struct target *t, pid_t tid);
/* Does a thread with this state letter still live? */
bool state_alive(char state);

/* ---- pack.c: threads seized by one tracing thread ----------------------- */

enum want {
	WANT_STOPPED,	/* held for the user, or for a snapshot */
	WANT_RUNNING,	/* seized and running: events are wanted */
	WANT_GONE,	/* let go as soon as it stops (it could not yet) */
	WANT_ASIS,	/* held alone by thread_hold: its holder waits for it */
};

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
	bool at_trap;		/* it hit one, and its pc is put back */
	bool stepping;		/* by us: the trap after it is ours */
	bool armed;		/* all watches of breakpoints are set */
	int group_signal;	/* it stands in a group stop of this signal */
	uint64_t stopped_at;
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
/* Seize every thread, stop them all, again until nobody is new. */
int pack_stop(struct pack *p);
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
/* waitpid(WNOHANG) of one tracee; a trap of ours is undone before. */
pid_t take_status(pid_t tid, int *status);
/* Wait for a status of one tracee: 1 it came, 0 the deadline, -1 it is not
 * (any more) a tracee of this thread. */
int wait_status(pid_t tid, uint64_t deadline, int *status);

/* ---- thread.c ----------------------------------------------------------- */

/* SEIZE; -1 with the true reason. */
int seize(struct target *t, pid_t tid, unsigned long options);
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
/* Repair the call of a thread that stands at a plain stop. It goes on right
 * after: what is due to it now decides. */
void hold_repair(struct target *t, const struct hold *h);
/* It stands at the delivery of this signal, which it will get: repair what the
 * program would not have seen without us. */
void hold_delivers(struct target *t, pid_t tid, const siginfo_t *si);
/* The signal that a stopped thread is about to get, 0 for all other stops. */
int signal_of_stop(pid_t tid, siginfo_t *info);
/* Record why a ptrace request failed: running, gone, or errno. -1. */
int ptrace_failed(pid_t tid, const char *what);
pid_t tracer_tid(void);

/* ---- tick.c ------------------------------------------------------------- */

/* A tick: a signal of a clock that stands while this thread sleeps. */

/* It stands at a plain stop. If ticks are due to it and no other signals, the
 * call that our stop interrupted begins again behind them. true: changed. */
bool tick_begin_again(struct target *t, pid_t tid,
		      struct user_regs_struct *regs);
/* It stands at the delivery of a signal: if that is such a tick, and the
 * thread was on its way back into a sleep, it will be. */
void tick_delivered(struct target *t, pid_t tid, const siginfo_t *si);
/* It stands at a plain stop: are some due to it, and nothing else? */
bool ticks_are_due(struct target *t, pid_t tid);
/* It has worked for us: where such clocks are, a call whose remaining time is
 * in the kernel only starts over, with all its time. */
bool tick_start_over(struct target *t, pid_t tid);
/* Learn now whether there are such clocks. */
void ticks_foresee(struct target *t);
/* It stands at a plain stop, in such a call, where such clocks are. */
bool tick_sleeps_on(struct target *t, pid_t tid);
/* Then let it run until it is in its call again. It stays seized, for a tracer
 * that is about to exit. */
void tick_accompany(struct pack *p, pid_t tid);

/* ---- transfer.c --------------------------------------------------------- */

/* It stands at the end of a call that moved a part of what was asked for, and
 * may have been cut short by this stop. */
bool transfer_was_cut(struct target *t, pid_t tid,
		      const struct user_regs_struct *regs);

/* A program that asked not to wait expects a part. */
bool descriptor_waits(struct target *t, pid_t tid, int fd);

/* ---- syscall.c ---------------------------------------------------------- */

/* What tells the call that a thread is in, open; -1: none. */
int call_open(const struct target *t, pid_t tid);

/* ---- partial.c ---------------------------------------------------------- */

/* Has this blocked call perhaps done a part of its work? */
bool call_is_partial(long nr, const uint64_t args[6]);
/* Wait, bounded, until it is not: -1 with the reason. */
int partial_await(struct target *t, pid_t tid);
/* Until none of its threads is. */
int partial_await_all(struct target *t, uint64_t limit_ms);
/* For a pack that spares them: who is in the midst of one, and who is still
 * when it is about to be stopped. */
void partial_mark(struct pack *p);
bool partial_spares(const struct pack *p, const struct hold *h);
/* It was stopped after all, and the call's answer is `done`: did it do less
 * than it would have? */
bool partial_was_cut(struct target *t, pid_t tid, long nr,
		     const uint64_t args[6], int64_t done);

/* Nobody can wait for it in user mode: look a while whether it makes such
 * calls. -1 with the reason. */
int partial_look_long(struct target *t, pid_t tid);
enum call_where { CALL_NONE, CALL_PARTIAL, CALL_SEES_EINTR,
		  CALL_BEGINS_AGAIN };
/* What a thread is blocked in, and where it will come back to. */
enum call_where call_where(struct target *t, pid_t tid, uint64_t *pc);

/* ---- sentry.c ----------------------------------------------------------- */

void sentry_free(struct sentry *s);
/* This signal was made by a sentry of ours and is for nobody else. */
bool sentry_owns_signal(const struct sentry *s, pid_t tid,
			const siginfo_t *info);
/* Wait for a thread that has a sentry. 0: it stands at a plain stop in user
 * mode, or is where any stop does no harm; -1: it runs on, with its sentry.
 * partial_ms: how long a call may last that a stop would cut short. */
int sentry_wait(struct target *t, pid_t tid, uint64_t deadline,
		unsigned partial_ms);

/* ---- facts.c ------------------------------------------------------------ */

/* cpu_ns, wait_ns, switches; of an open schedstat, or -1. */
int facts_read_switches(const struct target *t, pid_t tid, int schedstat,
			struct thread_facts *f);
/* The thread's schedstat, open; -1: none. */
int facts_open_switches(const struct target *t, pid_t tid);
/* target_thread_facts with an open schedstat, or -1. */
int facts_read(const struct target *t, pid_t tid, int schedstat,
	       struct thread_facts *f);

/* ---- snapshot_copy.c ---------------------------------------------------- */

/* Room for that many bytes at t->arena: kept from copy to copy, so that its
 * pages are there already. Each copy overwrites the one before. */
bool target_arena(struct target *t, size_t need);

/* ---- program.c ---------------------------------------------------------- */

/* What the program file says of itself. */
struct program {
	bool known;		/* it could be read and is ELF */
	bool is_64, is_native;
	bool is_static;		/* no interpreter: nothing can be loaded */
	bool is_go;
	char interpreter[128];
};

void program_read(struct target *t, struct program *p);

/* ---- memory.c, attach.c, breakpoint.c, trap.c --------------------------- */

/* The text where a trap is to be, as it was, and what follows it. */
enum { TRAP_TEXT_MAX = 16 };
struct trap_text {
	uint64_t addr;
	size_t len;
	unsigned char bytes[TRAP_TEXT_MAX];
};
enum trap_way { TRAP_OUT, TRAP_IN, TRAP_TRY };

/* Take a trap out, or put one in, or write what is there; by a descriptor of
 * the memory. Only in that very text: another may be in its place. */
int trap_swap(int mem, const struct trap_text *text, enum trap_way way);
/* A place that holds a trap, or has once: then it is looked at in the end. */
struct trap_place {
	struct trap_text text;
	bool in;
};

/* Writes also where the page is read-only. -1 with errno. */
int memory_poke(int proc_fd, pid_t tid, uint64_t addr, const void *buf,
		size_t n);
/* For reading and writing; a descriptor, or -1. */
int memory_open(int proc_fd, pid_t tid);
/* target_read, but that -1 comes with errno and is no failure. EIO: there is
 * no such memory. */
int memory_look(struct target *t, uint64_t addr, void *buf, size_t n);
/* Why may we not? Records the failure for a request that got `error`. -1. */
int attach_explain(struct target *t, int error);
/* kernel.yama.ptrace_scope, -1 where there is none. */
int attach_yama(void);
/* Not dumpable, and so root's to look at. */
bool attach_is_private(const struct target *t, const struct proc_status *st);
/* Who traces any thread of it, 0 nobody. */
pid_t attach_tracer(struct target *t);
/* A process whose number inside a container is pid, or 0. */
pid_t attach_outer_pid(pid_t pid);

/* Who is watched, and where there must be traps: before the target runs on,
 * while all of it is held. */
int breakpoints_choose(struct target *t);
/* Where choose_again is set: hold it, and let it run on. */
void breakpoints_choose_again(struct target *t);
/* A thread that we have seized, and what we do not trace any more. Where it
 * cannot be watched choose_again is set. */
void breakpoints_arm(struct target *t, struct hold *h);
void breakpoints_disarm(struct target *t, pid_t tid);
/* All traps' original bytes into the text; they stay in the list. The rule:
 * traps are in it only while the target runs, seized, without a vforked
 * child. */
void breakpoints_lift(struct target *t);
/* The same for a forked copy, whose thread stands; proc_fd -1: unknown. */
void breakpoints_lift_copy(const struct target *t, int proc_fd, pid_t tid);
/* Can one be written here? -1 with errno. Before the first is planted. */
int trap_try(struct target *t, const struct trap_text *text);
/* Another image, or none: where there were traps is no concern any more. */
void traps_forget(struct target *t);
/* And the traps again, when the rule allows. */
int breakpoints_plant(struct target *t);
/* Forget them; the text is not touched. */
void breakpoints_free(struct target *t);
/* If the news of a tracee is a trap of ours, put its pc back. Before the news
 * is taken: then the kernel forgets the signal (wait_task_stopped, 6.18), and
 * the thread would go on behind the trap if we were killed. */
bool breakpoint_put_back(pid_t tid);
/* The thread is about to get this SIGTRAP: is it a trap of ours, and not for
 * it? Its pc is put back. The breakpoint, or NULL. */
struct breakpoint *breakpoint_take_trap(struct target *t, pid_t tid,
					const siginfo_t *info);
/* The same for any signal and a hit of a watch; it passes when it goes on. */
struct breakpoint *breakpoint_take_watch(struct target *t, pid_t tid,
					 const siginfo_t *info);
/* It stands at a watch that it has hit, and nobody was told: when it runs it
 * hits it once more. */
void breakpoint_take_back(struct target *t, pid_t tid);
/* This signal was made by a watch of ours and is for nobody else. */
bool breakpoint_owns_signal(pid_t tid, const siginfo_t *info);
/* It stands at a plain stop while the signal of a hit is still queued: take
 * that. */
bool breakpoint_signal_queued(struct target *t, pid_t tid);
bool breakpoint_trap_queued(struct target *t, pid_t tid);
/* Now and then, by itself: a hit of a watch that stopped nobody. */
bool breakpoint_take_missed(struct target *t, struct event *ev);

/* ---- guard.c: should this process be killed ------------------------------ */

/* Without a guardian all of these do nothing, and well. */

/* Before the first trap of a target, and the first after an exec; its text
 * there is as given. */
int guard_watch(struct target *t, const struct trap_text *text);
/* This trap is about to be planted. */
int guard_note(const struct target *t, const struct trap_text *text);
/* No trap is in the text any more. */
void guard_clear(const struct target *t);
/* Nor will one be. */
void guard_forget(const struct target *t);

/* ---- reasons.c ---------------------------------------------------------- */

/* What is known when the kernel has refused: facts only. */
enum refused { REFUSED_LOOK, REFUSED_TRACE };
struct refusal {
	enum refused what;
	pid_t pid;
	struct proc_status them, us;
	int yama;			/* -1: no such module */
	pid_t tracer;			/* 0: none */
	char tracer_name[16];
	bool is_private;		/* not dumpable */
	bool same_namespace;		/* of users */
	bool we_are_outside;		/* in the first one of all */
};
/* The caller frees the texts. */
struct reason {
	enum fail_kind kind;
	char *why, *remedy;
};
struct reason refusal_reason(const struct refusal *r);

/* ---- cgroup.c ----------------------------------------------------------- */

enum cgroup_version { CGROUP_UNIFIED, CGROUP_FREEZER, CGROUP_PIDS,
		      CGROUP_VERSIONS };
struct cgroup_mount {
	char *root, *mount;		/* NULL: we see none */
};

/* Of one thread: under version 1 each has its own group. */
int cgroup_check_frozen(struct target *t, pid_t tid);
void cgroups_fini(struct target *t);

/* ---- machine_*.c: what ptrace shows of this machine --------------------- */

uint64_t machine_pc(const struct user_regs_struct *regs);
void machine_set_pc(struct user_regs_struct *regs, uint64_t pc);
uint64_t machine_sp(const struct user_regs_struct *regs);
/* The number of the system call the thread is in, -1: none. */
long machine_syscall(const struct user_regs_struct *regs);
/* That call was cut short by our stop, and the kernel would say EINTR where
 * it would not have without us. fd_arg: the call's first argument. */
enum interrupted { INTERRUPTED_NO, INTERRUPTED_YES, INTERRUPTED_IF_SOCKET };
enum interrupted machine_interrupted(const struct user_regs_struct *regs);
int machine_first_argument(const struct user_regs_struct *regs);
/* The same as an address. */
uint64_t machine_first_word(const struct user_regs_struct *regs);
/* A call that moved bytes and has just ended: between fd and memory, how many
 * were asked for and got. asked 0: it is none. */
struct transfer {
	int fd;
	uint64_t asked;
	int64_t got;
};
struct transfer machine_transfer(const struct user_regs_struct *regs);
/* All six arguments, and what the call has answered. */
int64_t machine_call(const struct user_regs_struct *regs, uint64_t args[6]);
/* Does that call end by itself some time after it began? */
bool machine_has_time_limit(const struct user_regs_struct *regs);
/* Make the kernel restart it unless a handler runs first. */
void machine_restart(struct user_regs_struct *regs);
/* The number of the call that the kernel is about to restart, or to end with
 * EINTR if a handler runs; -1: none. */
long machine_restarts(const struct user_regs_struct *regs);
/* Make the kernel begin that call again as call nr, behind any handler. */
void machine_begin_again(struct user_regs_struct *regs, long nr);
/* Its time limit, or what remains of it, is in the kernel only. */
bool machine_sleeps_on(const struct user_regs_struct *regs);
/* At a signal's delivery: is the thread about to enter restart_syscall? The
 * address behind that call, or 0. */
uint64_t machine_goes_on_at(struct target *t,
			    const struct user_regs_struct *regs);
/* A handler that runs first makes it EINTR; else it is begun as call nr. */
void machine_start_over(struct user_regs_struct *regs, long nr);
/* It enters call nr in place of restart_syscall. */
void machine_go_to_call(struct user_regs_struct *regs, long nr);
/* The number of restart_syscall. */
extern const long machine_restart_call;
/* Carry out the instruction that a standing thread is at, on its registers
 * and stack. false: nothing was done, it must be stepped. */
bool machine_emulate(struct target *t, struct user_regs_struct *regs);
extern const unsigned char machine_trap[];
extern const size_t machine_trap_size;
/* How far behind the trap instruction the pc stands after it. */
extern const size_t machine_trap_advance;
/* perf's breakpoints work here as watch.c says. */
extern const bool machine_can_watch;
/* The instruction at pc is executed even where there is a watch. */
bool machine_passes(const struct user_regs_struct *regs);
/* And no more. */
void machine_meet_again(struct user_regs_struct *regs);

/* ---- target.c ----------------------------------------------------------- */

struct target {
	struct target *next;		/* of all targets, for the last hook */
	pid_t pid;
	char name[16];
	int pidfd, proc_fd;
	uint64_t start_time;
	pid_t live_tid;			/* the last thread seen alive */
	uint64_t live_seen_ns;
	bool asked_all;			/* no stranger shares its memory */
	bool gone;
	int status;			/* wait status, -1 unknown */
	char how[80];
	struct pack pack;		/* seized by the tracer's main thread */
	bool held;			/* target_hold_all is in force */
	bool stand_at_exec;		/* wait for the holder there */
	uint64_t pause_ns;
	struct breakpoint *breakpoints;
	unsigned traps;			/* how many of them are */
	struct trap_place *texts;	/* ... or were, in this image */
	size_t ntexts, texts_cap;
	int text_fd;			/* its memory; -1: no trap ever */
	bool no_traps;			/* nobody allowed them */
	int signal;			/* of their watches; 0: none is free */
	uint64_t chosen_at, look_at;
	bool choose_again;		/* before it runs on */
	bool lifted;			/* no trap may be in the text now */
	unsigned vforks;		/* traps are lifted until 0 */
	unsigned char *arena;		/* stacks are copied to */
	size_t arena_size;
	struct modules maps;		/* ... and where they may end */
	uint64_t maps_at;
	struct cgroup_mount cgroups[CGROUP_VERSIONS];
	bool cgroups_read;
	struct target_marks marks;
	bool may_tick;			/* clocks of CPU time were seen */
	uint64_t ticks_at;		/* ... then */
};

/* Wait until it is not in state D, or frozen. -1 with the reason. */
int await_stoppable(struct target *t, pid_t tid, uint64_t deadline);
/* The target of which this process seized tid; NULL none. */
struct target *target_of_tid(pid_t tid, struct hold **h);
/* Its image was replaced. */
void target_note_exec(struct target *t);

#endif
