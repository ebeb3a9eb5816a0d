/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * one-look: threads in a convoy. One at a time holds the lock and sleeps, in
 * asleep_with_lock; the others wait for the lock, in taking_lock. So no thread
 * ever sleeps in taking_lock, nor waits for the lock in asleep_with_lock.
 */
#include <pthread.h>

#include "victim.h"

enum { THREADS = 6, HOLD_NS = 50000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds;			/* under the lock */

VICTIM_OWN static void
asleep_with_lock(void)
{
	const struct timespec nap = { .tv_nsec = HOLD_NS };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	rounds++;
}

VICTIM_OWN static void
taking_lock(void)
{
	pthread_mutex_lock(&lock);
	asleep_with_lock();
	pthread_mutex_unlock(&lock);
}

static void *
serve(void *arg)
{
	while (!atomic_load(&victim_over))
		taking_lock();
	return arg;
}

int
main(void)
{
	pthread_t threads[THREADS];

	victim_init();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL) != 0)
			exit(99);
	victim_ready();
	victim_serve(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return victim_end(rounds > 0);
}
