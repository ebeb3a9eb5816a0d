/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pieces CALLS WORK REST SITES DEPTH [serve]: a function is called CALLS times,
 * from so many places by turns, calls itself until it is DEPTH deep, and works
 * there for WORK rounds; between two calls another one works for REST rounds.
 * Each measures by its own clocks how long it was within. "serve": it does so
 * each time that the truth is asked for.
 */
#include "victim.h"

enum { SITES_MAX = 3 };

static unsigned calls, work, rest, sites, depth;
static volatile uint64_t sum;
static uint64_t done;

static struct account {
	uint64_t calls, cpu_ns, wall_ns;
} within, between;

VICTIM_OWN static void
rounds(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum += i;
}

static void
enter(struct account *a)
{
	a->wall_ns -= victim_clock(CLOCK_MONOTONIC);
	a->cpu_ns -= victim_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void
leave(struct account *a)
{
	a->cpu_ns += victim_clock(CLOCK_THREAD_CPUTIME_ID);
	a->wall_ns += victim_clock(CLOCK_MONOTONIC);
	a->calls++;
}

VICTIM_OWN void
piece(unsigned deeper)
{
	if (deeper > 1) {
		piece(deeper - 1);
		sum++;		/* no jump, but a call */
		return;
	}
	enter(&within);
	rounds(work);
	leave(&within);
}

VICTIM_OWN static void
gap(void)
{
	enter(&between);
	rounds(rest);
	leave(&between);
}

VICTIM_OWN static void
call_from(unsigned site)
{
	switch (site) {
	case 0:
		piece(depth);
		break;
	case 1:
		piece(depth);
		sum += 1;
		break;
	default:
		piece(depth);
		sum += 2;
		break;
	}
	sum++;
}

static void
mark(void)
{
	const uint64_t since = victim_clock(CLOCK_MONOTONIC);

	within = between = (struct account){ 0 };
	for (unsigned i = 0; i < calls; i++) {
		call_from(i % sites);
		gap();
	}
	done += within.calls;
	victim_say("all_ns", victim_clock(CLOCK_MONOTONIC) - since);
	victim_say("calls", within.calls);
	victim_say("piece_cpu_ns", within.cpu_ns);
	victim_say("piece_wall_ns", within.wall_ns);
	victim_say("gap_cpu_ns", between.cpu_ns);
	victim_say("gap_wall_ns", between.wall_ns);
}

/* Whoever looks from outside stops it here. */
VICTIM_OWN static void
over(void)
{
	__asm__ volatile("" ::: "memory");
}

int
main(int argc, char **argv)
{
	victim_init();
	if (argc < 6)
		return 99;
	calls = (unsigned)atoi(argv[1]);
	work = (unsigned)atoi(argv[2]);
	rest = (unsigned)atoi(argv[3]);
	sites = (unsigned)atoi(argv[4]);
	depth = (unsigned)atoi(argv[5]);
	if (!calls || sites < 1 || sites > SITES_MAX)
		return 99;
	if (argc > 6) {
		victim_ready();
		victim_serve(mark);
	} else {
		mark();
	}
	over();
	return victim_end(done % calls == 0);
}
