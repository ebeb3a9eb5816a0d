/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the threads of a target that runs seized have stopped for: who has
 * news, in turn, and what becomes of it. What concerns only us goes on at
 * once; the rest is told, and what stands for it waits for target_hold_all.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <signal.h>
#include <stdlib.h>

enum {
	OTHERS_TURN = 16,
	PATIENCE_MS = 5,	/* of who waits for an event, or for us */
};

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
 * all other threads) is ours without our knowing, and dead, or stands in its
 * end. The exec waits until we have taken its status.
 */
static void
reap_orphans(struct target *t)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n; i++)
		if (tids[i] != t->pid && !pack_find(&t->pack, tids[i]))
			thread_let_end(t, tids[i]);
	free(tids);
	fail_clear();
}

/*
 * Who execs has the leader's number from then on. A leader that had ended before
 * we came is in no books, and the one that is there is nobody's number by now.
 */
static bool
note_new_leader(struct target *t, const siginfo_t *news)
{
	struct pack *p = &t->pack;

	if (news->si_pid != t->pid || pack_find(p, t->pid))
		return false;
	pack_add(p, t->pid, t->held ? WANT_STOPPED :
		 pack_runs(p) ? WANT_RUNNING : WANT_GONE);
	return true;
}

/*
 * Nobody is ours any more, and yet the process stands: a thread that was to be
 * let go as soon as it stops has executed a program, and its number went before
 * its stop came.
 */
static bool
stands_at_exec(struct target *t)
{
	siginfo_t news;

	if (!handled(HAZARD_EXEC_SEIZED) || !peek(P_PID, t->pid, &news) ||
	    news.si_code != CLD_TRAPPED ||
	    news.si_status >> 8 != PTRACE_EVENT_EXEC)
		return false;
	pack_add(&t->pack, t->pid, WANT_GONE);
	return true;
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
	if (!p->len)
		return stands_at_exec(t) ? t->pid : 0;
	if (!peek(P_ALL, 0, &news))
		return 0;
	if (note_new_leader(t, &news) || is_ours_to_wait(p, &news))
		return news.si_pid;
	for (size_t i = 0; i < p->len; i++)
		if (has_news(&p->items[i]))
			return p->items[i].tid;
	guard_look(t);
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
			hold_continue(t, h, signal);
		return signal != 0;
	}
	if (judge_passes(t, tid, ev)) {
		hold_continue(t, pack_find(&t->pack, tid), 0);
		return false;
	}
	/* Stand at a plain stop: there no path can deliver the trap. */
	hold_ask_through(h, 0);
	hold_other_hits(t);
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

	if (!h->errand.behind || !signal ||
	    !(signal_is_fault(&info) || thread_raised(h->tid, &info)))
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
		hold_continue(t, h, 0);
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
		hold_continue(t, h, 0);
	return false;
}

/* An event of a thread that runs seized. true: tell the caller. */
static bool
take_running(struct target *t, struct hold *h, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_GROUP_STOP:
		hold_listen(h);
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
		hold_continue(t, pack_find(&t->pack, ev->tid), 0);
		return true;
	case EVENT_EXEC:
		pack_note_exec(&t->pack, ev);
		if (!t->stand_at_exec)
			hold_continue(t, pack_find(&t->pack, ev->tid), 0);
		return true;
	case EVENT_NONE:
		if ((unsigned)ev->status >> 16 == PTRACE_EVENT_VFORK_DONE)
			vfork_ends(t, h);
		hold_continue(t, h, 0);
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
	target_late_run_still(t);
	return breakpoint_take_missed(t, ev);
}
