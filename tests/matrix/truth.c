/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * truth: what a cell of the matrix compares with. One thread spends a quarter
 * of its time in one function and the rest in another, one sleeps at the end of
 * a known chain of calls, one takes and gives back a lock. "leak N" on standard
 * input takes N blocks of 1000 bytes that nobody frees; "probe" prints what was
 * computed so far, and whether it is right; "end" ends it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

enum { UNIT = 20000, BLOCK = 1000, TIMES = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds, sum;	/* under lock */
static volatile long locked;
int matrix_number = 4711;

static uint64_t
step(uint64_t x, unsigned n)
{
	__asm__ volatile("");	/* each call is made */
	while (n--)
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
	return x;
}

OWN uint64_t
a_quarter(uint64_t x)
{
	return step(x, UNIT) + 1;
}

OWN uint64_t
three_quarters(uint64_t x)
{
	return step(x, 3 * UNIT) + 3;
}

static void *
compute(void *arg)
{
	const struct timespec rest = { .tv_nsec = 1000000 };

	for (;;) {
		uint64_t more = 0;

		for (int i = 0; i < TIMES; i++)
			more += a_quarter(1) + three_quarters(1);
		pthread_mutex_lock(&lock);
		sum += more;
		rounds++;
		pthread_mutex_unlock(&lock);
		nanosleep(&rest, NULL);
	}
	return arg;
}

OWN void
sleep_deepest(void)
{
	const struct timespec long_one = { .tv_sec = 1000 };

	nanosleep(&long_one, NULL);
	__asm__ volatile("");
}

OWN void
sleep_middle(void)
{
	sleep_deepest();
	__asm__ volatile("");
}

static void *
sleep_outer(void *arg)
{
	sleep_middle();
	return arg;
}

static void *
take_locks(void *arg)
{
	const struct timespec rest = { .tv_nsec = 2000000 };

	for (;;) {
		pthread_mutex_lock(&lock);
		locked++;
		pthread_mutex_unlock(&lock);
		nanosleep(&rest, NULL);
	}
	return arg;
}

OWN void
leak_here(int n)
{
	while (n-- > 0)
		*(void *volatile *)malloc(BLOCK) = NULL;
}

int
matrix_add(int a, int b)
{
	return a + b;
}

static void
probe(void)
{
	const uint64_t each = a_quarter(1) + three_quarters(1);
	bool right;
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = rounds;
	right = sum == n * TIMES * each;
	pthread_mutex_unlock(&lock);
	printf("probe %llu %s\n", (unsigned long long)n,
	       right ? "ok" : "WRONG");
}

int
main(void)
{
	pthread_t th;
	char line[64];
	int n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pthread_create(&th, NULL, compute, NULL) ||
	    pthread_create(&th, NULL, sleep_outer, NULL) ||
	    pthread_create(&th, NULL, take_locks, NULL))
		return 99;
	printf("pid %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "leak %d", &n) == 1) {
			leak_here(n);
			printf("leaked %d\n", n);
		} else if (strncmp(line, "probe", 5) == 0) {
			probe();
		} else {
			break;
		}
	}
	printf("end\n");
	return 0;
}
