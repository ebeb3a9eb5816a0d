/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oldcond: a thread waits by the condition variables of glibc 2.2.5, which
 * share nothing but the name with those of today. At the first mark it calls
 * them for the first time. It is built by a test.
 */
#include "crew.h"

__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
extern int old_wait(pthread_cond_t *c, pthread_mutex_t *m);
extern int old_signal(pthread_cond_t *c);

enum { TURNS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static atomic_bool go;
static uint64_t turn, waits;
static _Atomic uint64_t finished;

static void *
work(void *number)
{
	const uint64_t mine = (uintptr_t)number % 2;

	while (!atomic_load(&go) && !atomic_load(&victim_over))
		usleep(1000);
	(void)pthread_mutex_lock(&lock);
	while (turn < TURNS && !atomic_load(&victim_over)) {
		if (turn % 2 != mine) {
			waits++;
			(void)old_wait(&moved, &lock);
			continue;
		}
		turn++;
		(void)old_signal(&moved);
	}
	(void)old_signal(&moved);
	(void)pthread_mutex_unlock(&lock);
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void
mark(void)
{
	atomic_store(&go, true);
	victim_say("waits", waits);
	victim_say("done", atomic_load(&finished) == 2);
}

int
main(void)
{
	victim_init();
	crew_serve(2, work, mark);
	return victim_end(turn == TURNS);
}
