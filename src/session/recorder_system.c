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
#include <string.h>

/* Frames that lead to main, and to a thread's function. */
enum { TO_MAIN = 3, TO_THREAD = 2 };

struct latest_stack {
	enum stack_end end;
	size_t len, cap;
	uint64_t *pcs;
};

static struct latest_stack *
latest_of(struct recorder *rec, pid_t tid)
{
	uint64_t *slot = map_slot_of(&rec->latest, (uint64_t)tid);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct latest_stack));
	return (struct latest_stack *)(uintptr_t)*slot;
}

static void
keep(struct latest_stack *to, const struct fresh_stack *from)
{
	to->pcs = xgrow(to->pcs, &to->cap, from->len, sizeof *to->pcs);
	if (from->len)
		memcpy(to->pcs, from->pcs, from->len * sizeof *to->pcs);
	to->len = from->len;
	to->end = from->end;
}

/* How many frames, from the outermost on, are there all the time. */
static size_t
lasting(struct recorder *rec, pid_t tid, const struct latest_stack *before)
{
	const struct fresh_stack *now = &rec->fresh;
	const size_t least = before->len < now->len ? before->len : now->len;
	const size_t once = tid == target_pid(rec->opt.target) ?
		TO_MAIN : TO_THREAD;
	size_t n = 0;

	if (before->end != STACK_COMPLETE || now->end != STACK_COMPLETE)
		return 0;	/* where do they begin? */
	while (n < once && n < least && before->pcs[before->len - 1 - n] ==
	       now->pcs[now->len - 1 - n])
		n++;
	return n + (n > 0 && n < least);	/* the function itself */
}

static uint64_t
stack_between(struct recorder *rec, pid_t tid,
	      const struct latest_stack *before)
{
	const struct fresh_stack *now = &rec->fresh;
	const size_t n = lasting(rec, tid, before);
	uint64_t *pcs = xmalloc((n + 1) * sizeof *pcs), frinfo;

	pcs[0] = experiment_artificial_pc(rec->opt.exp,
					  "<Unsampled system time>");
	if (n)
		memcpy(pcs + 1, now->pcs + now->len - n, n * sizeof *pcs);
	frinfo = experiment_stack(rec->opt.exp, pcs, n + 1, STACK_COMPLETE);
	free(pcs);
	return frinfo;
}

void
recorder_system_between(struct recorder *rec, uint64_t time_ns, pid_t tid,
			uint64_t ns)
{
	struct latest_stack *before = latest_of(rec, tid);

	if (ns)
		recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, ns,
			      stack_between(rec, tid, before));
	keep(before, &rec->fresh);
}

void
recorder_system_behind(struct recorder *rec, uint64_t time_ns, pid_t tid,
		       uint64_t ns)
{
	const struct latest_stack none = { .end = STACK_FAILED };

	if (ns)
		recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, ns,
			      stack_between(rec, tid, &none));
}

static void
free_latest(struct latest_stack *latest)
{
	free(latest->pcs);
	free(latest);
}

void
recorder_forget_latest(struct recorder *rec, pid_t tid)
{
	uint64_t at;

	if (map_get(&rec->latest, (uint64_t)tid, &at)) {
		free_latest((struct latest_stack *)(uintptr_t)at);
		map_remove(&rec->latest, (uint64_t)tid);
	}
}

void
recorder_forget_all_latest(struct recorder *rec)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&rec->latest, &i, &tid, &at))
		free_latest((struct latest_stack *)(uintptr_t)at);
	map_fini(&rec->latest);
}
