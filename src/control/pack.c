/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that one tracing thread has seized: the books, and stopping
 * them all. Who is in the books is seized; who is not is none of ours.
 *
 *            seize          INTERRUPT            a stop
 *   stranger -----> running ---------> asked ------------> stopped
 *                      ^                                      |
 *                      +------- CONT, or DETACH: stranger <---+
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 5 };

static void
hold_fini(struct hold *h)
{
	sentry_free(h->sentry);
	if (h->call_fd >= 0)
		close(h->call_fd);
}

void
pack_fini(struct pack *p)
{
	for (size_t i = 0; i < p->len; i++)
		hold_fini(&p->items[i]);
	free(p->items);
	map_fini(&p->by_tid);
	*p = (struct pack){ .target = p->target };
}

struct hold *
pack_find(const struct pack *p, pid_t tid)
{
	uint64_t place;

	if (!map_get(&p->by_tid, (uint64_t)tid, &place))
		return NULL;
	return &p->items[place - 1];
}

struct hold *
pack_add(struct pack *p, pid_t tid, enum want want)
{
	struct hold *h = pack_find(p, tid);

	if (h)
		return h;
	p->items = xgrow(p->items, &p->cap, p->len + 1, sizeof *p->items);
	h = &p->items[p->len++];
	*h = (struct hold){ .tid = tid, .want = want, .call_fd = -1 };
	map_put(&p->by_tid, (uint64_t)tid, p->len);
	return h;
}

void
pack_drop(struct pack *p, pid_t tid)
{
	struct hold *h = pack_find(p, tid);

	if (!h)
		return;
	if (p == &p->target->pack)
		breakpoints_disarm(p->target, tid);
	hold_fini(h);
	map_remove(&p->by_tid, (uint64_t)tid);
	*h = p->items[--p->len];
	if (h != &p->items[p->len])
		map_put(&p->by_tid, (uint64_t)h->tid,
			(uint64_t)(h - p->items) + 1);
}

void
hold_note(struct hold *h, const struct event *ev)
{
	h->stopped = true;
	h->newborn = false;
	h->stopped_at = now_ns();
	h->group_signal = ev->kind == EVENT_GROUP_STOP ? ev->signal : 0;
	if (ev->kind == EVENT_STOPPED || ev->kind == EVENT_GROUP_STOP)
		h->asked = false;
}

/* ---- births ------------------------------------------------------------- */

/* While a vforked child uses the memory of its parent it must not meet a
 * trap: nobody would be there to take it. */
void
vfork_begins(struct target *t, struct hold *parent)
{
	if (parent->vforking || !t->traps)
		return;
	parent->vforking = true;
	if (t->vforks++ == 0)
		breakpoints_lift(t);
}

void
vfork_ends(struct target *t, struct hold *parent)
{
	if (!parent->vforking)
		return;
	parent->vforking = false;
	if (--t->vforks == 0)
		(void)breakpoints_plant(t);	/* -1: the target has ended */
}

void
pack_note_birth(struct pack *p, const struct event *ev, enum want want)
{
	const bool vfork = (unsigned)ev->status >> 16 == PTRACE_EVENT_VFORK;
	const pid_t tid = (pid_t)ev->message;

	if (vfork)
		vfork_begins(p->target, pack_find(p, ev->tid));
	if (!tid || pack_find(p, tid))
		return;

	/* CLONE_VM without CLONE_THREAD makes a process in our memory */
	const bool foreign = ev->kind == EVENT_FORK ||
		!proc_thread_state(p->target, tid);
	struct hold *child = pack_add(p, tid, foreign ? WANT_GONE : want);

	child->asked = child->newborn = true;	/* it starts with a stop */
	child->foreign = foreign;
	child->lift = ev->kind == EVENT_FORK && !vfork;
}

/* The kernel waited with the exec until we had seen all other threads end;
 * only the one that called it, unless it was the leader, left without news. */
void
pack_note_exec(struct pack *p, const struct event *ev)
{
	struct target *t = p->target;

	if ((pid_t)ev->message != ev->tid)
		pack_drop(p, (pid_t)ev->message);
	pack_find(p, ev->tid)->vforking = false;
	breakpoints_free(t);
	traps_forget(t);
	t->vforks = 0;
	target_note_exec(t);
}

/*
 * A thread that execs takes the leader's number; its own is nobody's then. If
 * the leader was none of ours, the process is now, and stands at the exec's
 * event: every thread is seized with that option, so that it can be let go.
 */
static void
let_go_exec(struct target *t)
{
	const uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);
	struct proc_status st;
	int status;

	while (proc_status_thread(t, t->pid, &st) == 0 &&
	       st.tracer == tracer_tid()) {
		if (wait_status(t->pid, deadline_in_ms(LOOK_MS),
				&status) != 1) {
			if (now_ns() >= deadline)
				break;
			continue;
		}
		if (!WIFSTOPPED(status)) {
			target_note_exit(t, status);
			break;
		}
		target_note_exec(t);
		(void)ptrace(PTRACE_DETACH, t->pid, 0,
			     (long)signal_of_stop(t->pid, NULL));
	}
}

void
hold_vanished(struct pack *p, pid_t tid)
{
	pack_drop(p, tid);
	if (tid != p->target->pid && !pack_find(p, p->target->pid) &&
	    handled(HAZARD_EXEC_SEIZED))
		let_go_exec(p->target);
}

/* ---- stopping ----------------------------------------------------------- */

