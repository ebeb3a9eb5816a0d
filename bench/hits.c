/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hits THREADS CALLS FILE: threads call a function, CALLS times in all, and say in
 * a file how long that took. With 0 threads nothing is called, and as many turns of a sum
 * are timed. A hundred other functions are there and never called.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 64 };

#define ONE(n) \
	__attribute__((noinline, noclone, used)) void idle_##n(void); \
	void idle_##n(void) { __asm__ volatile("" ::: "memory"); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) \
	ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)

static long per_thread;

__attribute__((noinline, noclone)) static void
hit(long i)
{
	__asm__ volatile("" :: "r"(i) : "memory");
}

static void *
work(void *unused)
{
	for (long i = 0; i < per_thread; i++)
		hit(i);
	return unused;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
spin(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

int
main(int argc, char **argv)
{
	const int threads = argc > 3 ? atoi(argv[1]) : -1;
	const long calls = argc > 3 ? atol(argv[2]) : 0;
	pthread_t t[THREADS_MAX];
	double since;

	FILE *out = argc > 3 ? fopen(argv[3], "w") : NULL;

	if (!out || threads < 0 || threads > THREADS_MAX || calls < 1)
		return 2;
	per_thread = threads ? calls / threads : 0;
	since = now();
	if (threads == 0)
		spin(calls);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	fprintf(out, "ns %.4f\n", (now() - since) / (double)calls);
	return fclose(out) != 0;
}
