/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of control share: the target itself, and readings of /proc;
 * the pack of threads we have seized (pack.h); the machine (machine.h).
 */
#ifndef CONTROL_PRIVATE_H
#define CONTROL_PRIVATE_H

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base.h"
#include "control.h"
#include "machine.h"
#include "pack.h"
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

/* ---- under.c ------------------------------------------------------------ */

/* Is there another? Then th has its base. stack is th's copy, of the size that
 * it says. */
bool under_is_there(const struct target *t, struct snapshot_thread *th,
		    const unsigned char *stack);
/* While nothing of it can change; th has its size. */
void under_read(const struct target *t, struct snapshot_thread *th,
		unsigned char *copy, size_t most);
/* All of it, into memory of its own. */
/* Memory around that word, within its page: where, and how much. */
void snapshot_note_futex(struct snapshot_thread *th, uint64_t word);
void under_copy(const struct target *t, struct snapshot_thread *th,
		const unsigned char *stack, size_t max_stack);

/* ---- syscall.c ---------------------------------------------------------- */

/* What tells the call that a thread is in, open; -1: none. */
int call_open(const struct target *t, pid_t tid);

/* ---- partial.c ---------------------------------------------------------- */

/* Has this blocked call perhaps done a part of its work? */
bool call_is_partial(long nr, const uint64_t args[6]);
/* It is. -1. */
int partial_refused(pid_t tid, enum fail_kind kind);
/* Wait, bounded, until it is not: -1 with the reason. */
int partial_await(struct target *t, pid_t tid);
/* Until none of its threads is. */
int partial_await_all(struct target *t, uint64_t limit_ms);
/* For a pack that spares them: who is in the midst of one, and who is still
 * when it is about to be stopped. Both note whether it sleeps. */
void partial_mark(struct pack *p);
bool partial_spares(const struct pack *p, struct hold *h);
/* It is on a processor, or waits for one. */
bool partial_runs(const struct target *t, pid_t tid);
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
/* Seize it, unless it is seized, with these options, and give it a sentry that
 * is awake. 1: so it is; 0: there is none to be had, and it is as it was; -1:
 * refused. */
int sentry_post(struct target *t, pid_t tid, unsigned long options,
		uint64_t deadline);
/* It is not needed any more. But one that is to be let go, and was not met
 * yet, keeps its sentry. */
void sentry_dismiss(struct target *t, pid_t tid);
/* This signal was made by a sentry of ours and is for nobody else. */
bool sentry_owns_signal(const struct sentry *s, pid_t tid,
			const siginfo_t *info);
/* Wait for a thread that has a sentry. 0: it stands at a plain stop in user
 * mode, or is where any stop does no harm; -1: it runs on, with its sentry.
 * partial_ms: how long a call may last that a stop would cut short. */
int sentry_wait(struct target *t, pid_t tid, uint64_t deadline,
		unsigned partial_ms);

/* ---- meet.c ------------------------------------------------------------- */

/*
 * Before all threads are stopped: if there is only one, stop it where no call
 * of it is cut short, which is waited for, bounded. 0: it stands so, or all
 * are to be stopped as ever; -1: it is none of those that ran seized, was not
 * met and runs on.
 */
int meet_only(struct target *t);

/* ---- facts.c ------------------------------------------------------------ */

/* cpu_ns, wait_ns, switches; of an open schedstat, or -1. */
int facts_read_switches(const struct target *t, pid_t tid, int schedstat,
			struct thread_facts *f);
/* The thread's schedstat, open; -1: none. */
int facts_open_switches(const struct target *t, pid_t tid);
/* target_thread_facts of one that is blocked, with an open schedstat or -1; the
 * switches are read before sp, pc and state. -1: it runs, or has ended. */
