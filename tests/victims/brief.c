/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * brief [a-second [hasty]]: threads that compute and sleep for some
 * microseconds and end, so many of them a second, as far as the machine can do
 * it. It says how many there were, how long they lived together, and what the
 * one that bears them computed. hasty: they end at once, and two bear them.
 */
#include <pthread.h>

#include "burn.h"
#include "crew.h"

enum { STEPS = 20000, NAP_US = 100 };

static _Atomic uint64_t lives_ns, bearer_cpu_ns, born, wrong;
static uint64_t gap_ns = 200000;
static bool hasty;

NOINLINE static uint64_t
be_brief(uint64_t x)
{
	return burn(x, STEPS);
}

static void *
live(void *arg)
{
	const uint64_t start = victim_clock(CLOCK_MONOTONIC);
	const uint64_t x = (uintptr_t)arg;

	if (hasty)
		return NULL;
	if (be_brief(x) != leap(x, STEPS))
		atomic_fetch_add(&wrong, 1);
	usleep(NAP_US);
	atomic_fetch_add(&lives_ns, victim_clock(CLOCK_MONOTONIC) - start);
	return NULL;
}

/* Bears them one by one, and lets each go. */
static void *
bear(void *arg)
{
	uint64_t due = victim_clock(CLOCK_MONOTONIC);
	pthread_t thread;

	while (!atomic_load(&victim_over)) {
		const uint64_t n = atomic_fetch_add(&born, 1);

		if (pthread_create(&thread, NULL, live,
				   (void *)(uintptr_t)(n + 1)) != 0 ||
		    pthread_join(thread, NULL) != 0)
			exit(99);
		atomic_store(&bearer_cpu_ns,
			     victim_clock(CLOCK_THREAD_CPUTIME_ID));
		due += gap_ns;
		if (victim_clock(CLOCK_MONOTONIC) < due)
			usleep(50);
	}
	return arg;
}

static void
mark(void)
{
	victim_say("born", atomic_load(&born));
	victim_say("lives_ns", atomic_load(&lives_ns));
	victim_say("bearer_cpu_ns", atomic_load(&bearer_cpu_ns));
}

int
main(int argc, char **argv)
{
	if (argc > 1 && atoi(argv[1]) > 0)
		gap_ns = 1000000000u / (unsigned)atoi(argv[1]);
	hasty = argc > 2;
	victim_init();
	crew_serve(hasty ? 2 : 1, bear, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
