/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * locking N DEPTH: N times a mutex that nobody else wants is locked and
 * unlocked by one thread of two (pairs.h).
 */
#include <pthread.h>

#include "pairs.h"

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

	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 99;
	return measure(argc, argv);
}
