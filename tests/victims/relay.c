/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * relay LIFE_MS: threads one after another, each of which lives for so long and
 * blocks about every 5 ms. It says how often all of them did, those that have
 * ended too.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "victim.h"

static uint64_t life_ns;

static void *
live(void *arg)
{
	const uint64_t end = victim_clock(CLOCK_MONOTONIC) + life_ns;

	while (!atomic_load(&victim_over) &&
	       victim_clock(CLOCK_MONOTONIC) < end)
		usleep(5000);
	return arg;
}

static void *
hand_on(void *arg)
{
	pthread_t thread;

	while (!atomic_load(&victim_over))
		if (pthread_create(&thread, NULL, live, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			exit(99);
	return arg;
}

static void
mark(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_SELF, &use) < 0)
		exit(99);
	victim_say("voluntary", (uint64_t)use.ru_nvcsw);
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		return 99;
	life_ns = strtoull(argv[1], NULL, 10) * 1000000;
	victim_init();
	if (pthread_create(&thread, NULL, hand_on, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, NULL);
	return victim_end(true);
}
