/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breakpoints: trap instructions in the text.
 *
 * The rule that keeps the target alive: whoever has executed a trap of ours
 * gets its pc put back and never sees the signal, whatever we were doing at
 * that moment. So traps are taken out only when every thread stands and no
 * trap is still queued (hold.c, thread.c), and whoever stands at one simply
 * hits it again when it runs on.
 *
 * And should we be killed: traps are in the text only while the target runs,
 * never while it is held, and guard.c takes them out for us. What remains is
 * a thread that has hit a trap but has not been seen by us, or hits one
 * before the guardian has acted: the kernel then delivers its SIGTRAP
 * (exit_ptrace wakes it; get_signal, 6.18). That moment is as long as two
 * wake-ups, ours and the guardian's: some 50 us when both go first.
 *
 * One thing cannot be undone: the kernel unblocks SIGTRAP in a thread that
 * hits a trap while blocking it, and resets its handler.
 */
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRAP_SIZE_MAX = 4,
	STEP_LIMIT_MS = 1000,
	KERNEL_SIGSET_SIZE = 8,
};

struct breakpoint {
	struct breakpoint *next;
	uint64_t addr;
	unsigned char original[TRAP_SIZE_MAX];
};

static int
poke(struct target *t, uint64_t addr, const void *bytes)
{
	const pid_t tid = target_live_thread(t);

	if (tid < 0)
		return -1;
	if (memory_poke(t->proc_fd, tid, addr, bytes, machine_trap_size) < 0)
		return fail_errno("write the instruction at %#llx of "
				  "process %d", (unsigned long long)addr,
				  (int)t->pid);
	return 0;
}

/* Also called when there is no memory left: these two allocate nothing. */
void
breakpoints_lift_copy(const struct target *t, int proc_fd, pid_t tid)
{
	for (const struct breakpoint *bp = t->breakpoints; bp; bp = bp->next)
		/* it fails only where there is no such memory any more */
		(void)memory_swap(proc_fd, tid, bp->addr, machine_trap,
				  bp->original, machine_trap_size);
}

void
breakpoints_lift(struct target *t, pid_t tid)
{
	breakpoints_lift_copy(t, t->proc_fd, tid);
	guard_clear(t);
}

/* A library may have been unloaded, and another may be in its place. */
int
breakpoints_plant(struct target *t)
{
	const pid_t tid = t->breakpoints ? target_live_thread(t) : 0;

	if (tid < 0)
		return -1;
	if (t->held || t->vforks)
		return 0;
	for (const struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		if (guard_note(t, bp->addr, bp->original) < 0)
			return -1;
		(void)memory_swap(t->proc_fd, tid, bp->addr, bp->original,
				  machine_trap, machine_trap_size);
	}
	return 0;
}

void
breakpoints_free(struct target *t)
{
	guard_forget(t);
	while (t->breakpoints) {
		struct breakpoint *bp = t->breakpoints;

		t->breakpoints = bp->next;
		free(bp);
	}
}

static struct breakpoint *
find(const struct target *t, uint64_t addr)
{
	struct breakpoint *bp = t->breakpoints;

	while (bp && bp->addr != addr)
		bp = bp->next;
	return bp;
}

struct breakpoint *
breakpoint_insert(struct target *t, uint64_t addr)
{
	struct breakpoint *bp;

	if (!t->held) {
		fail(FAIL_GENERAL, "breakpoint at %#llx: process %d runs",
		     (unsigned long long)addr, (int)t->pid);
		return NULL;
	}
	if (find(t, addr)) {
		fail(FAIL_GENERAL, "there is a breakpoint at %#llx already",
		     (unsigned long long)addr);
		return NULL;
	}
	/* there nobody would take the trap; it would end that process */
	if (target_check_alone(t) < 0) {
		fail_in("breakpoint");
		return NULL;
	}
	bp = xcalloc(1, sizeof *bp);
	bp->addr = addr;
	/* written as it was: what cannot be written is told here */
	if (target_read(t, addr, bp->original, machine_trap_size) < 0 ||
	    poke(t, addr, bp->original) < 0 ||
	    (!t->breakpoints && guard_watch(t, addr, bp->original) < 0)) {
		fail_in("breakpoint");
		free(bp);
		return NULL;
	}
	bp->next = t->breakpoints;
	t->breakpoints = bp;
	return bp;
}

int
breakpoint_remove(struct target *t, struct breakpoint *bp)
{
	struct breakpoint **at = &t->breakpoints;

	while (*at && *at != bp)
		at = &(*at)->next;
	if (!*at)
		return 0;	/* forgotten at an exec or at the end */
	if (!t->held)
		return fail(FAIL_GENERAL, "remove a breakpoint: process %d "
			    "runs", (int)t->pid);
	*at = bp->next;
	free(bp);
	if (!t->breakpoints)
		guard_forget(t);
	return 0;
}

uint64_t
breakpoint_address(const struct breakpoint *bp)
{
	return bp->addr;
}

/* ---- traps -------------------------------------------------------------- */

