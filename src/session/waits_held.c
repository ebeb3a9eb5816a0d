/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time of a thread that is not written yet: held back for a while, to be one
 * packet for each place and state, but not beyond a resource sample. What is
 * between two of them is a whole.
 */
#include "waits.h"

#define HOLD_NS		UINT64_C(1000000000)	/* until it is written */
#define HOLD_MAX_NS	UINT64_C(16000000000)	/* ... of who waits for long */

static void
write_one(struct accounts *a, const struct waiter *th, uint64_t now,
	  const struct held_time *h)
{
	if (!h->ns)		/* it was taken back */
		return;
	a->booked[h->state] += h->ns;
	recorder_wait(a->rec, now, th->of.tid, h->state, h->ns,
		      h->frinfo ? h->frinfo : a->unseen_frinfo);
}

void
held_write(struct accounts *a, struct waiter *th, uint64_t now)
{
	for (size_t i = 0; i < th->held_len; i++)
		write_one(a, th, now, &th->held[i]);
	th->held_len = 0;
	th->held_since = now;
}

void
held_add(struct accounts *a, struct waiter *th, uint64_t now, enum mstate state,
     uint64_t ns, uint64_t frinfo)
{
	if (!ns)
		return;
	for (size_t i = 0; i < th->held_len; i++) {
		struct held_time *h = &th->held[i];

		if (h->state == state && h->frinfo == frinfo) {
			h->ns += ns;
			return;
		}
	}
	if (th->held_len == HELD_MAX)
		held_write(a, th, now);
	th->held[th->held_len++] = (struct held_time){ state, frinfo, ns };
}

/* No turn since what was written. */
bool
held_is_still(const struct waiter *th)
{
	return th->turns_written == th->last.switches;
}

/* Who waits for long says so in fewer packets. */
void
held_write_due(struct accounts *a, struct waiter *th, uint64_t now)
{
	const bool still = held_is_still(th);
	const uint64_t held = th->hold_ns ? th->hold_ns : HOLD_NS;
	const uint64_t span = still ? held : HOLD_NS;

	if (now - th->held_since < span)
		return;
	th->hold_ns = !still ? HOLD_NS : held < HOLD_MAX_NS ?
		held * 2 : HOLD_MAX_NS;
	th->turns_written = th->last.switches;
	held_write(a, th, now);
}

/* ... in one for each span of samples. */
void
held_write_sample(struct accounts *a, struct waiter *th, uint64_t now)
{
	th->turns_written = th->last.switches;
	th->hold_ns = HOLD_NS;
	held_write(a, th, now);
}

/* ---- what it waited for a processor -------------------------------------- */

/* Where it ran last. */
void
held_place_waited(struct accounts *a, struct waiter *th, uint64_t now)
{
	const uint64_t frinfo = th->run_frinfo ? th->run_frinfo : th->frinfo;

	for (size_t i = 0; i < th->late_len; i++)
		write_one(a, th, th->late[i].at, &(struct held_time){
				  MSTATE_WAIT_CPU, frinfo, th->late[i].ns });
	held_add(a, th, now, MSTATE_WAIT_CPU, th->unplaced_ns, frinfo);
	th->unplaced_ns = th->late_len = 0;
}

/* What began when it woke up: where it had slept. */
void
held_place_woken(struct accounts *a, struct waiter *th, uint64_t now,
		 uint64_t frinfo)
{
	held_add(a, th, now, MSTATE_WAIT_CPU, th->woken_ns, frinfo);
	th->woken_ns = 0;
}

/* A resource sample is taken, and no stack is known. */
void
held_place_later(struct waiter *th, uint64_t now)
{
	struct late_time *l = &th->late[th->late_len];

	if (th->late_len < LATE_MAX)
		*l = (struct late_time){ .ns = 0 }, th->late_len++;
	else
		l--;
	l->ns += th->unplaced_ns;
	l->at = now;
	th->unplaced_ns = 0;
}

/* Of what is not written yet. */
uint64_t
held_take_back(struct waiter *th, enum mstate state, uint64_t ns)
{
	uint64_t left = ns;

	for (size_t i = 0; i < th->held_len && left; i++) {
		struct held_time *h = &th->held[i];
		const uint64_t part = h->state != state ? 0 :
			h->ns < left ? h->ns : left;

		h->ns -= part;
		left -= part;
	}
	return ns - left;
}