int facts_read_blocked(const struct target *t, pid_t tid, int schedstat,
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

/* ---- sharing.c ---------------------------------------------------------- */

bool shares_memory(const struct target *t, pid_t other);

/* ---- caught.c ----------------------------------------------------------- */

/* It stands at the delivery of a signal that the holder wants to know of. */
bool signal_is_caught(struct target *t, pid_t tid);
/* Or at any of the program's: *status is its stop's, which stays as it is. */
bool signal_look(pid_t tid, int *status);
/* What waits of this one is that stop, and known. */
bool signal_is_kept(const struct hold *h, const siginfo_t *news);
/* And it was not told yet. */
bool signal_to_tell(struct target *t, const struct hold *h);
/* What it gets when it goes on. */
int signal_to_deliver(struct target *t, const struct hold *h);

/* ---- wants.c ------------------------------------------------------------ */

unsigned long wants_options(const struct target *t);
/* It is to stop at its calls. */
bool wants_calls_of(const struct target *t, const struct hold *h);
/* And is in one, of which the return is not to be missed. */
bool wants_return_of(const struct target *t, const struct hold *h);
void wants_note_birth(const struct target *t, struct hold *child, pid_t maker);
/* On its way to a plain stop: what is to be told when it runs on. From a call
 * that it is about to enter it is sent back. */
void wants_note(struct target *t, struct hold *h, const struct event *ev);
/* It runs, and has stopped for this. true: it stands, and *ev tells why. */
bool wants_take(struct target *t, struct hold *h, struct event *ev);
/* What is to be told of it is so only where it stands, in the kernel. */
bool wants_kernel(const struct hold *h);
/* What is still to be told of it. */
bool wants_tell(struct hold *h, struct event *ev);
/* It is about to get this signal: that may be the return of a call, which is
 * told at the stop that is asked for. */
void wants_deliver(const struct target *t, struct hold *h, int signal);
/* From a plain stop it goes on, and may be in a call. */
void wants_run_on(const struct target *t, struct hold *h);

/* ---- lastrites.c -------------------------------------------------------- */

/* A thread stands in its end, and ev says so. */
void rites_note(struct target *t, struct hold *h, const struct event *ev);
/* All go on. */
void rites_go_on(struct target *t);

/* ---- children.c --------------------------------------------------------- */

/* The parent stands at this event, and both shall. true: both do. */
bool child_note(struct target *t, pid_t parent, const struct event *ev);
/* What stands so is let go. */
void children_let_go(struct target *t);
void child_let_go(struct target *t, pid_t child);
/* settle.c: it stands, and has copies of our traps. */
void child_lift(struct target *t, pid_t child);

/* ---- loader.c ----------------------------------------------------------- */

/* What the kernel told the program at its start; 0: nothing of that type. */
uint64_t target_auxv(struct target *t, uint64_t type);

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
/* maps_text.c: the same text with one meaning only; takes it. */
char *maps_settle(struct target *t, char *text);
/* As its own instructions could: false where they would fault, too (but not
 * by a protection key). */
bool memory_load(struct target *t, uint64_t addr, void *buf, size_t n);
bool memory_store(struct target *t, uint64_t addr, const void *buf, size_t n);
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
/* While one thread runs and all others stand; and then breakpoints_lift. */
int breakpoints_plant_for_one(struct target *t);
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
/* It is to run on, but has touched data that is watched, or is about to get a
 * signal of which nobody was told: it stands until
 * _take_touch has told that, an event of the next target_next_event. */
bool breakpoint_touches(struct target *t, struct hold *h);
bool breakpoint_take_touch(struct target *t, struct event *ev);
/* So many bytes of text, as they are without our traps. */
void breakpoints_hide(const struct target *t, uint64_t addr,
		      unsigned char *text, size_t n);
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
/* Has it been killed alone? Another takes its place. */
void guard_look(struct target *t);
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

/* ---- late.c ------------------------------------------------------------- */

/* One that was late since then (0: it was not) runs again. */
void late_let_go(struct target *t, uint64_t since);

/* ---- target.c ----------------------------------------------------------- */

enum { IDLE_SIGNALS = 2 };	/* of watches and sentries: watch.c */

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
	struct late_stops late;		/* since target_take_late */
	size_t lates;			/* threads that are late now */
	struct breakpoint *breakpoints;
	unsigned traps;			/* how many of them are */
	struct trap_place *texts;	/* ... or were, in this image */
	size_t ntexts, texts_cap;
	int text_fd;			/* its memory; -1: no trap ever */
	bool no_traps;			/* nobody allowed them */
	int signal;			/* of their watches; 0: none is free */
	uint64_t chosen_at, look_at;
	bool choose_again;		/* before it runs on */
	bool touches;			/* some thread does (pack.h) */
	uint64_t caught;		/* signals, by their bits */
	target_judge *judge;		/* of hits; NULL */
	target_concern *concern;	/* ... and of who is to hit; NULL */
	void *judge_arg;
	enum { RITES_NONE, RITES_STAND, RITES_OVER } rites;	/* lastrites.c */
	bool more;			/* there may be news that wait */
	unsigned turns, turn;		/* whose news are next (hold.c) */
	struct target_wants wants;
	bool wants_calls;		/* some are among them */
	bool lifted;			/* no trap may be in the text now */
	unsigned execs;			/* seen so far */
	unsigned vforks;		/* traps are lifted until 0 */
	bool shared;			/* ... or until an exec: a process
					 * was born that has this memory */
	unsigned char *arena;		/* stacks are copied to */
	size_t arena_size;
	struct modules maps;		/* ... and where they may end */
	struct sweep *sweep;		/* NULL: not asked for yet */
	uint64_t maps_at;
	struct cgroup_mount cgroups[CGROUP_VERSIONS];
	bool cgroups_read;
	struct target_marks marks;
	struct {			/* of a signal of sentries */
		struct gate *gate;	/* NULL: there is none */
		bool asked, taken;	/* without one: taken by a call */
	} gates[IDLE_SIGNALS];
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
