/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From wherever a seized thread is to a plain stop, and from there to
 * freedom. On the way signals are delivered, births and execs noted, hits of
 * breakpoints taken back.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { LOOK_AGAIN_MS = 20 };	/* then see whether it can stop at all */

int
hold_due_signal(struct pack *p, pid_t tid)
{
	const struct hold *h = pack_find(p, tid);
	siginfo_t info;
	const int signal = signal_of_stop(tid, &info);

	if (signal == SIGTRAP && breakpoint_take_trap(p->target, tid, &info))
		return 0;
	/* it comes once more when the thread goes on */
	if (signal && pack_find(p, tid)->errand.behind &&
	    (signal_is_fault(&info) || thread_raised(tid, &info)))
		return 0;
	if (signal)
		hold_delivers(p->target, tid, &info);
	if (p == &p->target->pack)
		breakpoint_take_back(p->target, tid);
	if (signal && h && h->instead)
		return signal_to_deliver(p->target, h);
	return signal;
}

/* What a stop on the way to a plain one asks for. Returns the signal to
 * deliver. */
static int
pass_stop(struct pack *p, const struct event *ev)
{
	const enum want want = pack_find(p, ev->tid)->want;
	if (ev->kind == EVENT_CLONE || ev->kind == EVENT_FORK)
		pack_note_birth(p, ev, want == WANT_STOPPED ? want :
				WANT_GONE);
	else if (ev->kind == EVENT_EXEC)
		pack_note_exec(p, ev);
	else if ((unsigned)ev->status >> 16 == PTRACE_EVENT_VFORK_DONE)
		vfork_ends(p->target, pack_find(p, ev->tid));
	return ev->kind == EVENT_SIGNAL ? hold_due_signal(p, ev->tid) : 0;
}

/* A snapshot's thread leaves the rest to the tracer's main thread, which
 * learns of the end by the pidfd. */
static void
leader_ended(struct pack *p, int status)
{
	if (p == &p->target->pack)
		target_note_exit(p->target, status);
	else
		p->target->status = status;
}

int
hold_pass(struct pack *p, const struct event *ev)
{
	const int signal = pass_stop(p, ev);

	/* ESRCH: killed; the next wait tells */
	(void)ptrace(PTRACE_CONT, ev->tid, 0, (long)signal);
	pack_find(p, ev->tid)->stopped = false;
	return 0;
}

/* It stands as it was asked to, with nothing of a breakpoint behind that. */
static bool
is_plain(struct pack *p, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_GROUP_STOP:
		return true;
	case EVENT_SYSCALL:
		return thread_is_back(p->target, ev->tid);
	case EVENT_STOPPED:
		return !breakpoint_signal_queued(p->target, ev->tid);
	default:
		return false;
	}
}

int
hold_step(struct pack *p, pid_t tid, int status)
{
	const struct event ev = event_of_status(tid, status);
	struct hold *h = pack_find(p, tid);

	if (ev.kind == EVENT_THREAD_GONE) {
		vfork_ends(p->target, h);
		pack_drop(p, tid);
		if (tid == p->target->pid)
			leader_ended(p, status);
		return -1;
	}
	hold_note(h, &ev);

	const bool stepped = step_trap_queued(h);
	const bool drain = stepped || ev.kind == EVENT_STOPPED;

	if (!stepped && is_plain(p, &ev)) {
		h->stepping = false;
		return 1;
	}

	/* it is to be told of that first, and stands with it */
	if (ev.kind == EVENT_SIGNAL && h->want == WANT_STOPPED &&
	    p == &p->target->pack && signal_is_caught(p->target, tid)) {
		h->asked = false;
		return 1;
	}

	if (p == &p->target->pack && h->want == WANT_STOPPED)
		wants_note(p->target, h, &ev);
	/* behind it there is no other stop, or it is too late */
	if (wants_kernel(h)) {
		h->asked = false;
		h->in_kernel = true;
		return 1;
	}

	/* its birth, a signal: it may stand since those that sleep were asked */
	if (!drain)
		p->ran_until = p->asked_at;

	const int signal = pass_stop(p, &ev);

	h = pack_find(p, tid);		/* pass_stop may have moved it */
	wants_deliver(p->target, h, signal);
	if (p == &p->target->pack && h->want == WANT_STOPPED) {
		const bool child = child_note(p->target, tid, &ev);

		h = pack_find(p, tid);	/* and so may that */
		if (child && h->in_kernel) {
			h->asked = false;
			return 1;
		}
	}
	/*
	 * Any stop takes a request for a plain one back (ptrace_stop clears
	 * JOBCTL_TRAP_STOP; a 1 kHz timer shows it within 200 stops): ask
	 * again. But not while a trap of ours is queued behind this stop: the
	 * new one would come in front of it for ever.
	 */
	if (!drain)
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	h->asked = true;
	/* ESRCH: killed; the next wait tells */
	(void)ptrace(wants_return_of(p->target, h) ? PTRACE_SYSCALL :
		     PTRACE_CONT, tid, 0, (long)signal);
	h->stopped = false;
	return 0;
}

