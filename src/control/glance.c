/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Some threads that run, each stopped for as long as it takes to copy its
 * registers and its stack. Unlike a snapshot, which wants one moment of all,
 * nobody waits for anybody: all are asked to stop, and each goes on as soon
 * as it has stopped and was copied.
 *
 *	ask all --> wait --> one stands --> repair, copy, let go --> wait ...
 *
 * Who has a processor stops at once. Who waits for one stops when its turn
 * comes, and is found where the scheduler took the processor from it. That is
 * no place like any other: often the end of a system call (half of the samples
 * of a program that spent 2 % of its time there, on a crowded machine). The
 * kernel counts how often and for how long a thread waited, which tells such
 * ones, and whether it was we who took its processor: then the place is as
 * good as any.
 *
 * Who does not stop in time is let go when its stop comes (late.c), and not
 * before, since a call that it was cut short in needs its repair.
 */
#include "private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	YIELD_NS = 40 * NS_PER_US,	/* most have stopped by then */
};

/* One that was asked to stop. */
struct asked {
	struct snapshot_thread *copy;
	int schedstat;		/* open; -1 none */
	struct task_turns before;
};

struct glance {
	struct target *t;
	struct snapshot *snap;
	size_t max_stack;
	uint64_t limit_ns;	/* to wait for a stop */
	uint64_t came_at;	/* who lost a processor then lost it to us */
	uint64_t asked_at;
	uint64_t ran_at;	/* then whoever stands now did not yet */
	uint64_t looked_at;	/* since then whoever stands now may stand */
	bool took_signal;	/* a SIGCHLD, perhaps about somebody else */
};

/* ---- did it run when we came? ------------------------------------------- */

static void
open_counts(const struct glance *g, struct asked *a)
{
	a->schedstat = facts_open_switches(g->t, a->copy->tid);
	(void)task_turns_at(a->schedstat, &a->before);
}

/* While it stands. A kernel without these counts tells nothing. */
static bool
waited(const struct glance *g, const struct asked *a,
       const struct task_turns *now)
{
	const uint64_t turns = now->switches - a->before.switches;
	const uint64_t waits = now->wait_ns - a->before.wait_ns;

	if (turns == 0)
		return false;
	/* its stop came when its turn did, after our last look */
	return turns > 1 || g->ran_at - waits < g->came_at;
}

/* ---- one thread --------------------------------------------------------- */

static void
copy_stack(struct glance *g, struct snapshot_thread *th)
{
	/* it ends where the stack's memory ends */
	const ssize_t n = pages_read(g->t->pid, th->tid, th->stack_base,
				     th->stack, g->max_stack);

	th->stack_size = n > 0 ? (size_t)n & ~(size_t)7 : 0;
}

static void
copy(struct glance *g, struct asked *a)
{
	struct snapshot_thread *th = a->copy;
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };
	struct task_turns now;

	if (ptrace(PTRACE_GETREGSET, th->tid, 1 /* NT_PRSTATUS */, &iov) < 0 ||
	    iov.iov_len != sizeof regs)
		return;
	arch.from_ptrace(&regs, &th->regs);
	if (task_turns_at(a->schedstat, &now) == 0) {
		th->facts.cpu_ns = now.cpu_ns;
		th->facts.wait_ns = now.wait_ns;
		th->facts.switches = now.switches;
		th->waited = waited(g, a, &now);
	}
	th->facts.pc = machine_pc(&regs);
	th->facts.sp = machine_sp(&regs);
	th->facts.syscall = machine_syscall(&regs);
	(void)machine_call(&regs, th->facts.args);
	th->facts.in_syscall = th->facts.syscall >= 0;
	th->tp = machine_thread_pointer(&regs);
	th->stack_base = th->facts.sp & ~UINT64_C(7);
	th->cut_short = transfer_was_cut(g->t, th->tid, &regs);
	copy_stack(g, th);
	under_copy(g->t, th, th->stack, g->max_stack);
	th->ok = true;
}

static void
note_stand(struct glance *g)
{
	const uint64_t since = g->looked_at > g->asked_at ? g->looked_at :
		g->asked_at;
	const uint64_t stood = now_ns() - since;

	g->snap->stops++;
	g->snap->pause_total_ns += stood;
	if (stood > g->snap->pause_ns)
		g->snap->pause_ns = stood;
}

static bool
ask(struct glance *g, pid_t tid)
{
	struct target *t = g->t;

	if (pack_find(&t->pack, tid))
		return false;	/* still from the last time */
	if (seize(t, tid, 0) < 0)
		return false;
	pack_add(&t->pack, tid, WANT_ASIS)->asked =
		ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
	return true;
}

/* Seized for events already, and so lent to us. */
static void
borrow(struct glance *g, struct asked *a)
{
	const pid_t tid = a->copy->tid;
	struct held h;

	g->asked_at = now_ns();
	if (thread_hold(g->t, tid, 0, g->limit_ns, &h) < 0)
		return;
	copy(g, a);
	(void)thread_release(g->t, &h);
	note_stand(g);
}

