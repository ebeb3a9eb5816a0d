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
	OTHERS_TURN = 16,
	PATIENCE_MS = 5,	/* of who waits for an event, or for us */
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
static void
take_other_hits(struct target *t)
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
	take_other_hits(t);
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
static void
run_on(const struct target *t, struct hold *h, int signal)
{
	wants_deliver(t, h, signal);
	(void)ptrace(h->errand.behind || wants_calls_of(t, h) ?
		     PTRACE_SYSCALL : PTRACE_CONT, h->tid, 0, (long)signal);
	h->stopped = false;
}

static void
listen_on(struct hold *h)
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
		listen_on(h);
	else
		run_on(t, h, signal_to_deliver(t, h));
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
			     (h->errand.behind ? PTRACE_O_TRACESYSGOOD : 0));
		if (!breakpoint_touches(t, h))
			hold_run_on(t, h);
	}
	t->pause_ns = now_ns() - t->pack.asked_at;
	return 0;
}

/* ---- events ------------------------------------------------------------- */

static bool
peek(idtype_t type, pid_t tid, siginfo_t *info)
{
	*info = (siginfo_t){ 0 };
	return waitid(type, (id_t)tid, info, WEXITED | WSTOPPED | WNOHANG |
		      WNOWAIT | WAIT_FLAGS) == 0 && info->si_pid;
}

/* What it has is not known yet. */
static bool
has_news(const struct hold *h)
{
	siginfo_t info;

	return h->want != WANT_ASIS && peek(P_PID, h->tid, &info) &&
		!signal_is_kept(h, &info);
}

static bool
is_ours_to_wait(const struct pack *p, const siginfo_t *news)
{
	const struct hold *h = pack_find(p, news->si_pid);

	return h && h->want != WANT_ASIS && !signal_is_kept(h, news);
}

/*
 * A clone whose parent is killed before it could tell us of it (an exec kills
 * all other threads) is ours without our knowing, and dead. The exec waits
 * until we have taken its status.
 */
static void
reap_orphans(struct target *t)
{
	pid_t *tids = NULL;
	siginfo_t dead;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);
	int status;

	for (ssize_t i = 0; i < n; i++)
		if (tids[i] != t->pid && !pack_find(&t->pack, tids[i]) &&
		    proc_thread_state(t, tids[i]) == 'Z' &&
		    peek(P_PID, tids[i], &dead))
			(void)waitpid(tids[i], &status, WAIT_FLAGS | WNOHANG);
	free(tids);
	fail_clear();
}

/* Round and round. */
static pid_t
other_tid(struct target *t)
{
	const struct pack *p = &t->pack;

	for (size_t i = 0; i < p->len; i++) {
		const struct hold *h = &p->items[++t->turn % p->len];

		if (has_news(h))
			return h->tid;
	}
	return 0;
}

/*
 * Who has news. Not waitpid(-1): what is nobody of ours (a child of the
 * caller, a thread that inject waits for, a clone whose parent has not told
 * us yet) must stay for the one it belongs to.
 */
static pid_t
next_tid(struct target *t)
{
	const struct pack *p = &t->pack;
	siginfo_t news;
	pid_t tid;

	/* who has news all the time must not keep us from the others */
	if (p->len && ++t->turns % OTHERS_TURN == 0 && (tid = other_tid(t)))
		return tid;
	if (!p->len || !peek(P_ALL, 0, &news))
		return 0;
	if (is_ours_to_wait(p, &news))
		return news.si_pid;
	for (size_t i = 0; i < p->len; i++)
		if (has_news(&p->items[i]))
			return p->items[i].tid;
	reap_orphans(t);
	return 0;
}

static bool
take_signal(struct target *t, struct hold *h, struct event *ev)
{
	const pid_t tid = h->tid;
	siginfo_t info;
	const int signal = signal_of_stop(tid, &info);

	ev->breakpoint = signal == SIGTRAP ?
		breakpoint_take_trap(t, tid, &info) :
		breakpoint_take_watch(t, tid, &info);
	if (!ev->breakpoint) {
		if (signal)
			hold_delivers(t, tid, &info);
		breakpoint_take_back(t, tid);
		ev->stands = signal_is_caught(t, tid);
		h->told = ev->stands;
		if (!ev->stands)
			run_on(t, h, signal);
		return signal != 0;
	}
	if (judge_passes(t, tid, ev)) {
		run_on(t, h, 0);
		return false;
	}
	/* Stand at a plain stop: there no path can deliver the trap. */
	hold_ask_through(h, 0);
	take_other_hits(t);
	if (hold_settle(&t->pack, tid, deadline_in_ms(STOP_LIMIT_MS)) < 0)
		return false;
	ev->kind = EVENT_BREAKPOINT;
	ev->signal = 0;
	return true;
}

