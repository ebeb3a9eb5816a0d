/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that did not stop in time to be copied (glance.c). Each stands as
 * soon as it does stop, until this tracer looks for it: on a crowded machine
 * that is when its turn comes, which may be while the tracer waits for a disk.
 * So they are served before that, and for how long each stood is counted from
 * the last moment that it was known to run.
 */
#include "private.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOK_NS = 500 * 1000 };

void
target_late_run_still(struct target *t)
{
	for (size_t i = 0; t->lates && i < t->pack.len; i++)
		if (t->pack.items[i].late_since)
			t->pack.items[i].late_since = now_ns();
}

void
late_let_go(struct target *t, uint64_t since)
{
	const uint64_t stood = since ? now_ns() - since : 0;

	if (!since)
		return;
	t->late.stops++;
	t->late.total_ns += stood;
	if (stood > t->late.longest_ns)
		t->late.longest_ns = stood;
}

bool
target_has_late(const struct target *t)
{
	return t->lates > 0;
}

/* Its end is left for target_next_event. */
static bool
stands(pid_t tid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | WNOWAIT |
		      WAIT_FLAGS) == 0 && info.si_pid;
}

bool
target_serve_late_of(struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);

	return h && h->late_since && stands(tid) &&
		hold_let_go(&t->pack, tid) == 0;
}

static size_t
serve(struct target *t)
{
	size_t left = 0;

	for (size_t i = t->lates ? t->pack.len : 0; i-- > 0;) {
		const pid_t tid = i < t->pack.len && t->pack.items[i].late_since
			? t->pack.items[i].tid : 0;
		struct hold *h;

		if (!tid || target_serve_late_of(t, tid) ||
		    !(h = pack_find(&t->pack, tid)))
			continue;
		if (!stands(tid))
			h->late_since = now_ns();
		left++;
	}
	return left;
}

void
target_serve_late(struct target *t, uint64_t limit_ns)
{
	const struct timespec moment = { .tv_nsec = LOOK_NS };
	const uint64_t until = now_ns() + limit_ns;

	while (!t->gone && serve(t) && now_ns() < until)
		(void)nanosleep(&moment, NULL);
	fail_clear();		/* one that stays is dead: its end comes */
}

/* Whoever takes a SIGCHLD serves them. */
void
target_serve_told(struct target *t)
{
	sigset_t pending;

	if (!t->lates || sigpending(&pending) < 0)
		return;
	if (sigismember(&pending, SIGCHLD))
		target_serve_late(t, 0);
	else
		target_late_run_still(t);
}

struct late_stops
target_take_late(struct target *t)
{
	const struct late_stops late = t->late;

	t->late = (struct late_stops){ 0 };
	return late;
}
