/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spin31 [threads]: burns CPU 3:1 in three_parts and one_part, on every
 * thread, without frame pointers. Rounds have random lengths, so no clock can
 * fall into step with them. Each thread reads its own CPU clock around the
 * two functions: the truth is measured, not assumed.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { THREADS_MAX = 1024, UNIT = 120000 };

struct worker {
	pthread_t thread;
	_Atomic uint64_t three_ns, one_ns;	/* read by mark, any moment */
	uint64_t sum, expected;
	uint32_t seed;
} __attribute__((aligned(128)));

static struct worker workers[THREADS_MAX];
static int nworkers = 2;
/* Held until all are there: 500 that work would keep main from making more. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static uint64_t
three_parts(uint64_t x, uint32_t n)
{
	return burn(x, 3 * (uint64_t)n);
}

NOINLINE static uint64_t
one_part(uint64_t x, uint32_t n)
{
	return burn(x, n);
}

NOINLINE static void
work_round(struct worker *w)
{
	const uint32_t n = UNIT + victim_random(&w->seed) % UNIT;
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t middle;

	w->sum = three_parts(w->sum, n);
	middle = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	w->sum = one_part(w->sum, n);
	w->expected = leap(w->expected, 4 * (uint64_t)n);
	atomic_fetch_add(&w->three_ns, middle - start);
	atomic_fetch_add(&w->one_ns,
			 victim_clock(CLOCK_THREAD_CPUTIME_ID) - middle);
}

static void *
work(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	while (!atomic_load(&victim_over)) {
		work_round(arg);
		victim_rest();
	}
	return NULL;
}

static void
mark(void)
{
	uint64_t three = 0, one = 0;

	for (int i = 0; i < nworkers; i++) {
		three += atomic_load(&workers[i].three_ns);
		one += atomic_load(&workers[i].one_ns);
	}
	victim_say("three_ns", three);
	victim_say("one_ns", one);
}

int
main(int argc, char **argv)
{
	bool ok = true;

	if (argc > 1)
		nworkers = atoi(argv[1]);
	if (nworkers < 1 || nworkers > THREADS_MAX)
		return 99;
	victim_init();
	pthread_mutex_lock(&gate);
	for (int i = 0; i < nworkers; i++) {
		workers[i].seed = 0x9e3779b9u * (i + 1);
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			return 99;
	}
	pthread_mutex_unlock(&gate);
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < nworkers; i++) {
		pthread_join(workers[i].thread, NULL);
		ok = ok && workers[i].sum == workers[i].expected;
	}
	mark();
	return victim_end(ok);
}
