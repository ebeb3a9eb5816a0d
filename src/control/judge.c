/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that concern nobody. Who uses the target says so while the thread that
 * has hit stands, and no other does; then it goes on behind the breakpoint,
 * which stays where it is, so that no other thread passes it meanwhile.
 *
 * A place that a function returns to can be one that all the program comes
 * through, the loop of an interpreter: a stop each time would be most of its
 * time. So it is also asked which threads can make a hit of any concern, and
 * the watches of the others rest. A trap in the text is there for all.
 */
#include "breakpoint.h"

#include <errno.h>

void
target_set_judge(struct target *t, target_judge *judge,
		 target_concern *concern, void *arg)
{
	t->judge = judge;
	t->concern = concern;
	t->judge_arg = arg;
}

bool
judge_unconcerned(const struct target *t, const struct breakpoint *bp,
		  pid_t tid)
{
	return !bp->data && t->concern && !t->concern(t->judge_arg, bp, tid);
}

/* What cannot be armed again is a trap, when the target is to run on. */
static void
ask_one(struct target *t, struct breakpoint *bp, struct watch *w)
{
	const bool rests = judge_unconcerned(t, bp, w->tid);

	if (watch_rest(w, rests) < 0 && !rests && errno != ESRCH)
		breakpoint_must_trap(t, bp, watch_refusal(errno));
}

void
target_ask_concern(struct target *t, struct breakpoint *bp, pid_t tid)
{
	struct watch *one;

	if (!breakpoint_is_there(t, bp))
		return;
	one = tid ? watches_find(&bp->watches, tid) : NULL;
	if (one)
		ask_one(t, bp, one);
	for (size_t i = 0; !tid && i < bp->watches.len; i++)
		ask_one(t, bp, &bp->watches.items[i]);
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
