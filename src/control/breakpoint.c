/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breakpoints: each is a watch of the processor in every thread (watch.c), or,
 * where that cannot be, a trap in the text (trap.c). Which of them is chosen
 * whenever the target is to run on: signals that were free may be so no more,
 * and a moment in which they were not passes.
 *
 *              a thread cannot be watched, or a hit came late
 *	watched ------------------------------------------------> trap
 *	        <------------------------------------------------
 *	              the next time, unless it is one for good
 *
 * Who kills us with a trap in the text may kill the target. So in a process
 * that was running before we came a trap must be allowed; until then what
 * cannot be watched is off.
 *
 * Both are the same to the caller: the thread stands with its pc at the
 * address, and executes the instruction when it goes on. A thread that must
 * be stopped for other reasons just after a hit is taken back, so that it hits
 * once more when it runs: each hit is told once.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <errno.h>
#include <stdlib.h>

enum {
	CHOOSE_MS = 100,	/* the signal again, at the soonest */
	PAGE_BYTES = 4096,	/* the least there is */
};

/* ---- the list ----------------------------------------------------------- */

static void
becomes_trap(struct target *t, struct breakpoint *bp, const char *why)
{
	bp->was_watched = bp->was_watched || bp->watches.len;
	watches_fini(&bp->watches);
	t->traps -= breakpoint_is_trap(bp);
	bp->why = why;
	bp->off = bp->data || (t->no_traps && handled(HAZARD_TRAP_ALLOWED));
	t->traps += breakpoint_is_trap(bp);
}

void
breakpoint_must_trap(struct target *t, struct breakpoint *bp, const char *why)
{
	bp->due = why;
	t->choose_again = true;
}

static void
trap_those_due(struct target *t)
{
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		if (!bp->due)
			continue;
		if (!bp->why)
			becomes_trap(t, bp, bp->due);
		bp->for_good = true;
		bp->due = NULL;
	}
}

static void
free_one(struct target *t, struct breakpoint *bp)
{
	watches_fini(&bp->watches);
	t->traps -= breakpoint_is_trap(bp);
	free(bp);
}

void
breakpoints_free(struct target *t)
{
	guard_forget(t);
	while (t->breakpoints) {
		struct breakpoint *bp = t->breakpoints;

		t->breakpoints = bp->next;
		free_one(t, bp);
	}
	t->choose_again = false;
}

struct breakpoint *
breakpoint_at(const struct target *t, uint64_t addr)
{
	struct breakpoint *bp = t->breakpoints;

	while (bp && (bp->addr != addr || bp->data))
		bp = bp->next;
	return bp;
}

struct breakpoint *
breakpoint_trap_at(const struct target *t, uint64_t addr)
{
	struct breakpoint *bp = breakpoint_at(t, addr);

	return bp && breakpoint_is_trap(bp) ? bp : NULL;
}

void
breakpoints_hide(const struct target *t, uint64_t addr, unsigned char *text,
		 size_t n)
{
	for (const struct breakpoint *bp = t->breakpoints; bp; bp = bp->next)
		for (size_t i = 0; breakpoint_is_trap(bp) &&
		     i < machine_trap_size; i++)
			if (bp->addr + i - addr < n)
				text[bp->addr + i - addr] = bp->text.bytes[i];
}

/* ---- watched, or a trap ------------------------------------------------- */

void
breakpoints_arm(struct target *t, struct hold *h)
{
	if (h->armed || h->foreign)
		return;

	const int signal = watch_is_deaf(t, h) ? 0 : t->signal;

	h->armed = true;
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		const struct watched at = {
			bp->addr, bp->data, bp->reads,
			judge_unconcerned(t, bp, h->tid), NULL,
		};

		if (!bp->why && !bp->due &&
		    watches_arm(&bp->watches, &at, signal, h->tid) < 0)
			breakpoint_must_trap(t, bp, watch_refusal(errno));
	}
}

void
breakpoints_disarm(struct target *t, pid_t tid)
{
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next)
		watches_disarm(&bp->watches, tid);
}

/* It has hit the watch, and executes the instruction when it goes on. */
static bool
has_passed(const struct breakpoint *bp, const struct hold *h)
{
	struct user_regs_struct regs;

	return h->stopped && !h->group_signal &&
		thread_get_regs(h->tid, &regs) == 0 &&
		machine_pc(&regs) == bp->addr && machine_passes(&regs);
}

