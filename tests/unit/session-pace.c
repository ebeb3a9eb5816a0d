/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When threads that wait are looked at: of a thousand of them as of three,
 * looks take their share of a processor and no more; one costly look, as the
 * first, does not end them; cheap ones come as often as was asked for, and out
 * of step; none comes early for nothing.
 * mission: D1 D9
 */
#include "../../src/session/waits.h"

#include <stdio.h>

enum { LOOKS = 400 };

static const uint64_t ms = 1000 * 1000, begun = 7777777777;
static int failures;

static void
check(bool ok, const char *what, uint64_t threads, uint64_t got)
{
	if (ok)
		return;
	printf("FAIL: %s: %llu threads: %llu\n", what,
	       (unsigned long long)threads, (unsigned long long)got);
	failures++;
}

/* From look to look, on average, where each of them takes so much and somebody
 * moves always. */
static uint64_t
average(uint64_t interval_ns, size_t threads, uint64_t cost_ns)
{
	struct pace p = { 0 };
	uint64_t now = begun;

	for (int i = 0; i < LOOKS; i++) {
		pace_next(&p, now, interval_ns, threads, true, cost_ns);
		now = p.due_ns;
	}
	return (now - begun) / LOOKS;
}

/* A look at each takes 24 us, as measured. */
static void
share(uint64_t interval_ns, uint64_t part)
{
	static const size_t threads[] = { 3, 64, 300, 1000, 10000 };

	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		const uint64_t cost = threads[i] * 24000;
		const uint64_t every = average(interval_ns, threads[i], cost);

		/* spans are random: 400 of them are true within 2 % */
		check(every >= cost * part / 100 * 98, "more than its share",
		      threads[i], every);
	}
}

static void
first_look(void)
{
	static const size_t threads[] = { 1, 4, 40 };

	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		struct pace p = { 0 };

		/* tables of a large program are made then */
		pace_next(&p, begun, 10 * ms, threads[i], true, 700 * ms);
		check(p.due_ns - begun <= 1250 * ms + 13 * ms * threads[i],
		      "one costly look keeps others away", threads[i],
		      p.due_ns - begun);
	}
}

/* A recording begins: the first look takes long, those after it are dear, but
 * the first half second is seen as often as was asked for. */
static void
start(void)
{
	struct pace p = { 0 };
	uint64_t now = begun;
	int looks = 0;

	for (; now < begun + 500 * ms; looks++) {
		pace_next(&p, now, 10 * ms, 3, true, looks ? 72000 : 2 * ms);
		now = p.due_ns;
	}
	check(looks >= 20, "few looks at the start", 3, (uint64_t)looks);
}

static void
cheap_looks(void)
{
	struct pace p = { 0 };
	uint64_t now = begun, least = UINT64_MAX, most = 0;

	check(average(10 * ms, 3, 1000) / ms == 20 ||
	      average(10 * ms, 3, 1000) / ms == 19, "not as often as asked for",
	      3, average(10 * ms, 3, 1000));
	for (int i = 0; i < LOOKS; i++) {
		pace_next(&p, now, ms, 3, true, 1000);

		const uint64_t span = p.due_ns - now;

		least = span < least ? span : least;
		most = span > most ? span : most;
		now = p.due_ns;
	}
	check(least >= 7500000 && least < 8 * ms, "the shortest", 3, least);
	check(most <= 12500000 && most > 12 * ms, "the longest", 3, most);
}

/* Nobody moves: they are rare, but come early where something else woke us. */
static void
idle_looks(void)
{
	struct pace p = { 0 };
	uint64_t now = begun;

	for (int i = 0; i < 20; i++) {
		pace_next(&p, now, ms, 3, false, 1000);
		check(p.early_ns > now && p.early_ns < p.due_ns, "no early one",
		      3, p.early_ns);
		now = p.due_ns;
	}
	check(p.span_ns == 80 * ms, "while nothing happens", 3, p.span_ns);
	pace_next(&p, now, ms, 3, true, 1000);
	check(p.span_ns == 10 * ms && p.early_ns == p.due_ns, "when it does",
	      3, p.span_ns);
}

int
main(void)
{
	share(10 * ms, 250);
	share(ms, 100);
	first_look();
	start();
	cheap_looks();
	idle_looks();
	return failures != 0;
}
