/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inject engine where the kernel refuses perf: the target's own CPU timers
 * tick, and /proc tells what perf would have told: the threads, their CPU
 * times, in which mode they were used, and that the program has changed.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

/* One that was there at the last look, too, is worth a visit to the guest,
 * who makes timers for all that have none. */
static void
want_timer(struct inject *e, struct thread *th)
{
	if (th->timed || !th->drain || th->drain + 1 != e->drains)
		return;
	th->timed = true;
	(void)inject_wants_ticks(e, th->tid);
	e->refresh_due = e->births = true;
}

/*
 * Without perf: exact CPU times and new threads from /proc. The list is of
 * those that the guest will find by itself; what is not on it needs a timer.
 */
void
inject_read_threads(struct inject *e, enum reading what)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(e->opt->target, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct task_turns turns;

		/* with 500 threads, too, within a moment: no other facts */
		if (target_thread_turns(e->opt->target, tids[i], &turns) < 0)
			continue;	/* it ended meanwhile */

		struct thread *th = inject_thread(e, tids[i]);

		if (what == READ_LIST)
			th->timed = true;
		if (what != READ_CLOCKS)
			th->base_ns = turns.cpu_ns - th->booked_ns;
		else
			want_timer(e, th);
		th->cpu_ns = turns.cpu_ns - th->base_ns;
		th->drain = e->drains;
	}
	free(tids);
}

/* What the kernel did outside of calls, for page faults mostly, no tick tells
 * from user mode: on the whole it is what the process's clock has beyond the
 * ticks in calls. */
static void
estimate_outside(struct inject *e)
{
	const double u = (double)(e->utime - e->first_utime);
	const double s = (double)(e->stime - e->first_stime);
	const double all = (double)e->ticks_ns;
	const double calls = (double)e->in_calls_ns;

	if (u + s <= 0 || all <= calls)
		return;
	e->outside_share = (all * s / (u + s) - calls) / (all - calls);
	if (e->outside_share < 0)
		e->outside_share = 0;
}

void
inject_read_share(struct inject *e)
{
	struct task_stat st;

	if (target_stat(e->opt->target, &st) < 0)
		return;

	const uint64_t u = st.field[STAT_UTIME] - e->utime;
	const uint64_t s = st.field[STAT_STIME] - e->stime;

	if (u + s) {
		e->system_share = (double)s / (double)(u + s);
		e->utime += u;
		e->stime += s;
	}
	if (!e->drains) {
		e->first_utime = e->utime;
		e->first_stime = e->stime;
	}
	estimate_outside(e);
}

/* One that is about to end has no memory any more, and still a name. */
static bool
has_memory(struct target *t)
{
	char *maps = target_maps(t);
	const bool some = maps && *maps;

	free(maps);
	return some;
}

/* Without perf nobody tells us of an exec. What the thread clocks count from
 * then on is another program's. */
bool
inject_has_execed(struct inject *e)
{
	struct target *t = e->opt->target;
	char *comm;

	if (e->clock || target_gone(t) || guest_is_there(e->guest) ||
	    !has_memory(t))
		return false;
	comm = file_read_at(target_proc(t), "comm", NULL);
	if (!comm)
		return false;	/* it has ended: that is told soon */
	recorder_exec(e->rec, now_ns(), str_chomp(comm));
	free(comm);
	return true;
}
