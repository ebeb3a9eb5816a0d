/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread executes a function that whoever debugs the program has asked for:
 * alone, while all others stand, or among them.
 *
 *	stands --- thread_run_alone ---> a system call, a signal, a breakpoint
 *	   ^  \                          |
 *	   |   continue_all ---> runs ---+--> at its return, or with a fault
 *	   +------ the time is over, or nobody wants it any more
 *
 * It comes back by the system call that its return leads to (inject knows
 * which), so it is let run from call to call. A fault of the function is no
 * signal of the program's: it is told, and never delivered.
 */
#include "breakpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { SLICE_MS = 20 };

void
thread_calls(struct target *t, pid_t tid, const struct thread_errand *errand)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (h)
		h->errand = errand ? *errand : (struct thread_errand){ 0 };
}

void
thread_stays(struct target *t, pid_t tid)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!h || !h->stopped)
		return;
	h->want = WANT_STOPPED;
	h->suspended = true;
}

bool
thread_is_back(struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);
	struct user_regs_struct regs;

	return h && h->errand.behind && h->stopped &&
		thread_get_regs(tid, &regs) == 0 &&
		machine_syscall(&regs) >= 0 &&
		machine_pc(&regs) == h->errand.behind &&
		machine_sp(&regs) == h->errand.sp;
}

/* The kernel raised it for what the thread did; nobody can send such a one. Or
 * abort(3), which unblocks what it sends to itself. */
bool
signal_is_fault(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGSYS:
	case SIGTRAP:
		return info->si_code > 0;
	case SIGABRT:
		return info->si_code == SI_TKILL;
	default:
		return false;
	}
}

bool
thread_raised(pid_t tid, const siginfo_t *info)
{
	struct user_regs_struct regs;
	long nr;

	switch (info->si_signo) {
	case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGSYS:
	case SIGTRAP:
		if (info->si_code != SI_TKILL ||
		    thread_get_regs(tid, &regs) < 0)
			return false;
		nr = machine_syscall(&regs);
		return nr == SYS_tgkill || nr == SYS_tkill;
	default:
		return false;
	}
}

int
target_watch_signal(struct target *t)
{
	const char *why;

	return t->signal ? t->signal : watch_signal(t, &why);
}

/* ---- threads that the caller has made ------------------------------------ */

int
thread_enlist(struct target *t, pid_t tid, enum enlist how)
{
	struct hold *h = pack_add(&t->pack, tid, WANT_STOPPED);

	h->stopped = how == ENLIST_STANDS;
	h->suspended = how == ENLIST_STAYS;
	hold_ask_through(h, 0);
	if (hold_settle(&t->pack, tid, deadline_in_ms(STOP_LIMIT_MS)) != 1)
		return fail(FAIL_GENERAL, "thread %d did not stop", (int)tid);
	if (ptrace(PTRACE_SETOPTIONS, tid, 0, t->pack.options) < 0)
		return ptrace_failed(tid, "set the trace options");
	breakpoints_arm(t, pack_find(&t->pack, tid));
	return 0;
}

bool
thread_discharge(struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);
	const bool stands = h && h->stopped;

	if (stands)
		pack_drop(&t->pack, tid);
	return stands;
}

bool
target_knows(const struct target *t, pid_t tid)
{
	return pack_find(&t->pack, tid);
}

/* ---- a place of its own that it is not to come to ------------------------ */

struct thread_watch {
	struct watches watches;
	uint64_t addr;
	pid_t tid;
};

struct thread_watch *
thread_watch_open(struct target *t, pid_t tid, uint64_t addr)
{
	struct thread_watch *w = xcalloc(1, sizeof *w);
	const int signal = target_watch_signal(t);

	w->addr = addr;
	w->tid = tid;
	if (addr && signal && !breakpoint_at(t, addr) &&
	    watches_arm(&w->watches, &(struct watched){ .addr = addr },
			signal, tid) == 0 &&
	    w->watches.len)
		return w;
	thread_watch_close(w);
	return NULL;
}

void
thread_watch_close(struct thread_watch *w)
{
	if (!w)
		return;
	watches_fini(&w->watches);
	free(w);
}

bool
thread_watch_takes(struct thread_watch *w, const siginfo_t *info, bool *there)
{
	struct watch *one = w ? watches_find(&w->watches, w->tid) : NULL;
	struct user_regs_struct regs;

	if (!one || info->si_fd != one->fd || info->si_code < POLL_IN ||
	    info->si_code > POLL_HUP)
		return false;
	one->seen += watch_hits(one);
	*there = thread_get_regs(w->tid, &regs) == 0 &&
		machine_pc(&regs) == w->addr;
	return true;
}

