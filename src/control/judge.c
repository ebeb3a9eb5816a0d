/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that concern nobody. Who uses the target says so while the thread that
 * has hit stands, and no other does; then it goes on behind the breakpoint,
 * which stays where it is, so that no other thread passes it meanwhile.
 */
#include "breakpoint.h"

void
target_set_judge(struct target *t, target_judge *judge, void *arg)
{
	t->judge = judge;
	t->judge_arg = arg;
}

/* A watch lets it pass; under a trap is an instruction that must be carried
 * out. false: not by us. */
static bool
get_past(struct target *t, const struct breakpoint *bp, pid_t tid,
	 struct user_regs_struct *regs)
{
	if (!breakpoint_is_trap(bp) && machine_passes(regs))
		return true;
	if (!breakpoint_is_trap(bp))
		machine_pass(regs);
	else if (!machine_emulate(t, regs))
		return false;
	return thread_set_regs(tid, regs) == 0;
}

bool
judge_passes(struct target *t, pid_t tid, struct event *ev)
{
	const struct breakpoint *bp = ev->breakpoint;
	struct user_regs_struct regs;
	struct arch_regs general;

	if (!t->judge || bp->data || thread_get_regs(tid, &regs) < 0 ||
	    machine_pc(&regs) != bp->addr)
		return false;
	arch.from_ptrace(&regs, &general);
	if (!t->judge(t->judge_arg, bp, &general, tid))
		return false;
	ev->passes = !get_past(t, bp, tid, &regs);
	return !ev->passes;
}