static bool
has_sigtrap(pid_t tid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | WNOWAIT |
		      WAIT_FLAGS) == 0 &&
		info.si_pid == tid && info.si_status == SIGTRAP &&
		signal_of_stop(tid, &info) == SIGTRAP && info.si_code > 0;
}

bool
breakpoint_put_back(pid_t tid)
{
	struct hold *h = NULL;
	struct target *t = target_of_tid(tid, &h);
	struct user_regs_struct regs;
	struct breakpoint *bp;

	if (!t || !t->breakpoints || h->at_trap || !has_sigtrap(tid) ||
	    thread_get_regs(tid, &regs) < 0)
		return false;
	bp = find(t, machine_pc(&regs) - machine_trap_advance);
	if (!bp)
		return false;
	machine_set_pc(&regs, bp->addr);
	h->at_trap = thread_set_regs(tid, &regs) == 0;
	return h->at_trap;
}

struct breakpoint *
breakpoint_take_trap(struct target *t, pid_t tid, const siginfo_t *info)
{
	struct hold *h = pack_find(&t->pack, tid);
	struct user_regs_struct regs;
	struct breakpoint *bp;

	/* Sent by kill or tgkill it is the program's own affair. */
	if (!t->breakpoints || info->si_code <= 0 ||
	    thread_get_regs(tid, &regs) < 0)
		return NULL;
	if (h && h->at_trap) {
		h->at_trap = false;
		return find(t, machine_pc(&regs));
	}
	bp = find(t, machine_pc(&regs) - machine_trap_advance);
	if (!bp)
		return NULL;
	machine_set_pc(&regs, bp->addr);
	return thread_set_regs(tid, &regs) < 0 ? NULL : bp;
}

bool
breakpoint_trap_queued(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct proc_status st;

	return t->breakpoints && thread_get_regs(tid, &regs) == 0 &&
		machine_syscall(&regs) < 0 &&
		find(t, machine_pc(&regs) - machine_trap_advance) &&
		proc_status_tid(tid, &st) == 0 &&
		st.sig_pending >> (SIGTRAP - 1) & 1;
}

/* One instruction, whatever stops come in between. 0, or -1. */
static int
step(pid_t tid)
{
	const uint64_t deadline = deadline_in_ms(STEP_LIMIT_MS);

	for (int signal = 0;;) {
		struct event ev;

		if (thread_resume(tid, RUN_STEP, signal) < 0 ||
		    thread_wait(tid, STEP_LIMIT_MS * (uint64_t)NS_PER_MS,
				&ev) < 0)
			return -1;
		/* The step's own trap, or a fault of the instruction: the
		 * one is nobody's signal, the other is delivered later.
		 * SIGSTOP alone cannot be held back. */
		signal = ev.kind == EVENT_SIGNAL ? ev.signal : 0;
		if (signal && signal != SIGSTOP)
			return 0;
		if (now_ns() > deadline)
			return fail(FAIL_GENERAL, "thread %d does not step",
				    (int)tid);
	}
}

static uint64_t
signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/*
 * With signals held back, so that no handler is entered instead; but not
 * those that the instruction itself can raise: the kernel resets the handler
 * of such a signal when it finds it blocked.
 */
static int
step_alone(pid_t tid)
{
	const uint64_t held_back = ~(signal_bit(SIGSEGV) | signal_bit(SIGBUS) |
		signal_bit(SIGILL) | signal_bit(SIGFPE) | signal_bit(SIGTRAP) |
		signal_bit(SIGSYS));
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tid, KERNEL_SIGSET_SIZE, &mask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, tid, KERNEL_SIGSET_SIZE, &held_back) < 0)
		return ptrace_failed(tid, "set the signal mask");

	const int r = step(tid);

	if (ptrace(PTRACE_SETSIGMASK, tid, KERNEL_SIGSET_SIZE, &mask) < 0 &&
	    r == 0)
		return ptrace_failed(tid, "set the signal mask");
	return r;
}

int
breakpoint_step_over(struct target *t, struct breakpoint *bp, pid_t tid)
{
	struct hold *h = pack_find(&t->pack, tid);
	struct user_regs_struct regs;
	int r;

	if (!t->held || !h || !h->stopped)
		return fail(FAIL_GENERAL, "step over the breakpoint at %#llx: "
			    "process %d runs", (unsigned long long)bp->addr,
			    (int)t->pid);
	if (thread_get_regs(tid, &regs) < 0)
		return -1;
	if (machine_pc(&regs) != bp->addr)
		return 0;	/* a handler, or the user, led it elsewhere */
	if (machine_emulate(t, &regs))
		return thread_set_regs(tid, &regs);
	r = step_alone(tid);
	h = pack_find(&t->pack, tid);
	if (r < 0 || !h)
		return fail_in("step over the breakpoint at %#llx",
			       (unsigned long long)bp->addr);
	if (signal_of_stop(tid, NULL))
		return 0;
	hold_ask_through(h, 0);
	(void)hold_settle(&t->pack, tid, deadline_in_ms(STEP_LIMIT_MS));
	return 0;
}
