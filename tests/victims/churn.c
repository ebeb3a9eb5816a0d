/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * churn [at-a-time]: threads that burn 3 ms of CPU and end, without pause.
 * No thread lives long enough to be noticed by who looks only now and then.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { LIFE_NS = 3000000, STEPS = 20000, MAX = 64 };

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
	uintptr_t seed = (uintptr_t)arg;

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
	const int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t keeper[MAX];

	if (n < 1 || n > MAX)
		return 99;
	victim_init();
	for (int i = 0; i < n; i++)
		if (pthread_create(&keeper[i], NULL, keep_going,
				   (void *)(uintptr_t)(i * 1000003)) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < n; i++)
		pthread_join(keeper[i], NULL);
	mark();
	return victim_end(atomic_load(&wrong) == 0);
}