/* To a plain stop, from a hit that it passes when it goes on. */
static int
stand(struct target *t, struct held *h)
{
	struct hold *known = pack_find(&t->pack, h->tid);

	hold_ask_through(known, 0);
	h->stopped = hold_settle(&t->pack, h->tid,
				 deadline_in_ms(STOP_LIMIT_MS)) == 1;
	return h->stopped ? 0 : fail(FAIL_GENERAL, "thread %d did not stop "
				     "again", (int)h->tid);
}

/* 1: the caller's affair; 0: let it go on; -1. */
static int
take(struct target *t, struct held *h, struct event *ev, siginfo_t *info)
{
	switch (ev->kind) {
	case EVENT_CLONE:
	case EVENT_FORK:
		pack_note_birth(&t->pack, ev, WANT_STOPPED);
		return 0;
	case EVENT_EXEC:
		pack_note_exec(&t->pack, ev);
		return 1;
	case EVENT_SIGNAL:
		ev->signal = signal_of_stop(h->tid, info);
		ev->breakpoint = ev->signal == SIGTRAP ?
			breakpoint_take_trap(t, h->tid, info) :
			breakpoint_take_watch(t, h->tid, info);
		if (ev->breakpoint) {
			ev->kind = EVENT_BREAKPOINT;
			return stand(t, h) < 0 ? -1 : 1;
		}
		return ev->signal != 0;
	case EVENT_SYSCALL:
	case EVENT_STOPPED:
	case EVENT_GROUP_STOP:
		return 1;
	default:
		return 0;
	}
}

static bool
is_over(const struct alone_limit *limit)
{
	return now_ns() >= limit->deadline ||
		(limit->cancelled && limit->cancelled(limit->arg));
}

/* Others may end, with their process. */
static void
note_ends(struct target *t)
{
	struct event ev;

	while (target_next_event(t, &ev))
		;
}

/* For so long it is waited for before the limit is looked at again. */
static uint64_t
slice(bool asked, const struct alone_limit *limit)
{
	const uint64_t most = SLICE_MS * (uint64_t)NS_PER_MS, now = now_ns();
	const uint64_t left = limit->deadline > now ? limit->deadline - now : 0;

	return !asked && left < most ? left : most;
}

/* 1: an event; 0: none by the deadline, though it was asked to stop; -1. */
static int
await(struct target *t, pid_t tid, bool asked, const struct alone_limit *limit,
      struct event *ev)
{
	uint64_t deadline = asked ? deadline_in_ms(STOP_LIMIT_MS) :
		limit->deadline;

	for (;;) {
		if (thread_wait(tid, slice(asked, limit), ev) == 0)
			return 1;
		if (ev->kind != EVENT_NONE)
			return -1;
		note_ends(t);
		if (asked && now_ns() > deadline)
			return 0;
		if (asked || !is_over(limit))
			continue;
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		asked = true;
		deadline = deadline_in_ms(STOP_LIMIT_MS);
	}
}

/*
 * A call that is interrupted stops at its end first, and that takes the request
 * for a plain stop back: it is asked for again, and nothing of the program is
 * executed before it.
 */
static int
run_alone(struct target *t, struct held *h, const struct alone_limit *limit,
	  struct event *ev, siginfo_t *info)
{
	int r = 0;

	while (r == 0) {
		const bool over = is_over(limit);

		if (over)
			(void)ptrace(PTRACE_INTERRUPT, h->tid, 0, 0);
		ev->kind = EVENT_NONE;
		if (thread_resume(h->tid, over ? RUN_FREE : RUN_TO_SYSCALL,
				  h->deliver) < 0)
			return -1;
		h->deliver = 0;
		h->stopped = false;
		r = await(t, h->tid, over, limit, ev);
		if (r == 0)
			return fail(FAIL_GENERAL, "thread %d did not stop",
				    (int)h->tid);
		if (r < 0)
			return -1;
		h->stopped = true;
		r = take(t, h, ev, info);
	}
	return r < 0 ? -1 : 0;
}

int
thread_run_alone(struct target *t, struct held *h,
		 const struct alone_limit *limit, struct event *ev,
		 siginfo_t *info)
{
	int r;

	ev->kind = EVENT_NONE;
	if (breakpoints_plant_for_one(t) < 0)
		return -1;
	r = run_alone(t, h, limit, ev, info);
	breakpoints_lift(t);
	return r;
}
