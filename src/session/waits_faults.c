/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of page faults in what a thread was blocked.
 */
#include "waits.h"

static bool
is_fault(enum mstate state)
{
	return state == MSTATE_TEXT_FAULT || state == MSTATE_DATA_FAULT;
}

/*
 * Waits for a disk take microseconds, and while they last there may be no
 * processor for us to look (a virtual machine's disk is at work on it). So
 * page faults are counted, too: where nearly each turn was due to one, all
 * that was blocked was theirs; else what they take, as it was seen then.
 */
static uint64_t
part_of_faults(struct waiter *th, uint64_t fresh, uint64_t faults,
	       uint64_t turns)
{
	if (!faults || faults > turns)
		return 0;
	if (faults * 10 >= turns * 9) {
		th->fault_ns = fresh / faults;
		return fresh;
	}

	const uint64_t part = fresh / turns * faults;

	return th->fault_ns && th->fault_ns * faults < part ?
		th->fault_ns * faults : part;
}

uint64_t
account_faults(struct accounts *a, struct waiter *th, uint64_t now,
	       uint64_t fresh, const struct task_turns *t,
	       const struct look *look)
{
	/* what it is blocked in now began after the last look */
	const uint64_t most = now - th->looked_at;
	const uint64_t own = (fresh < most ? fresh : most) / 2;
	const uint64_t part = th->known && !is_fault(look->state) ?
		part_of_faults(th, fresh - own, look->faults - th->faults,
			       t->switches - th->fault_turns) : 0;

	th->faults = look->faults;
	th->fault_turns = t->switches;
	th->blocked_ns += part;
	if (is_fault(th->state))
		held_add(a, th, now, th->state, part, th->frinfo);
	else
		held_add(a, th, now, MSTATE_DATA_FAULT, part, th->run_frinfo);
	return part;
}
