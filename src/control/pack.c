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
	if (h->late_since)
		p->target->lates--;
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
	h->in_kernel = false;
	h->newborn = h->told = false;
	h->instead = 0;
	h->stopped_at = now_ns();
	h->group_signal = ev->kind == EVENT_GROUP_STOP ? ev->signal : 0;
	if (ev->kind == EVENT_STOPPED || ev->kind == EVENT_GROUP_STOP)
		h->asked = false;
	if (h->masked)		/* ESRCH: killed; the next wait tells */
		h->masked = ptrace(PTRACE_SETSIGMASK, h->tid, sizeof h->mask,
				   &h->mask) < 0;
}

/* ---- births ------------------------------------------------------------- */

/* While a vforked child uses the memory of its parent it must not meet a
 * trap: nobody would be there to take it. It is counted where there is no
 * trap, too: a breakpoint that is watched now may become one meanwhile. */
void
vfork_begins(struct target *t, struct hold *parent)
{
	if (parent->vforking)
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
	struct target *t = p->target;

	if (vfork)
		vfork_begins(t, pack_find(p, ev->tid));
	if (tid && pack_find(p, tid))
		pack_find(p, tid)->maker = ev->tid;	/* a listing had it */
	if (!tid || pack_find(p, tid))
		return;

	/* CLONE_VM without CLONE_THREAD makes a process in our memory */
	const bool foreign = ev->kind == EVENT_FORK ||
		!proc_thread_state(p->target, tid);
	struct hold *child = pack_add(p, tid, foreign ? WANT_GONE : want);

	child->asked = child->newborn = true;	/* it starts with a stop */
	child->foreign = foreign;
	child->lift = foreign && !vfork;
	if (child->lift && ev->kind == EVENT_CLONE && shares_memory(t, tid)) {
		child->lift = false;	/* for good: it would die of one */
		t->shared = true;
		breakpoints_lift(t);
	}
	wants_note_birth(p->target, child, ev->tid);
}

/* The kernel waited with the exec until we had seen all other threads end;
 * only the one that called it, unless it was the leader, left without news. */
void
pack_note_exec(struct pack *p, const struct event *ev)
{
	struct target *t = p->target;

	p->execed = true;
	t->execs++;
	if ((pid_t)ev->message != ev->tid)
		pack_drop(p, (pid_t)ev->message);
	pack_find(p, ev->tid)->vforking = false;
	pack_find(p, ev->tid)->exits = pack_find(p, ev->tid)->last = false;
	breakpoints_free(t);
	traps_forget(t);
	t->vforks = 0;
	t->shared = false;
	target_note_exec(t);
}

/*
 * A thread that execs takes the leader's number; its own is nobody's then. If
 * the leader was none of ours, the process is now, and stands at the exec's
 * event: every thread is seized with that option, so that it can be let go.
 */
static void
let_go_exec(struct pack *p)
{
	struct target *t = p->target;
	const uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);
	struct proc_status st;
	int status;

	while (proc_status_thread(t, t->pid, &st) == 0 &&
	       st.tracer == tracer_tid()) {
		if (wait_status(t->pid, deadline_in_ms(LOOK_MS),
				&status) != 1) {
			if (now_ns() >= deadline) {
				/* then its next news lets it go */
				(void)pack_add(p, t->pid, WANT_GONE);
				break;
			}
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
		let_go_exec(p);
}
