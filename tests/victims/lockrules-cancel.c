/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of victim `lockrules` that are cancelled where they wait.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "lockrules.h"

enum { JOINS = 200 };

struct room {
	pthread_mutex_t m;
	pthread_cond_t c;
	sem_t s;
	atomic_int cleaned, stage;
};

static void
clean(struct room **r)
{
	atomic_fetch_add(&(*r)->cleaned, 1);
}

static void
unlock(void *m)
{
	(void)pthread_mutex_unlock(m);
}

/* Its caller's frame is cleaned as well: the way there leads through ours. */
static void *
wait_for_ever(void *arg)
{
	__attribute__((cleanup(clean))) struct room *r = arg;

	(void)pthread_mutex_lock(&r->m);
	pthread_cleanup_push(unlock, &r->m);
	atomic_store(&r->stage, 1);
	for (;;)
		(void)pthread_cond_wait(&r->c, &r->m);
	pthread_cleanup_pop(1);
	return NULL;
}

/* A semaphore that is free is a point of cancellation all the same. */
static void *
take_for_ever(void *arg)
{
	__attribute__((cleanup(clean))) struct room *r = arg;

	(void)pthread_cancel(pthread_self());
	(void)sem_wait(&r->s);
	return NULL;
}

static void *
join_for_ever(void *arg)
{
	__attribute__((cleanup(clean))) struct room *r = arg;
	pthread_t t;

	if (pthread_create(&t, NULL, wait_for_ever, arg) != 0)
		_exit(99);
	while (atomic_load(&r->stage) == 0)
		usleep(100);
	(void)pthread_cancel(pthread_self());
	(void)pthread_join(t, NULL);
	_exit(95);
}

void
cancellation(struct answers *a)
{
	struct room r = { .m = PTHREAD_MUTEX_INITIALIZER,
			  .c = PTHREAD_COND_INITIALIZER };
	pthread_t t;
	void *result;

	if (sem_init(&r.s, 0, 1) != 0 ||
	    pthread_create(&t, NULL, wait_for_ever, &r) != 0)
		_exit(99);
	while (atomic_load(&r.stage) == 0)
		usleep(100);
	(void)pthread_cancel(t);
	(void)pthread_join(t, &result);
	say(a, result == PTHREAD_CANCELED);
	say(a, pthread_mutex_trylock(&r.m));
	say(a, run(take_for_ever, &r) == PTHREAD_CANCELED);
	say(a, atomic_load(&r.cleaned));
}

/* Its thread is left waiting, so there is an end to it. */
int
cancelled_join(void)
{
	static struct room rooms[JOINS];
	static atomic_int used;
	const int i = atomic_fetch_add(&used, 1);

	if (i >= JOINS)
		return 0;
	(void)pthread_mutex_init(&rooms[i].m, NULL);
	(void)pthread_cond_init(&rooms[i].c, NULL);
	return run(join_for_ever, &rooms[i]) == PTHREAD_CANCELED &&
		atomic_load(&rooms[i].cleaned) == 1 ? 0 : -1;
}
