/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * acts MS: four functions, one after another, that use so many milliseconds of
 * CPU time each: early, middle, slow, late. Then `done 4` is said. In each of
 * them a thread is born, sleeps, and ends.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t sum;

static void *
sleeper(void *arg)
{
	(void)usleep(5000);
	return arg;
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
use(uint64_t ms)
{
	const uint64_t end = cpu_ns() + ms * 1000000;
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleeper, NULL))
		abort();
	while (cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			sum = sum * 31 + 7;
	pthread_join(thread, NULL);
}

#ifdef __clang__	/* knows no noclone, and does not clone */
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif

#define ACT(name, n) \
	OWN static void \
	name(uint64_t ms) \
	{ \
		use(ms); \
		sum += n;	/* no tail call */ \
	}

ACT(early, 1)
ACT(middle, 2)
ACT(slow, 3)
ACT(late, 4)

int
main(int argc, char **argv)
{
	const uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;

	early(ms);
	middle(ms);
	slow(ms);
	late(ms);
	printf("done 4\n");
	return 0;
}