static bool
is_lent(const struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);

	return h && h->want == WANT_RUNNING && !h->stopped;
}

/* One that may have stopped: is it done with? */
static bool
take_stop(struct glance *g, struct asked *a)
{
	struct pack *p = &g->t->pack;
	const pid_t tid = a->copy->tid;
	int status;
	const int r = wait_status(tid, 0, &status);

	if (r == 0)
		return false;
	if (r < 0) {
		hold_vanished(p, tid);
		return true;
	}
	if (hold_step(p, tid, status) == 0)
		return false;		/* a signal first */
	if (!pack_find(p, tid))
		return true;		/* it has ended */
	/* first, should we be killed here; letting it go finds it done */
	hold_repair(g->t, pack_find(p, tid));
	copy(g, a);
	if (!pack_find(p, tid)->group_signal)
		(void)tick_start_over(g->t, tid);
	(void)hold_let_go(p, tid);
	note_stand(g);
	return true;
}

/* Until one may have stopped. */
static void
rest(struct glance *g, uint64_t deadline)
{
	const uint64_t now = now_ns();
	sigset_t set;

	if (now - g->asked_at < YIELD_NS) {
		sched_yield();
		return;
	}
	if (now >= deadline)
		return;

	const uint64_t left = deadline - now;
	const struct timespec ts = { (time_t)(left / 1000000000),
				     (long)(left % 1000000000) };

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, NULL, &ts) == SIGCHLD)
		g->took_signal = true;
	g->looked_at = now_ns();
}

static void
take_stops(struct glance *g, struct asked **wait, size_t n)
{
	const uint64_t deadline = now_ns() + g->limit_ns;

	while (n && now_ns() < deadline) {
		const size_t before = n;
		const uint64_t now = now_ns();

		for (size_t i = 0; i < n;) {
			if (take_stop(g, wait[i]))
				wait[i] = wait[--n];
			else
				i++;
		}
		g->ran_at = now;
		target_serve_late(g->t, 0);
		if (n == before)
			rest(g, deadline);
	}
	for (size_t i = 0; i < n; i++) {
		struct hold *h = pack_find(&g->t->pack, wait[i]->copy->tid);

		if (h) {
			h->want = WANT_GONE;
			h->late_since = now_ns();
			g->t->lates++;
		}
	}
}

static void
keep_seen(struct snapshot *snap)
{
	size_t kept = 0;

	for (size_t i = 0; i < snap->len; i++) {
		if (snap->threads[i].ok)
			snap->threads[kept++] = snap->threads[i];
		else
			snapshot_thread_fini(&snap->threads[i]);
	}
	snap->len = kept;
}

static void
stop_and_copy(struct glance *g)
{
	struct snapshot *snap = g->snap;
	struct asked *all = xcalloc(snap->len, sizeof *all);
	struct asked **wait = xcalloc(snap->len, sizeof *wait);
	size_t n = 0;

	for (size_t i = 0; i < snap->len; i++) {
		all[i].copy = &snap->threads[i];
		open_counts(g, &all[i]);
	}
	g->asked_at = g->ran_at = now_ns();
	for (size_t i = 0; i < snap->len; i++) {
		if (ask(g, snap->threads[i].tid))
			wait[n++] = &all[i];
		else if (is_lent(g->t, snap->threads[i].tid))
			borrow(g, &all[i]);
	}
	take_stops(g, wait, n);
	for (size_t i = 0; i < snap->len; i++)
		if (all[i].schedstat >= 0)
			close(all[i].schedstat);
	free(wait);
	free(all);
}

int
snapshot_running(struct target *t, const pid_t *tids, size_t n,
		 uint64_t came_at, uint64_t limit_ns, size_t max_stack,
		 struct snapshot *snap)
{
	struct glance g = { .t = t, .snap = snap, .came_at = came_at,
			    .limit_ns = limit_ns,
			    .max_stack = max_stack & ~(size_t)7 };
	sigset_t child, before;

	*snap = (struct snapshot){ 0 };
	if (t->gone)
		return fail(FAIL_MISSING, "process %d %s", (int)t->pid,
			    t->how);
	if (t->held)
		return 0;		/* nobody runs */
	snap->threads = xcalloc(n, sizeof *snap->threads);
	snap->len = n;
	for (size_t i = 0; i < n; i++) {
		snap->threads[i].tid = tids[i];
		snap->threads[i].stack = xmalloc(g.max_stack);
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, &before);
	stop_and_copy(&g);
	/* whoever else is seized may have news, too */
	if (g.took_signal && t->pack.len)
		(void)kill(getpid(), SIGCHLD);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	keep_seen(snap);
	fail_clear();		/* who has ended, or is another tracer's */
	return 0;
}
