/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fixed amount of work, and what it took: the victim of the slow-down table.
 *
 *     burn THREADS ROUNDS [DEPTH]
 *
 * Every thread stands before `ready` is said, so that a profiler can attach to
 * all of them; a line on standard input begins the work. The clocks are read
 * around the work alone, and the process clock counts what a profiler does
 * inside the process too.
 */
#include <pthread.h>

#include "../tests/victims/victim.h"

enum { THREADS_MAX = 64, DEPTH = 20, DEPTH_MAX = 10000, STEPS = 400, LIMIT_S = 300 };

static pthread_barrier_t start;
static long rounds;
static int depth = DEPTH;

__attribute__((noinline)) static uint32_t
leaf(uint32_t x)
{
	for (int i = 0; i < STEPS; i++)
		victim_random(&x);
	return x;
}

/*
 * Stacks as deep as those of real programs: unwinding has its price. Without
 * something to keep, the compiler makes a loop of it.
 */
__attribute__((noinline)) static uint32_t
descend(int n, uint32_t x)
{
	volatile uint32_t keep = (uint32_t)n;

	if (n == 0)
		return leaf(x);
	return descend(n - 1, x ^ keep) + keep;
}

static uint32_t
work(void)
{
	uint32_t sum = 1;

	for (long i = 0; i < rounds; i++)
		sum ^= descend(depth, sum | 1);
	return sum;
}

static void *
worker(void *sum)
{
	pthread_barrier_wait(&start);
	*(uint32_t *)sum = work();
	return NULL;
}

static void
start_workers(pthread_t *threads, uint32_t *sums, int n)
{
	for (int i = 1; i < n; i++) {
		if (pthread_create(&threads[i], NULL, worker, &sums[i]) != 0) {
			fputs("burn: no thread\n", stderr);
			exit(99);
		}
	}
}

int
main(int argc, char **argv)
{
	const int n = argc > 2 && argc < 5 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS_MAX];
	uint32_t sums[THREADS_MAX];
	uint64_t cpu, wall;

	rounds = argc > 2 ? atol(argv[2]) : 0;
	depth = argc > 3 ? atoi(argv[3]) : DEPTH;
	if (n < 1 || n > THREADS_MAX || rounds < 1 || depth < 1 ||
	    depth > DEPTH_MAX) {
		fputs("usage: burn THREADS ROUNDS [DEPTH]\n", stderr);
		return 99;
	}
	alarm(LIMIT_S);
	pthread_barrier_init(&start, NULL, (unsigned)n);
	start_workers(threads, sums, n);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 99;
	cpu = victim_clock(CLOCK_PROCESS_CPUTIME_ID);
	wall = victim_clock(CLOCK_MONOTONIC);
	pthread_barrier_wait(&start);
	sums[0] = work();
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	victim_say("cpu", victim_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	victim_say("wall", victim_clock(CLOCK_MONOTONIC) - wall);
	for (int i = 1; i < n; i++) {
		if (sums[i] != sums[0]) {
			puts("checksum wrong");
			return 1;
		}
	}
	puts("checksum ok");
	return 0;
}
