/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When to look at threads that have no processor: no faster than what a look
 * costs allows, rarely while nothing happens, and out of step with what is
 * looked at.
 */
#include "waits.h"

enum {
	LOOK_NS = 10 * 1000 * 1000,	/* between looks, at least */
	LOOK_TICKS = 2,			/* ... and so many intervals */
	IDLE_NS = 80 * 1000 * 1000,	/* ... when nobody begins to wait */
	/* of a processor: looks take 1 %, and 0.4 % where no sample is asked
	 * for more often than this */
	COST_SHARE = 100, COST_SHARE_LOW = 250,
	LOW_NS = 10 * 1000 * 1000,
	/* longest between looks, and more for each thread: one costly look,
	 * as the first, is not all that there is */
	STRETCH_NS = 1000 * 1000 * 1000,
	STRETCH_EACH_NS = 10 * 1000 * 1000,
	CREDIT_NS = 1000 * 1000 * 1000,
};

static uint64_t
asked_ns(uint64_t interval_ns)
{
	const uint64_t ticks = LOOK_TICKS * interval_ns;

	return ticks > LOOK_NS ? ticks : LOOK_NS;
}

/* Looks may take one part in so many of a processor. */
static uint64_t
share_of(uint64_t interval_ns)
{
	return interval_ns < LOW_NS ? COST_SHARE : COST_SHARE_LOW;
}

/*
 * A look is paid for from what its share of the time has grown to: at first,
 * and where nothing has cost much for a while, that of CREDIT_NS. So the looks
 * at the start of a recording follow each other as was asked for, though the
 * first of them cost most. A debt is paid within most_ns.
 */
static void
pay(struct pace *p, uint64_t now, uint64_t share, uint64_t most_ns,
    uint64_t cost_ns)
{
	const int64_t full = (int64_t)(CREDIT_NS / share);
	const int64_t least = -(int64_t)(most_ns / share);
	const int64_t grown = (int64_t)((now - p->paid_at) / share);

	if (!p->paid_at || grown > full - p->credit_ns)
		p->credit_ns = full;
	else
		p->credit_ns += grown;
	p->paid_at = now;
	if (p->credit_ns < least ||
	    cost_ns > (uint64_t)(p->credit_ns - least))
		p->credit_ns = least;
	else
		p->credit_ns -= (int64_t)cost_ns;
}

/* So long that looks take no more than their share, but not for ever. */
static uint64_t
stretched_ns(struct pace *p, uint64_t now, uint64_t span, uint64_t interval_ns,
	     size_t threads, uint64_t cost_ns)
{
	const uint64_t most = STRETCH_NS + STRETCH_EACH_NS * (uint64_t)threads;
	const uint64_t share = share_of(interval_ns);
	uint64_t needed = 0;

	pay(p, now, share, most, cost_ns);
	if (p->credit_ns < 0)
		needed = (uint64_t)-p->credit_ns * share;
	if (span < needed)
		span = needed;
	return span < most ? span : most;
}

/*
 * A quarter more or less than the interval, so that nothing that keeps time
 * is seen at one moment of it always. While nobody begins to wait there is
 * little to see: then a wake-up for something else will do, since it is being
 * woken that costs most.
 */
void
pace_next(struct pace *p, uint64_t now, uint64_t interval_ns, size_t threads,
	  bool moved, uint64_t cost_ns)
{
	const uint64_t asked = asked_ns(interval_ns);
	uint64_t span = p->span_ns * 2 < IDLE_NS ? p->span_ns * 2 : IDLE_NS;

	if (moved || span < asked)
		span = asked;
	p->span_ns = span;
	span = stretched_ns(p, now, span, interval_ns, threads, cost_ns);
	p->random = hash_word(p->random + now);
	p->due_ns = now + span * 3 / 4 + p->random % (span / 2);
	p->early_ns = moved ? p->due_ns : now + span / 2;
}