/* It executes a function for whoever debugs it: what that raises is none of
 * the program's. */
static bool
take_fault(struct target *t, struct hold *h, struct event *ev)
{
	siginfo_t info;
	const int signal = signal_of_stop(h->tid, &info);

	if (!h->errand.behind || !signal || !signal_is_fault(&info))
		return false;
	hold_ask_through(h, 0);
	(void)hold_settle(&t->pack, ev->tid, deadline_in_ms(STOP_LIMIT_MS));
	ev->kind = EVENT_ERRAND;
	ev->signal = signal;
	return true;
}

/* The call that ends such a function has not begun, and may not. */
static bool
take_call(struct target *t, struct hold *h, struct event *ev)
{
	if (!thread_is_back(t, h->tid)) {
		run_on(t, h, 0);
		return false;
	}
	ev->kind = EVENT_ERRAND;
	ev->signal = 0;
	return true;
}

/* For what it has stopped, if that is wanted; else it goes on. */
static bool
take_wanted(struct target *t, struct hold *h, struct event *ev)
{
	const pid_t tid = h->tid;

	if (wants_take(t, h, ev))
		return true;
	h = pack_find(&t->pack, tid);
	if (h && h->stopped && ev->kind == EVENT_STOPPED)
		hold_run_on(t, h);
	else if (h && h->stopped)
		run_on(t, h, 0);
	return false;
}

/* An event of a thread that runs seized. true: tell the caller. */
static bool
take_running(struct target *t, struct hold *h, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_GROUP_STOP:
		listen_on(h);
		return true;
	case EVENT_SIGNAL:
		return take_fault(t, h, ev) || take_signal(t, h, ev);
	case EVENT_SYSCALL:
		return h->errand.behind ? take_call(t, h, ev) :
			take_wanted(t, h, ev);
	case EVENT_EXITING:
		return take_wanted(t, h, ev);
	case EVENT_CLONE:
	case EVENT_FORK:
		pack_note_birth(&t->pack, ev, WANT_RUNNING);
		if (child_note(t, ev->tid, ev) &&
		    wants_take(t, pack_find(&t->pack, ev->tid), ev))
			return true;
		run_on(t, pack_find(&t->pack, ev->tid), 0);
		return true;
	case EVENT_EXEC:
		pack_note_exec(&t->pack, ev);
		if (!t->stand_at_exec)
			run_on(t, pack_find(&t->pack, ev->tid), 0);
		return true;
	case EVENT_NONE:
		if ((unsigned)ev->status >> 16 == PTRACE_EVENT_VFORK_DONE)
			vfork_ends(t, h);
		run_on(t, h, 0);
		return false;
	default:
		/* a newborn's first stop, the end of a group stop, ... */
		breakpoints_arm(t, h);
		return !t->choose_again && take_wanted(t, h, ev);
	}
}

static bool
take_end(struct target *t, struct event *ev)
{
	struct hold *h = pack_find(&t->pack, ev->tid);
	const bool foreign = h->foreign;

	vfork_ends(t, h);
	pack_drop(&t->pack, ev->tid);
	if (ev->tid == t->pid) {
		target_note_exit(t, ev->status);
		ev->kind = EVENT_ENDED;
	}
	return !foreign;
}

static bool
take(struct target *t, struct event *ev)
{
	struct hold *h = pack_find(&t->pack, ev->tid);

	if (ev->kind == EVENT_THREAD_GONE)
		return take_end(t, ev);
	switch (h->want) {
	case WANT_GONE:
		hold_note(h, ev);
		(void)hold_let_go(&t->pack, ev->tid);	/* or later */
		return false;
	case WANT_STOPPED:
		(void)hold_step(&t->pack, ev->tid, ev->status);
		return false;
	case WANT_RUNNING:
		hold_note(h, ev);
		return take_running(t, h, ev);
	case WANT_ASIS:
		break;
	}
	return false;
}

bool
target_next_event(struct target *t, struct event *ev)
{
	const uint64_t until = deadline_in_ms(PATIENCE_MS);
	pid_t tid;
	int status;

	t->more = false;
	breakpoints_choose_again(t);
	if (breakpoint_take_touch(t, ev))
		return true;
	while ((tid = next_tid(t))) {
		if (take_status(tid, &status) != tid)
			return false;
		*ev = event_of_status(tid, status);
		if (take(t, ev))
			return true;
		breakpoints_choose_again(t);
		if (now_ns() > until) {
			t->more = true;
			return false;
		}
	}
	return breakpoint_take_missed(t, ev);
}
