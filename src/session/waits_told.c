/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What others know of threads: stacks that they had on a processor, births,
 * deaths, and stops of ours.
 */
#include "waits.h"

void
waits_note_stack(struct waits *w, pid_t tid, uint64_t frinfo)
{
	struct waiter *th = w ? roll_find(&w->roll, tid) : NULL;

	if (th)
		th->run_frinfo = frinfo;
}

void
waits_note_stood(struct waits *w, pid_t tid)
{
	struct waiter *th = w ? roll_find(&w->roll, tid) : NULL;

	if (th)
		th->outs.stood++;
}

bool
waits_note_birth(struct waits *w, pid_t tid, uint64_t time_ns)
{
	struct waiter *th;
	bool another = false;

	if (!w || !w->on)
		return false;
	w->census.told = true;
	th = roll_find(&w->roll, tid);
	if (th && th->gone_ns) {		/* of the same number */
		if (!th->ended)
			account_end(&w->accounts, th, th->gone_ns);
		roll_drop(&w->roll, th);
		another = true;
		th = NULL;
	}
	if (!th)
		(void)roll_add(&w->roll, tid, time_ns);
	else if (th->met && !th->known)
		th->since_ns = time_ns;
	return another;
}

void
waits_note_death(struct waits *w, pid_t tid, uint64_t time_ns)
{
	struct waiter *th = w && w->on ? roll_find(&w->roll, tid) : NULL;

	/* an earlier thread of the same number */
	if (!th || time_ns < th->since_ns)
		return;
	if (!th->ended)
		account_end(&w->accounts, th, time_ns);
	if (th->of.tid != target_pid(w->opt->target))
		roll_drop(&w->roll, th);
	else
		th->ended = true, th->gone_ns = time_ns;
}

const struct roll *
waits_roll(const struct waits *w)
{
	return w ? &w->roll : NULL;
}