/* A parent in vfork, a dead leader of living threads. */
static bool
cannot_stop(const struct target *t, pid_t tid)
{
	const char state = proc_thread_state(t, tid);

	return state == 'D' || (state == 'Z' && tid == t->pid);
}

int
hold_settle(struct pack *p, pid_t tid, uint64_t deadline)
{
	for (;;) {
		const uint64_t slice = deadline_in_ms(LOOK_AGAIN_MS);
		int status;
		int r = wait_status(tid, slice < deadline ? slice : deadline,
				    &status);

		if (r == 1)
			r = hold_step(p, tid, status);
		else if (r < 0)
			hold_vanished(p, tid);
		else if (now_ns() >= deadline ||
			 cannot_stop(p->target, tid) ||
			 (handled(HAZARD_FROZEN) &&
			  cgroup_check_frozen(p->target, tid) < 0))
			return 0;
		if (r)
			return r;
	}
}

void
hold_ask_through(struct hold *h, int signal)
{
	h->asked = ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) == 0;
	if (!h->stopped)
		return;
	(void)ptrace(PTRACE_CONT, h->tid, 0, (long)signal);
	h->stopped = false;
}

/* A forked child has our traps in its copy of the text. */
void
child_lift(struct target *t, pid_t child)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d", (int)child);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	breakpoints_lift_copy(t, fd, child);
	if (fd >= 0)
		close(fd);
}

static int
detach(struct pack *p, pid_t tid)
{
	const int signal = hold_due_signal(p, tid);

	if (pack_find(p, tid)->lift)
		child_lift(p->target, tid);
	return (int)ptrace(PTRACE_DETACH, tid, 0, (long)signal);
}

/* Its first stop came late, and is looked at by nobody else. */
static bool
drain_step_trap(struct pack *p, struct hold *h)
{
	if (!step_trap_queued(h))
		return false;
	h->asked = true;	/* as soon as the trap comes */
	(void)ptrace(PTRACE_CONT, h->tid, 0, (long)hold_due_signal(p, h->tid));
	h->stopped = false;
	return true;
}

int
hold_let_go(struct pack *p, pid_t tid)
{
	const uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);
	struct hold *h;

	while ((h = pack_find(p, tid))) {
		if (h->stopped && !drain_step_trap(p, h)) {
			const uint64_t late_since = h->late_since;

			hold_repair(p->target, h);
			if (detach(p, tid) == 0) {
				late_let_go(p->target, late_since);
				pack_drop(p, tid);
				return 0;
			}
			/* it runs after all, or was killed: look again */
			h->stopped = false;
		}
		if (h->sentry && sentry_wait(p->target, tid, deadline,
				PARTIAL_GRACE_MS) < 0 && pack_find(p, tid)) {
			/* our end, or its stop, lets it go */
			fail_clear();
			pack_find(p, tid)->want = WANT_GONE;
			return 1;
		}
		if ((h = pack_find(p, tid)) == NULL || h->stopped)
			continue;
		if (!h->asked && partial_await(p->target, tid) < 0)
			fail_clear();	/* it cannot be left as it is */
		if (!h->asked && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0)
			h->asked = true;
		if (hold_settle(p, tid, deadline) != 0)
			continue;
		/* A dead leader is waited for when its last thread ends */
		h = pack_find(p, tid);
		h->want = WANT_GONE;
		return 1;
	}
	return 0;
}
