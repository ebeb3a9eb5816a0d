/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that get no ticks. One that blocks the signal gives no sample, and
 * a tick that waits for it would be seen by a program that takes all signals
 * from sigtimedwait or a signalfd: none is sent until it hears again, and its
 * time is booked as lost, under its name. One that blocks it for a moment gets
 * its tick late. One that lets signals in only while it waits (ppoll, pselect,
 * epoll_pwait, sigsuspend) would have all of its ticks in there.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

bool
inject_wants_ticks(struct inject *e, pid_t tid)
{
	struct thread *th = inject_thread(e, tid);

	th->deaf = th->late ||
		inject_thread_is_deaf(e->opt->target, tid,
				      guest_signal(e->guest));
	return !th->deaf;
}

static void
send_ticks(struct inject *e, struct thread *th, bool on)
{
	if (e->clock)
		signal_clock_send(e->clock, th->tid, on);
	else
		e->refresh_due = true;
}

void
inject_came_late(struct inject *e, struct thread *th)
{
	if (!th->late)
		send_ticks(e, th, false);
	th->late = th->deaf = true;
}

bool
inject_is_deaf(struct inject *e, struct thread *th)
{
	const bool before = th->deaf;
	const bool wants = inject_wants_ticks(e, th->tid);

	if (wants != before)
		return before;
	send_ticks(e, th, wants);
	return true;
}

/* ---- without perf: what the guest cannot see ----------------------------- */

/* A handler of ours makes one call: to put the timer to sleep when we are
 * gone. A filter may punish it. */
enum { FILTERS_EVERY = 10 };	/* drains, for each thread */

void
inject_tell_guest(struct inject *e)
{
	struct record_area *area = guest_area(e->guest);
	pid_t *deaf = xcalloc(e->threads.len + 1, sizeof *deaf);
	size_t at = 0, n = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		const struct thread *th = (struct thread *)(uintptr_t)slot;

		if (th->drain != e->drains)
			continue;	/* it has ended */
		if (th->deaf)
			deaf[n++] = th->tid;
		if (!area->confined &&
		    (e->drains + (uint64_t)th->tid) % FILTERS_EVERY == 0 &&
		    inject_thread_is_confined(e->opt->target, th->tid))
			__atomic_store_n(&area->confined, 1,
					 __ATOMIC_RELAXED);
	}
	guest_set_deaf(e->guest, deaf, n);
	free(deaf);
}
