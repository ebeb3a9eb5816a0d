/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All threads of a target at once, for `stop`, breakpoints and events.
 *
 *              hold_all                continue_all
 *   untouched ----------> held: stand ------------> running, seized
 *       ^                    |    ^                    |   |
 *       +-- release_all -----+    +------ hold_all ----+   | next_event
 *       +------------------------ release_all (stops first)
 *
 * While seized, a thread stops at every signal, clone and exec, and runs on
 * only when target_next_event has seen it. Nobody is kept seized without a
 * reason.
 */
#include "breakpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

enum {
	STOP_OPTIONS = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC,
	/* Copies of the text hold copies of our traps. */
	TRAP_OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACEVFORKDONE,
};

static unsigned long
options(const struct target *t)
{
	return STOP_OPTIONS | (t->traps || t->wants.follow ? TRAP_OPTIONS : 0) |
		wants_options(t);
}

/* Those that stand first: nobody waits for one that is late. */
static void
let_go_stopped(struct pack *p)
{
	for (size_t i = p->len; i-- > 0;)
		if (i < p->len && p->items[i].stopped &&
		    p->items[i].want != WANT_ASIS)
			(void)hold_let_go(p, p->items[i].tid);
}

static void
let_go_rest(struct pack *p)
{
	for (size_t i = p->len; i-- > 0;)
		if (i < p->len && p->items[i].want != WANT_ASIS)
			(void)hold_let_go(p, p->items[i].tid);
}

/*
 * Who has hit a trap, too, is soon to be stopped and would be seen then; but
 * until then only we stand between it and the signal, should we be killed. It
 * goes on to a plain stop, and hits the trap again when it runs.
 */
void
hold_other_hits(struct target *t)
{
	for (size_t i = t->pack.len; t->traps && i-- > 0;) {
		const struct hold *h = i < t->pack.len ? &t->pack.items[i] :
			NULL;
		int status;

		if (h && !h->stopped && h->want == WANT_RUNNING &&
		    breakpoint_put_back(h->tid) &&
		    waitpid(h->tid, &status, WAIT_FLAGS | WNOHANG) == h->tid)
			(void)hold_step(&t->pack, h->tid, status);
	}
}

int
target_hold_all(struct target *t)
{
	if (t->held)
		return 0;
	hold_other_hits(t);
	if (t->gone)
		return fail(FAIL_MISSING, "process %d %s", (int)t->pid,
			    t->how);
	t->pack.options = options(t);
	t->pack.asked_at = 0;
	if (meet_only(t) < 0)
		return fail_in("stop process %d", (int)t->pid);
	if (pack_stop(&t->pack) < 0) {
		/* all go, so no trap may stay, nor come again */
		breakpoints_lift(t);
		t->lifted = true;
		let_go_rest(&t->pack);
		t->lifted = false;
		breakpoints_free(t);	/* until then hits are known as such */
		return fail_in("stop process %d", (int)t->pid);
	}
	t->held = true;
	for (size_t i = 0; i < t->pack.len; i++)
		sentry_dismiss(t, t->pack.items[i].tid);
	breakpoints_lift(t);
	pack_let_newborn_go(&t->pack);
	return 0;
}

bool
target_held(const struct target *t)
{
	return t->held;
}

int
target_suspend(struct target *t, pid_t tid, bool suspend)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!t->held || !h || !h->stopped)
		return fail(FAIL_MISSING, "thread %d does not stand", (int)tid);
	h->suspended = suspend;
	return 0;
}

bool
target_is_suspended(const struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);

	return h && h->suspended;
}

bool
target_has_suspended(const struct target *t)
{
	for (size_t i = 0; i < t->pack.len; i++)
		if (t->pack.items[i].suspended)
			return true;
	return false;
}

uint64_t
target_pause_ns(const struct target *t)
{
	return t->held ? now_ns() - t->pack.asked_at : t->pause_ns;
}

int
target_release_all(struct target *t)
{
	if (t->gone) {
		t->held = false;
		return 0;
	}
	children_let_go(t);
	/* Traps go while nobody can be about to hit one. */
	if (t->traps && !t->held && target_hold_all(t) < 0 && !t->gone)
		return -1;
	/* who runs seized is stopped to be let go */
	if (!t->held && pack_runs(&t->pack))
		(void)meet_only(t);
	breakpoints_lift(t);	/* what could not be done before */
	breakpoints_free(t);

	const bool stood = t->held;

	t->held = false;
	let_go_stopped(&t->pack);
	if (stood)
		t->pause_ns = now_ns() - t->pack.asked_at;
	let_go_rest(&t->pack);
	return 0;
}

/* Whoever looks at other things next would let them stand meanwhile. */
void
target_let_go_late(struct target *t)
{
	for (size_t i = t->pack.len; !t->gone && i-- > 0;)
		if (i < t->pack.len && t->pack.items[i].want == WANT_GONE)
			(void)hold_let_go(&t->pack, t->pack.items[i].tid);
	fail_clear();		/* one that stays is dead: its end comes */
}

/* ---- running while seized ----------------------------------------------- */

/* ESRCH from these: it was killed, and the next wait tells. */
void
hold_continue(const struct target *t, struct hold *h, int signal)
{
	wants_deliver(t, h, signal);
	(void)ptrace(h->errand.behind || wants_calls_of(t, h) ?
		     PTRACE_SYSCALL : PTRACE_CONT, h->tid, 0, (long)signal);
	h->stopped = false;
}

void
hold_listen(struct hold *h)
{
	(void)ptrace(PTRACE_LISTEN, h->tid, 0, 0L);
	h->stopped = false;
}

void
hold_run_on(struct target *t, struct hold *h)
{
	hold_repair(t, h);
	wants_run_on(t, h);
	if (h->group_signal)
		hold_listen(h);
	else
		hold_continue(t, h, signal_to_deliver(t, h));
}

unsigned long
errand_options(const struct hold *h)
{
	return (h->errand.behind ? PTRACE_O_TRACESYSGOOD : 0) |
		(h->errand.unfiltered ? PTRACE_O_SUSPEND_SECCOMP : 0);
}

int
target_continue_all(struct target *t)
{
	if (!t->held)
		return fail(FAIL_GENERAL, "process %d is not held",
			    (int)t->pid);
	if (breakpoints_choose(t) < 0)
		return -1;
	t->held = false;
	if (breakpoints_plant(t) < 0) {
		breakpoints_lift(t);
		t->held = !t->gone;
		return -1;
	}
	t->pack.options = options(t);
	for (size_t i = 0; i < t->pack.len; i++) {
		struct hold *h = &t->pack.items[i];

		if (h->want == WANT_ASIS || (h->suspended && h->stopped))
			continue;
		if (h->want == WANT_STOPPED)
			h->want = WANT_RUNNING;
		if (!h->stopped || h->want != WANT_RUNNING)
			continue;	/* it will run on when its stop comes */
		(void)ptrace(PTRACE_SETOPTIONS, h->tid, 0, t->pack.options |
			     errand_options(h));
		if (!breakpoint_touches(t, h))
			hold_run_on(t, h);
	}
	rites_go_on(t);
	t->pause_ns = now_ns() - t->pack.asked_at;
	return 0;
}
