/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread, which is to be stopped for a debugger. A look
 * (partial.c) tells whether it is blocked in a call that a stop would cut
 * short; but right after that it may begin the next one, and while it runs
 * nothing shows. So it is met by a sentry (sentry.c) between two calls.
 *
 * Not so the threads of larger programs: while one of them is waited for, the
 * first ones to be met would stand, and it may wait for them.
 */
#include "hazard.h"
#include "private.h"

#include <stdlib.h>

/* 0: there are more, or none. */
static pid_t
only_thread(struct target *t)
{
	pid_t *tids = NULL, one = 0;
	size_t cap = 0, alive = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n && alive < 2; i++) {
		if (!state_alive(proc_thread_state(t, tids[i])) ||
		    target_is_worker(t, tids[i]))
			continue;
		one = tids[i];
		alive++;
	}
	free(tids);
	return alive == 1 ? one : 0;
}

/* It stands in user mode, or is where a stop does no harm: at once, then. */
static void
stop_now(struct target *t, pid_t tid)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!h->stopped) {
		h->asked = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
		(void)hold_settle(&t->pack, tid,
				  deadline_in_ms(STOP_LIMIT_MS));
		h = pack_find(&t->pack, tid);
	}
	if (h && h->stopped)
		t->pack.asked_at = h->stopped_at;
}

/* A parent in vfork cannot be stopped; for the program it stands. */
static bool
is_to_meet(const struct target *t, pid_t tid, const struct hold *known)
{
	const bool idle = !known || (!known->stopped && !known->asked &&
				     !known->group_signal &&
				     known->want != WANT_ASIS);

	return handled(HAZARD_TRANSFER) && idle &&
		proc_thread_state(t, tid) != 'D';
}

int
meet_only(struct target *t)
{
	const pid_t tid = only_thread(t);
	struct hold *h = tid ? pack_find(&t->pack, tid) : NULL;
	const bool ran = h && h->want == WANT_RUNNING;

	if (!tid || !is_to_meet(t, tid, h))
		return 0;
	switch (sentry_post(t, tid, t->pack.options,
			    deadline_in_ms(STOP_LIMIT_MS))) {
	case 1:
		break;
	case 0:
		return ran ? 0 : partial_look_long(t, tid);
	default:
		fail_clear();	/* seizing all tells why */
		return 0;
	}
	if (ran)	/* what it bears meanwhile stands with it */
		pack_find(&t->pack, tid)->want = WANT_STOPPED;
	if (sentry_wait(t, tid, deadline_in_ms(STOP_LIMIT_MS),
			PARTIAL_LIMIT_MS) == 0) {
		stop_now(t, tid);
		return 0;
	}
	/* its sentry stays, and lets it go when it meets it */
	if (!ran && pack_find(&t->pack, tid))
		return -1;
	fail_clear();
	return 0;
}
