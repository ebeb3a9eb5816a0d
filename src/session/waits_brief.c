/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads too short for a look. Where a clock tells of births and ends their
 * lives are known, all but what for they waited. Where nobody tells they are
 * counted: how many threads there are whenever we are awake, and the time
 * between, is what all have lived together; beyond the lives of those that were
 * met are those of the others. That is an estimate, and told as one.
 */
#include "waits.h"

#include <sys/stat.h>

enum {
	LEAST_NS = 1000 * 1000,	/* between counts */
	LINKS = 2,		/* of a directory beside its entries */
};

/* ---- how many there are -------------------------------------------------- */

static uint64_t
count_threads(const struct roll *r)
{
	struct stat st;

	return fstat(dirfd(r->tasks), &st) == 0 && st.st_nlink > LINKS ?
		st.st_nlink - LINKS : 0;
}

void
census_begin(struct census *c, const struct roll *r, uint64_t now)
{
	c->told = false;
	c->at = now;
	c->threads = count_threads(r);
	c->lives_ns = c->squares = c->cpu_ns = 0;
	if (target_cpu_ns(r->target, &c->clock_start_ns) < 0)
		c->clock_start_ns = 0;
}

void
census_take(struct census *c, const struct roll *r, uint64_t now)
{
	if (now < c->at + LEAST_NS)
		return;

	const uint64_t threads = count_threads(r);
	const uint64_t more = threads > c->threads ? threads - c->threads :
		c->threads - threads;
	const uint64_t unsure_us = (now - c->at) / 1000 * more / 2;

	c->lives_ns += (now - c->at) * (c->threads + threads) / 2;
	c->squares += unsure_us * unsure_us;
	c->threads = threads;
	c->at = now;
}

/* Of those that were met; how many of them live. */
static uint64_t
lives_known(const struct accounts *a, const struct roll *r, uint64_t now,
	    uint64_t *living)
{
	uint64_t tid, at, lives = a->lives_ns;
	size_t i = 0;

	*living = 0;
	while (map_next(&r->threads, &i, &tid, &at)) {
		const struct waiter *th = (struct waiter *)(uintptr_t)at;
		const uint64_t end = th->gone_ns && th->gone_ns < now ?
			th->gone_ns : now;

		*living += !th->gone_ns;
		if (!th->ended && end > th->since_ns)
			lives += end - th->since_ns;
	}
	return lives;
}

static uint64_t
square_root(uint64_t n)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= n)
			root += bit;
	return root;
}

/* When, between two counts, threads came and went; and when a met one did: of
 * what these may amount to nothing is made. */
static uint64_t
unsure_ns(const struct census *c, const struct accounts *a, uint64_t every_ns)
{
	return square_root(c->squares) * 1000 +
		2 * (LAG_NS + every_ns) * square_root(1 + a->ends);
}

static uint64_t
unmet_at_end(const struct census *c, const struct accounts *a,
	     const struct roll *r, uint64_t unsure)
{
	uint64_t living;
	const uint64_t known = lives_known(a, r, c->at, &living);

	return c->lives_ns > known + unsure ? c->lives_ns - known : 0;
}

/* Not more than it will be: who lives and is not on the last list may be on the
 * next one. */
static uint64_t
unmet_so_far(const struct census *c, const struct accounts *a,
	     const struct roll *r, uint64_t unsure)
{
	uint64_t living, less;

	less = lives_known(a, r, c->at, &living) + unsure;
	if (c->threads > living && c->at > r->listed_at)
		less += (c->threads - living) * (c->at - r->listed_at);
	return c->lives_ns > less ? c->lives_ns - less : 0;
}

uint64_t
census_unmet(const struct census *c, const struct accounts *a,
	     const struct roll *r, uint64_t every_ns, enum census_time when)
{
	const uint64_t unsure = unsure_ns(c, a, every_ns);

	if (c->told)
		return 0;
	return when == CENSUS_AT_END ? unmet_at_end(c, a, r, unsure) :
		unmet_so_far(c, a, r, unsure);
}

/* ---- what they waited ---------------------------------------------------- */

uint64_t
census_cpu(const struct census *c, const struct roll *r)
{
	uint64_t now;

	return target_cpu_ns(r->target, &now) < 0 ? c->cpu_ns :
		now - c->clock_start_ns;
}

/* What the process used beyond those that we know, they used. */
uint64_t
census_wait(const struct census *c, const struct accounts *a,
	    const struct roll *r, uint64_t unmet_ns)
{
	const uint64_t lives = a->brief_ns + unmet_ns;

	if (!lives)
		return 0;

	const uint64_t used = census_cpu(c, r);
	const uint64_t seen = a->seen_cpu_ns + roll_seen_cpu(r);
	const uint64_t cpu = used > seen ? used - seen : 0;

	return lives > cpu ? lives - cpu : 0;
}

/* What for they waited nobody knows. */
void
census_book(struct census *c, struct accounts *a, const struct roll *r,
	    uint64_t now, uint64_t unmet_ns)
{
	const uint64_t wait = census_wait(c, a, r, unmet_ns);

	if (!wait)
		return;
	a->booked[MSTATE_SLEEP] += wait;
	recorder_unsampled_wait(a->rec, now, wait);
	c->guessed_ns += unmet_ns < wait ? unmet_ns : wait;
}