/*
 * Seize one that a listing showed. 1: it is new to us; 0: it is ours or has
 * ended; -1: refused. A clone of a thread that we seized is ours before its
 * parent's event tells us: EPERM, and the tracer is we.
 */
static int
seize_listed(struct pack *p, pid_t tid)
{
	struct proc_status st;

	/* In a snapshot's own thread: one that the tracer holds is not ours */
	if (pack_find(p, tid) || pack_find(&p->target->pack, tid))
		return 0;
	const int error = seize_call(p->target, tid, p->options);

	if (!error) {
		pack_add(p, tid, WANT_STOPPED);
		return 1;
	}
	if (proc_status_thread(p->target, tid, &st) < 0 ||
	    !state_alive(st.state))
		return 0;
	if (error == EPERM && st.tracer == tracer_tid()) {
		pack_add(p, tid, WANT_STOPPED);
		return 1;
	}
	return attach_explain(p->target, error);
}

/* How many were new, or -1. */
static ssize_t
seize_all(struct pack *p)
{
	ssize_t total = 0, found;
	pid_t *tids = NULL;
	size_t cap = 0;

	do {
		const ssize_t n = target_threads(p->target, &tids, &cap);

		found = n < 0 ? -1 : 0;
		for (ssize_t i = 0; i < n && found >= 0; i++) {
			const int r = seize_listed(p, tids[i]);

			found = r < 0 ? -1 : found + r;
		}
		total += found;
	} while (found > 0);
	free(tids);
	return found < 0 ? -1 : total;
}

bool
pack_runs(const struct pack *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->items[i].want == WANT_RUNNING)
			return true;
	return false;
}

static void
ask_all(struct pack *p)
{
	for (size_t i = 0; i < p->len; i++) {
		struct hold *h = &p->items[i];

		if (h->want == WANT_ASIS || h->foreign)
			continue;
		h->want = WANT_STOPPED;
		if (h->stopped || h->asked ||
		    (p->spare && partial_spares(p, h)))
			continue;
		/* ESRCH: it has ended; waiting for it will tell */
		(void)ptrace(PTRACE_INTERRUPT, h->tid, 0, 0);
		h->asked = true;
	}
}

/*
 * Those who wait in the kernel without being interruptible (a vfork parent,
 * a broken disk) stop before they execute anything of the program again: for
 * the program they stand, though we cannot read their registers. They are
 * passed over.
 */
static void
settle_all(struct pack *p, uint64_t deadline)
{
	for (size_t i = 0; i < p->len;) {
		const pid_t tid = p->items[i].tid;

		if (p->items[i].stopped || !p->items[i].asked ||
		    p->items[i].want != WANT_STOPPED) {
			i++;
			continue;
		}
		if (hold_settle(p, tid, deadline) < 0)
			continue;	/* another has taken its place */
		/* at once: a debugger's stop lasts, and we may be killed in it;
		 * letting go finds it done. Snapshots do it as they copy. An
		 * exec may have moved the others. */
		if (!p->spare && pack_find(p, tid))
			hold_repair(p->target, pack_find(p, tid));
		i++;
	}
}

int
pack_stop_one(struct pack *p, pid_t tid)
{
	if (handled(HAZARD_FROZEN) && cgroup_check_frozen(p->target, tid) < 0)
		return -1;

	const int found = seize_listed(p, tid);

	if (p->spare)
		partial_mark(p);
	p->asked_at = now_ns();
	ask_all(p);
	settle_all(p, deadline_in_ms(STOP_LIMIT_MS));
	if (found < 0)
		return -1;
	if (!p->len)
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	return 0;
}

static size_t
own_threads(const struct pack *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->len; i++)
		n += !p->items[i].foreign;
	return n;
}

/*
 * Reading the directory takes long for many threads, and all stand: ask for
 * their number, which is its count of links less two. When it is ours exactly,
 * nobody is unknown: what we seized bears only what we seized. A dead leader
 * counts and is not ours, so then, as for all other doubts, false.
 */
static bool
all_seized(const struct pack *p)
{
	const struct pack *main_pack = &p->target->pack;
	size_t ours = own_threads(p);
	struct stat st;

	if (p != main_pack)
		ours += own_threads(main_pack);
	return fstatat(p->target->proc_fd, "task", &st, 0) == 0 &&
		st.st_nlink == ours + 2;
}

/*
 * Seizing comes first, outside the pause. One pass can miss the children of
 * a thread that was not seized yet: go on until a pass finds nobody new.
 */
int
pack_stop(struct pack *p)
{
	/* who is seized already is stopped, and let go, as far as it can be */
	if (!p->len && handled(HAZARD_FROZEN) &&
	    target_check_frozen(p->target) < 0)
		return -1;
	if (!p->spare && partial_await_all(p->target, p->len ?
					   PARTIAL_GRACE_MS :
					   PARTIAL_LIMIT_MS) < 0 && !p->len)
		return -1;

	ssize_t found = seize_all(p);

	/* that took a while, and now there is no way back */
	if (p->spare)
		partial_mark(p);
	else if (partial_await_all(p->target, PARTIAL_GRACE_MS) < 0)
		fail_clear();

	const uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);

	while (found >= 0) {
		if (!p->asked_at)
			p->asked_at = now_ns();
		ask_all(p);
		settle_all(p, deadline);
		if (all_seized(p))
			break;
		found = seize_all(p);
		if (found == 0)
			break;
	}
	if (found < 0)
		return -1;
	if (!p->len)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)p->target->pid);
	return 0;
}
