/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * own-locks.so: to be preloaded. It has a pthread_mutex_lock of its own, in
 * front of libc's, and a pthread_mutex_trylock that nobody may call. At the end
 * it prints how often the first one was. It is built by a test.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic unsigned long calls;
static int (*_Atomic next)(pthread_mutex_t *);

int
pthread_mutex_lock(pthread_mutex_t *m)
{
	int (*real)(pthread_mutex_t *) = atomic_load(&next);

	if (!real) {
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT,
							"pthread_mutex_lock");
		atomic_store(&next, real);
	}
	atomic_fetch_add(&calls, 1);
	return real(m);
}

int
pthread_mutex_trylock(pthread_mutex_t *m)
{
	(void)m;
	_exit(94);
}

__attribute__((destructor)) static void
tell(void)
{
	printf("own_locks %lu\n", atomic_load(&calls));
}