/* A trap does not know of that: they execute it before there is one. */
static int
pass_all(struct target *t, const struct breakpoint *bp)
{
	for (size_t i = t->pack.len; i-- > 0;)
		if (i < t->pack.len &&
		    has_passed(bp, &t->pack.items[i]) &&
		    trap_step_over(t, bp->addr, t->pack.items[i].tid) < 0)
			return -1;
	return 0;
}

/* What cannot be written, or guarded, is told now: it is written as it was. */
static int
try_trap(struct target *t, const struct breakpoint *bp)
{
	if (!breakpoint_is_trap(bp))
		return 0;
	/* a sharer would find nobody to take the trap; it would end that */
	if (target_check_alone(t) < 0)
		return -1;
	if (trap_try(t, &bp->text) < 0)
		return fail_errno("write the instruction at %#llx of "
				  "process %d", (unsigned long long)bp->addr,
				  (int)t->pid);
	return guard_watch(t, &bp->text);
}

/* With another signal all is armed anew; without one all are traps, until
 * there is one again. */
static void
choose_signal(struct target *t)
{
	const char *why;
	const int signal = watch_signal(t, &why);

	t->chosen_at = now_ns();
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		if (signal != t->signal)
			watches_fini(&bp->watches);
		if (!signal && !bp->why)
			becomes_trap(t, bp, why);
		if (signal && bp->why && !bp->for_good) {
			t->traps -= breakpoint_is_trap(bp);
			bp->why = NULL;
			bp->off = false;
		}
	}
	t->signal = signal;
	for (size_t i = 0; i < t->pack.len; i++)
		t->pack.items[i].armed = false;
}

int
breakpoints_choose(struct target *t)
{
	if (!t->breakpoints)
		return 0;
	if (t->choose_again ||
	    now_ns() - t->chosen_at > (uint64_t)CHOOSE_MS * NS_PER_MS)
		choose_signal(t);
	for (size_t i = 0; i < t->pack.len; i++)
		breakpoints_arm(t, &t->pack.items[i]);
	trap_those_due(t);
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		/* no sharer of a moment is a reason to refuse one */
		if (!breakpoint_is_trap(bp) || !bp->was_watched || t->vforks)
			continue;
		if (try_trap(t, bp) < 0 || pass_all(t, bp) < 0)
			return -1;
		bp->was_watched = false;
	}
	t->choose_again = false;
	return 0;
}

/* A watch must become a trap, which needs everybody to stand. A trap that
 * cannot be is no reason for them to go on standing. */
void
breakpoints_choose_again(struct target *t)
{
	if (!t->choose_again || t->held || target_hold_all(t) < 0)
		return;
	if (target_continue_all(t) == 0)
		return;
	breakpoints_free(t);
	(void)target_continue_all(t);
	fail_clear();
}

/* ---- made and removed --------------------------------------------------- */

static void
unlink_one(struct target *t, struct breakpoint *bp)
{
	struct breakpoint **at = &t->breakpoints;

	while (*at && *at != bp)
		at = &(*at)->next;
	*at = bp->next;
	free_one(t, bp);
	if (!t->breakpoints)
		guard_forget(t);
}

/* No further than the page: what follows may be no memory. */
static int
read_text(struct target *t, struct breakpoint *bp)
{
	const size_t left = PAGE_BYTES - bp->addr % PAGE_BYTES;

	bp->text.addr = bp->addr;
	bp->text.len = left < machine_trap_size ? machine_trap_size :
		left < TRAP_TEXT_MAX ? left : TRAP_TEXT_MAX;
	if (bp->data)
		bp->text.len = bp->data;
	return target_read(t, bp->addr, bp->text.bytes, bp->text.len);
}

static int
refuse_if_off(struct target *t, const struct breakpoint *bp)
{
	if (!bp->off)
		return 0;
	if (bp->data) {
		fail(FAIL_UNSUITABLE, "%u bytes at %#llx of %s (%d) cannot be "
		     "watched: %s", bp->data, (unsigned long long)bp->addr,
		     t->name, (int)t->pid, bp->why);
		if (!t->signal)
			return fail_remedy("data cannot be watched here: print "
					   "it at breakpoints instead");
		return fail_remedy("the processor has four registers for all "
				   "breakpoints and data: delete what you can "
				   "spare");
	}
	/* where it shares its memory -trap would not help either */
	if (target_check_alone(t) < 0)
		return -1;
	fail(FAIL_UNSUITABLE, "only a trap in the text of %s (%d) would do: "
	     "%s; were we killed, the process could end at it", t->name,
	     (int)t->pid, bp->why);
	return fail_remedy("remove what is in the way, or add -trap to take "
			   "that risk");
}

