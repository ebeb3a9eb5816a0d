/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traps: breakpoints that are an instruction in the text, for where the
 * processor cannot watch (watch.c).
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
#include "breakpoint.h"

#include <errno.h>
#include <signal.h>

enum { STEP_LIMIT_MS = 1000 };

void
target_lift_traps(struct target *t)
{
	t->lifted = true;
	if (t->traps && !t->held)
		breakpoints_lift(t);
}

void
target_plant_traps(struct target *t)
{
	t->lifted = false;
	t->choose_again = t->choose_again || (t->traps && !t->held);
	breakpoints_choose_again(t);
}

/* ---- hits --------------------------------------------------------------- */

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

	if (!t || !t->traps || h->at_trap || !has_sigtrap(tid) ||
	    thread_get_regs(tid, &regs) < 0)
		return false;
	bp = breakpoint_trap_at(t, machine_pc(&regs) -
				machine_trap_advance);
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
	if (!t->traps || info->si_code <= 0 ||
	    thread_get_regs(tid, &regs) < 0)
		return NULL;
	if (h && h->at_trap) {
		h->at_trap = false;
		return breakpoint_trap_at(t, machine_pc(&regs));
	}
	bp = breakpoint_trap_at(t, machine_pc(&regs) -
				machine_trap_advance);
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

	return t->traps && thread_get_regs(tid, &regs) == 0 &&
		machine_syscall(&regs) < 0 &&
		breakpoint_trap_at(t, machine_pc(&regs) -
				   machine_trap_advance) &&
		proc_status_tid(tid, &st) == 0 &&
		st.sig_pending >> (SIGTRAP - 1) & 1;
}

int
trap_step_over(struct target *t, uint64_t addr, pid_t tid)
{
	struct user_regs_struct regs;

	if (thread_get_regs(tid, &regs) < 0)
		return -1;
	if (machine_pc(&regs) != addr)
		return 0;	/* a handler, or the user, led it elsewhere */
	if (machine_emulate(t, &regs))
		return thread_set_regs(tid, &regs);

	if (step_one(t, tid, STEP_LIMIT_MS) < 0)
		return fail_in("step over the breakpoint at %#llx",
			       (unsigned long long)addr);
	return 0;
}
