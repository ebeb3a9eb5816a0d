/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System time where the kernel lets us sample user mode only. Between two
 * samples of a thread lies a call that none of them shows. What both have on
 * their stacks need not have been there all the time between: a loop may have
 * left it and come again. Only main, or the thread's own function, and what has
 * called it are entered once. So it is charged to these, and in the place of
 * what made the call stands <Unsampled system time>.
 */
#include "recorder.h"

#include <stdlib.h>

/* Frames that lead to main, and to a thread's function. */
enum { TO_MAIN = 3, TO_THREAD = 2, OUTER_MAX = TO_MAIN + 1 };

struct outer_frames {		/* of a whole stack, outermost first */
	size_t len;
	uint64_t pcs[OUTER_MAX];
};

static struct outer_frames
outer_of(const struct fresh_stack *stack)
{
	struct outer_frames o = {0};

	if (stack->end != UNWIND_COMPLETE)
		return o;	/* where does it begin? */
	while (o.len < OUTER_MAX && o.len < stack->len) {
		o.pcs[o.len] = stack->pcs[stack->len - 1 - o.len];
		o.len++;
	}
	return o;
}

/* How many of its frames are there all the time. */
static size_t
lasting(const struct outer_frames *before, const struct outer_frames *now,
	size_t once)
{
	size_t n = 0;

	while (n < once && n < before->len && n < now->len &&
	       before->pcs[n] == now->pcs[n])
		n++;
	return n + (n > 0 && n < now->len);	/* the function itself */
}

static uint64_t
stack_between(struct recorder *rec, pid_t tid,
	      const struct outer_frames *before,
	      const struct outer_frames *now)
{
	const size_t n = lasting(before, now, tid ==
				 target_pid(rec->opt.target) ? TO_MAIN :
				 TO_THREAD);
	uint64_t pcs[1 + OUTER_MAX];

	pcs[0] = experiment_artificial_pc(rec->opt.exp,
					  "<Unsampled system time>");
	for (size_t i = 0; i < n; i++)
		pcs[1 + i] = now->pcs[n - 1 - i];
	return experiment_stack(rec->opt.exp, pcs, n + 1, STACK_COMPLETE);
}

void
recorder_system_between(struct recorder *rec, uint64_t time_ns, pid_t tid,
			uint64_t ns)
{
	uint64_t *slot = map_slot_of(&rec->latest, (uint64_t)tid);
	const struct outer_frames now = outer_of(&rec->fresh);
	struct outer_frames *before;

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof *before);
	before = (struct outer_frames *)(uintptr_t)*slot;
	if (ns)
		recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, ns,
			      stack_between(rec, tid, before, &now));
	*before = now;
}

void
recorder_system_behind(struct recorder *rec, uint64_t time_ns, pid_t tid,
		       uint64_t ns)
{
	const struct outer_frames none = {0};

	if (ns)
		recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, ns,
			      stack_between(rec, tid, &none, &none));
}

void
recorder_forget_latest(struct recorder *rec, pid_t tid)
{
	uint64_t at;

	if (map_take(&rec->latest, (uint64_t)tid, &at))
		free((void *)(uintptr_t)at);
}
