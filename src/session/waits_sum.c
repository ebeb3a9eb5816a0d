/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time by state as it is at a moment between two looks. What is certain is how
 * much there is: the lives of all threads, without what the process's clock
 * counts. What is not in an account yet goes where the last look of each
 * thread points to:
 *
 *	blocked		    since then it was		this state
 *	it ran, or wanted to	what nobody counted		as it was on the whole
 *				since then it ran, or	Wait CPU
 *	too short for a look				Sleep
 *	not looked at yet				later
 *
 * What of this is more than there is, they ran.
 */
#include "waits.h"

struct tally {
	uint64_t lives_ns, counted_ns;
	uint64_t open_ns[MSTATE_COUNT];
};

static uint64_t
span(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void
add_open(struct tally *t, const struct waiter *th, uint64_t end)
{
	const uint64_t since = span(th->looked_at, end);
	const enum mstate state = th->known ? th->state : MSTATE_SLEEP;

	if (th->blocked) {
		t->open_ns[state] += since;
		return;
	}

	const uint64_t open = account_new_blocked(th, th->looked_at, &th->last);
	const uint64_t wait = account_part_waited(th, open);

	t->open_ns[state] += open - wait;
	t->open_ns[MSTATE_WAIT_CPU] += wait + since;
}

static void
add_thread(struct tally *t, const struct waiter *th, uint64_t now,
	   uint64_t sum[MSTATE_COUNT])
{
	const uint64_t end = th->gone_ns ? th->gone_ns : now;
	uint64_t unplaced = th->unplaced_ns + th->woken_ns;

	for (size_t i = 0; i < th->held_len; i++) {
		sum[th->held[i].state] += th->held[i].ns;
		t->counted_ns += th->held[i].ns;
	}
	for (size_t i = 0; i < th->late_len; i++)
		unplaced += th->late[i].ns;
	sum[MSTATE_WAIT_CPU] += unplaced;
	t->counted_ns += unplaced;
	if (th->ended || !th->looks)
		return;
	t->lives_ns += span(th->since_ns, end);
	add_open(t, th, end);
}

/* Each state as much as it may have; Wait CPU the rest. */
static void
share_out(const struct tally *t, uint64_t cpu_ns, uint64_t sum[MSTATE_COUNT])
{
	const uint64_t all = span(t->counted_ns + cpu_ns, t->lives_ns);
	uint64_t others = 0;

	for (size_t i = 0; i < MSTATE_COUNT; i++)
		if (i != MSTATE_WAIT_CPU)
			others += t->open_ns[i];

	const double share = others > all ? (double)all / (double)others : 1;

	for (size_t i = 0; i < MSTATE_COUNT; i++)
		if (i != MSTATE_WAIT_CPU)
			sum[i] += (uint64_t)((double)t->open_ns[i] * share);
	sum[MSTATE_WAIT_CPU] += span(others, all);
}

void
accounts_sum(const struct accounts *a, const struct roll *r,
	     const struct census *c, uint64_t now, uint64_t unmet_ns,
	     uint64_t sum[MSTATE_COUNT])
{
	struct tally t = { .lives_ns = a->lives_ns + unmet_ns };
	uint64_t tid, at;
	size_t i = 0;

	for (size_t s = 0; s < MSTATE_COUNT; s++) {
		sum[s] = a->booked[s];
		t.counted_ns += a->booked[s] - a->booked_before[s];
	}
	t.open_ns[MSTATE_SLEEP] = census_wait(c, a, r, unmet_ns);
	while (map_next(&r->threads, &i, &tid, &at))
		add_thread(&t, (struct waiter *)(uintptr_t)at, now, sum);
	share_out(&t, census_cpu(c, r), sum);
}
