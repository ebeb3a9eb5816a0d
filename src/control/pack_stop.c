/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stopping all threads of a pack. For a snapshot in two steps: first those
 * that sleep, which lose nothing by it, and then those that run, which stand
 * for as long as there is work left. Their order of seizing serves that, too:
 * at the end of a tracing thread the kernel lets go first whom it seized last
 * (__ptrace_link adds at the head of the list, exit_ptrace begins there).
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PATIENCE_NS = 500 * NS_PER_US, PATIENCE_EACH_NS = 8 * NS_PER_US };

/*
 * Seize one that a listing showed. 1: it is new to us; 0: it is ours, has
 * ended or is the kernel's; -1: refused. A clone of a thread that we seized is ours before its
 * parent's event tells us: EPERM, and the tracer is we.
 */
static int
seize_listed(struct pack *p, pid_t tid)
{
	struct proc_status st;

	/* In a snapshot's own thread: one that the tracer holds is not ours */
	if (pack_find(p, tid) || pack_find(&p->target->pack, tid) ||
	    target_is_worker(p->target, tid))
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
		wants_note_birth(p->target, pack_add(p, tid, WANT_STOPPED), 0);
		return 1;
	}
	return attach_explain(p->target, error);
}

/* Those that sleep come to the front. */
static void
put_in_order(const struct target *t, pid_t *tids, ssize_t n)
{
	ssize_t front = 0;

	for (ssize_t i = 0; i < n; i++) {
		const pid_t tid = tids[i];

		if (partial_runs(t, tid))
			continue;
		tids[i] = tids[front];
		tids[front++] = tid;
	}
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

		if (p->spare && !p->len)
			put_in_order(p->target, tids, n);
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

/* One that slept when it was looked at may run by now. */
static void
ask_all(struct pack *p, bool sleepers_only)
{
	for (size_t i = 0; i < p->len; i++) {
		struct hold *h = &p->items[i];

		if (h->want == WANT_ASIS || h->foreign ||
		    (sleepers_only && !h->sleeps))
			continue;
		h->want = WANT_STOPPED;
		if (h->stopped || h->asked ||
		    (p->spare && partial_spares(p, h)) ||
		    (sleepers_only && !h->sleeps))
			continue;
		if (!h->sleeps && !p->ran_until)
			p->ran_until = now_ns();
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
	ask_all(p, false);
	settle_all(p, deadline_in_ms(STOP_LIMIT_MS));
	if (found < 0)
		return -1;
	if (!p->len)
		return target_is_worker(p->target, tid) ? worker_refused(tid) :
			fail(FAIL_MISSING, "thread %d has ended", (int)tid);
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
 * a thread that was not seized yet: pack_stop_rest goes on until a pass finds
 * nobody new.
 */
int
pack_seize(struct pack *p)
{
	/* who is seized already is stopped, and let go, as far as it can be */
	if (!p->len && handled(HAZARD_FROZEN) &&
	    target_check_frozen(p->target) < 0)
		return -1;
	if (!p->spare && partial_await_all(p->target, p->len ?
					   PARTIAL_GRACE_MS :
					   PARTIAL_LIMIT_MS) < 0 && !p->len)
		return -1;

	const ssize_t found = seize_all(p);

	/* that took a while, and now there is no way back */
	if (p->spare)
		partial_mark(p);
	else if (partial_await_all(p->target, PARTIAL_GRACE_MS) < 0)
		fail_clear();
	return found < 0 ? -1 : 0;
}

int
pack_stop_rest(struct pack *p)
{
	const uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);
	ssize_t found;

	if (!p->asked_at)
		p->asked_at = now_ns();
	do {
		ask_all(p, false);
		settle_all(p, deadline);
		found = all_seized(p) ? 0 : seize_all(p);
	} while (found > 0);
	if (found < 0)
		return -1;
	if (!p->len)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)p->target->pid);
	return 0;
}

/*
 * To stop, a thread needs a processor for a moment; where those that run have
 * them all, it comes to one when a slice of theirs ends, or they stand. The
 * others do not wait for it for long.
 */
void
pack_stop_sleepers(struct pack *p)
{
	p->asked_at = now_ns();
	ask_all(p, true);
	settle_all(p, now_ns() + PATIENCE_NS + p->len * PATIENCE_EACH_NS);
}

int
pack_stop(struct pack *p)
{
	return pack_seize(p) < 0 ? -1 : pack_stop_rest(p);
}
