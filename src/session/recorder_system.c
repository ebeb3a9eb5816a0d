/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System time where the kernel lets us sample user mode only. Between two
 * samples of a thread lies a call that none of them shows. Nothing says that
 * the leaf of either has made it; it is charged to the callers that both
 * have, and in the place of who made it stands <Unsampled system time>:
 *
 *	first	main -> serve:10 -> parse
 *	then	main -> serve:20 -> render
 *	charged	main -> serve:20 -> <Unsampled system time>
 *
 * The frame where they part is of the same function when it was entered by
 * the same direct call, or is the thread's own function: that is called once.
 */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

/* Frames that lead to main, and to a thread's function. */
enum { TO_MAIN = 3, TO_THREAD = 2 };

struct latest_stack {
	bool complete;
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
	to->complete = from->complete;
}

/* How many frames, from the outermost on, belong to both; no leaf is one. */
static size_t
in_common(struct recorder *rec, pid_t tid, const struct latest_stack *before)
{
	const struct fresh_stack *now = &rec->fresh;
	const size_t least = before->len < now->len ? before->len : now->len;
	const size_t once = tid == target_pid(rec->opt.target) ?
		TO_MAIN : TO_THREAD;
	size_t n = 0;

	if (!before->complete || !now->complete)
		return 0;	/* where do they begin? */
	while (n + 1 < least && before->pcs[before->len - 1 - n] ==
	       now->pcs[now->len - 1 - n])
		n++;
	if (n == 0 || n + 1 >= least)
		return n;
	return n + (n <= once ||
		    unwind_call_is_direct(rec->opt.space,
					  now->pcs[now->len - n]));
}

static uint64_t
stack_between(struct recorder *rec, pid_t tid,
	      const struct latest_stack *before)
{
	const struct fresh_stack *now = &rec->fresh;
	const size_t n = in_common(rec, tid, before);
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
	static const struct latest_stack none;

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
