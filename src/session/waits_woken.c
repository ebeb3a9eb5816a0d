/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a thread waited for a processor. It had lost it to another thread, where
 * it ran; or it had slept, and was woken: then it waited where it had slept,
 * whatever it ran when it was sampled next. The kernel counts how often it left
 * a processor, by its own will or not, and how often it came to one; a wait is
 * over with each of the latter. Of waits that were counted together each has
 * the same part.
 */
#include "waits.h"

#include <stdlib.h>
#include <string.h>

enum { READ_NS = 40 * 1000 * 1000 };	/* between readings of one thread */

static bool
read_outs(const struct accounts *a, const struct waiter *th, uint64_t *willing,
	  uint64_t *lost)
{
	static const char will[] = "\nvoluntary_ctxt_switches:";
	static const char unwill[] = "\nnonvoluntary_ctxt_switches:";
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/status", (int)th->of.tid);

	char *text = file_read_at(target_proc(
		recorder_get_options(a->rec)->target), path, NULL);
	const char *at = text ? strstr(text, will) : NULL;
	const char *other = text ? strstr(text, unwill) : NULL;
	const bool told = at && other;

	if (told) {
		*willing = strtoull(at + strlen(will), NULL, 10);
		*lost = strtoull(other + strlen(unwill), NULL, 10);
	} else {
		fail_clear();
	}
	free(text);
	return told;
}

static double
smaller(double a, double b)
{
	return a < b ? a : b;
}

/* It came to a processor so often since the last reading. */
static void
use_up(struct outs *o, double turns, bool blocked)
{
	/* what it is blocked in it has not come back from */
	const double open = blocked && o->willing + o->lost > turns ?
		smaller(o->willing, 1) : 0;
	const double all = o->willing - open + o->lost;

	if (turns <= 0 || all <= 0)
		return;
	o->woken = (o->willing - open) / all;

	const double lost = smaller(turns * (1 - o->woken), o->lost);
	const double left = o->willing + o->lost - turns;

	o->lost -= lost;
	o->willing -= smaller(turns - lost, o->willing);
	/* it can have left once more often than it came, or they were read in
	 * two moments */
	if (left > 1) {
		o->lost /= left;
		o->willing /= left;
	}
}

static void
read_woken(const struct accounts *a, struct waiter *th, uint64_t now,
	   const struct task_turns *t)
{
	struct outs *o = &th->outs;
	uint64_t willing, lost;

	if (!read_outs(a, th, &willing, &lost))
		return;
	if (!o->known) {
		/* all its life, or what has been since */
		const uint64_t all = willing + lost;

		o->woken = all ? (double)willing / (double)all : 0;
	} else {
		/* a stop of ours takes the processor where it runs */
		const uint64_t all = willing - o->willing_then;
		const uint64_t ours = o->stood < all ? o->stood : all;

		o->willing += (double)(all - ours);
		o->lost += (double)(lost - o->lost_then + ours);
		use_up(o, (double)(t->switches - o->turns_then), th->blocked);
	}
	o->known = true;
	o->willing_then = willing;
	o->lost_then = lost;
	o->turns_then = t->switches;
	o->stood = 0;
	o->read_at = now;
}

uint64_t
woken_of(const struct accounts *a, struct waiter *th, uint64_t now,
	 const struct task_turns *t, uint64_t ns)
{
	const struct outs *o = &th->outs;

	if (ns && (!o->known || now - o->read_at >= READ_NS))
		read_woken(a, th, now, t);
	if (!o->known)
		return th->blocked ? ns : 0;
	return (uint64_t)((double)ns * o->woken);
}

uint64_t
woken_now(const struct waiter *th, const struct task_turns *t, uint64_t ns)
{
	const bool same = t->switches == th->last.switches;

	return same && (th->woke || th->blocked) ? ns :
		(uint64_t)((double)ns * th->outs.woken);
}
