/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * crowd BUSY IDLE: so many threads that compute all the time, far more than
 * there are processors, and so many that wait for the end. The busy ones make
 * no system call: what they do not run they wait for a processor. Beside them
 * is only the first thread, which sleeps.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { MOST = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

NOINLINE static uint64_t
compute(uint64_t x)
{
	return burn(x, 200000);
}

static void *
be_busy(void *arg)
{
	uint64_t x = 1;

	while (!atomic_load(&victim_over))
		x = compute(x);
	return x == 1 ? arg : NULL;
}

static void *
be_idle(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!atomic_load(&victim_over))
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

int
main(int argc, char **argv)
{
	static pthread_t threads[MOST];
	const int busy = argc == 3 ? atoi(argv[1]) : -1;
	const int all = argc == 3 ? busy + atoi(argv[2]) : -1;

	if (busy < 0 || all < busy || all > MOST)
		return 99;
	victim_init();
	for (int i = 0; i < all; i++)
		if (pthread_create(&threads[i], NULL,
				   i < busy ? be_busy : be_idle, NULL) != 0)
			return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < all; i++)
		pthread_join(threads[i], NULL);
	return victim_end(true);
}