const char *
target_why_traps(struct target *t)
{
	const char *why;

	return watch_signal(t, &why) ? watch_probe(t->live_tid) : why;
}

void
target_forbid_traps(struct target *t)
{
	t->no_traps = true;
}

void
target_allow_traps(struct target *t)
{
	t->no_traps = false;
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		if (bp->data)
			continue;
		t->traps += bp->off;
		bp->off = false;
	}
}

static struct breakpoint *
insert(struct target *t, const struct watched *at)
{
	struct breakpoint *bp;

	if (!t->held) {
		fail(FAIL_GENERAL, "breakpoint at %#llx: process %d runs",
		     (unsigned long long)at->addr, (int)t->pid);
		return NULL;
	}
	bp = xcalloc(1, sizeof *bp);
	bp->addr = at->addr;
	bp->data = at->data;
	bp->reads = at->reads;
	bp->next = t->breakpoints;
	t->breakpoints = bp;
	t->choose_again = true;
	descriptors_raise();
	if (read_text(t, bp) == 0 &&
	    breakpoints_choose(t) == 0 && refuse_if_off(t, bp) == 0 &&
	    try_trap(t, bp) == 0)
		return bp;
	fail_in(at->data ? "watch" : "breakpoint");
	unlink_one(t, bp);
	return NULL;
}

struct breakpoint *
breakpoint_insert(struct target *t, uint64_t addr)
{
	if (!breakpoint_at(t, addr))
		return insert(t, &(struct watched){ .addr = addr });
	fail(FAIL_GENERAL, "there is a breakpoint at %#llx already",
	     (unsigned long long)addr);
	return NULL;
}

struct breakpoint *
breakpoint_watch(struct target *t, uint64_t addr, unsigned size, bool reads)
{
	const struct watched at = { addr, size, reads, false, NULL };

	if (size && size <= sizeof(long) && !(size & (size - 1)) &&
	    addr % size == 0)
		return insert(t, &at);
	fail(FAIL_UNSUITABLE, "%u bytes at %#llx are not watched: 1, 2, 4 or 8 "
	     "that are aligned can be", size, (unsigned long long)addr);
	return NULL;
}

static bool
is_listed(const struct target *t, const struct breakpoint *bp)
{
	const struct breakpoint *at = t->breakpoints;

	while (at && at != bp)
		at = at->next;
	return at;
}

int
breakpoint_remove(struct target *t, struct breakpoint *bp)
{
	if (!is_listed(t, bp))
		return 0;	/* forgotten at an exec or at the end */
	if (!t->held)
		return fail(FAIL_GENERAL, "remove a breakpoint: process %d "
			    "runs", (int)t->pid);
	unlink_one(t, bp);
	return 0;
}

bool
breakpoint_is_data(const struct breakpoint *bp)
{
	return bp->data;
}

uint64_t
breakpoint_address(const struct breakpoint *bp)
{
	return bp->addr;
}

const char *
breakpoint_why_trap(const struct target *t, const struct breakpoint *bp)
{
	if (!is_listed(t, bp))
		return NULL;
	return t->shared && breakpoint_is_trap(bp) ?
		"another process has the same memory" :
		bp->why ? bp->why : bp->due;
}

bool
breakpoint_is_off(const struct target *t, const struct breakpoint *bp)
{
	return is_listed(t, bp) &&
		(bp->off || (t->shared && breakpoint_is_trap(bp)));
}

bool
breakpoint_is_there(const struct target *t, const struct breakpoint *bp)
{
	return is_listed(t, bp);
}

int
breakpoint_step_over(struct target *t, struct breakpoint *bp, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);

	/* an exec took the one, or the other, while all were being stopped */
	if (t->held && (!h || !is_listed(t, bp)))
		return 0;
	if (!t->held || !h->stopped)
		return fail(FAIL_GENERAL, "step over the breakpoint at %#llx: "
			    "process %d runs", (unsigned long long)bp->addr,
			    (int)t->pid);
	return breakpoint_is_trap(bp) ? trap_step_over(t, bp->addr, tid) : 0;
}

bool
target_has_traps(const struct target *t)
{
	return t->traps;
}
