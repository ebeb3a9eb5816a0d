/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * churn [at-a-time]: threads that burn 3 ms of CPU and end, without pause.
 * No thread lives long enough to be noticed by who looks only now and then.
 */
#include <pthread.h>

#include "burn.h"
#include "crew.h"

enum { LIFE_NS = 3000000, STEPS = 20000 };

static _Atomic uint64_t threads_ended, wrong;

NOINLINE static uint64_t
short_life(uint64_t x, uint64_t *steps)
{
	const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID) + LIFE_NS;

	do {
		x = burn(x, STEPS);
		*steps += STEPS;
	} while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < end);
	return x;
}

static void *
live(void *arg)
{
	const uint64_t seed = (uintptr_t)arg;
	uint64_t steps = 0;
	const uint64_t x = short_life(seed, &steps);

	if (x != leap(seed, steps))
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&threads_ended, 1);
	return NULL;
}

/* Keeps one thread alive at a time, always a new one. */
static void *
keep_going(void *arg)
{
	uintptr_t seed = (uintptr_t)arg * 1000003;

	while (!atomic_load(&victim_over)) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, live, (void *)seed++) != 0 ||
		    pthread_join(thread, NULL) != 0)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("threads", atomic_load(&threads_ended));
}

int
main(int argc, char **argv)
{
	victim_init();
	crew_serve(argc > 1 ? atoi(argv[1]) : 2, keep_going, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
