/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * locking N DEPTH: N times a mutex that nobody else wants is locked and
 * unlocked by one thread of two, whose stack is DEPTH calls deep; after it says
 * `ready PID` and was told to go. Then `cpu`, the thread's own for that, in
 * nanoseconds, and once more for half as many after the next line of input, as
 * `after`.
 */
#include <pthread.h>

#include "../tests/victims/victim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static uint64_t
pairs(long n)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return victim_clock(CLOCK_THREAD_CPUTIME_ID) - start;
}

__attribute__((noinline)) static uint64_t
below(int depth, long n)
{
	const uint64_t ns = depth > 0 ? below(depth - 1, n) : pairs(n);

	__asm__ volatile("");
	return ns;
}

static void
wait_for_line(void)
{
	int c;

	while ((c = getchar()) != '\n')
		if (c == EOF)
			exit(0);
}

/* With one thread alone some libraries lock by less. */
static void *
other(void *none)
{
	(void)pause();
	return none;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 99;

	const long n = atol(argv[1]);
	const int depth = atoi(argv[2]);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 99;
	(void)below(depth, n / 10);
	printf("ready %d\n", (int)getpid());
	wait_for_line();
	victim_say("cpu", below(depth, n));
	wait_for_line();
	victim_say("after", below(depth, n / 2));
	return 0;
}
