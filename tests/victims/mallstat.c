/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mallstat: allocates in two threads, while a third asks the allocator again
 * and again for its statistics. An allocator that keeps a list of its threads
 * (jemalloc) walks that list then: whoever ended without telling it makes it
 * read memory that is gone. `rounds` counts the questions.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "victim.h"

static _Atomic uint64_t rounds, wrong;
static int (*mallctl)(const char *, void *, size_t *, void *, size_t);

static void
ask(void)
{
	uint64_t epoch = 1;
	size_t size = sizeof epoch, allocated = 0;

	if (mallctl("epoch", &epoch, &size, &epoch, sizeof epoch) != 0)
		atomic_fetch_add(&wrong, 1);
	size = sizeof allocated;
	if (mallctl("stats.allocated", &allocated, &size, NULL, 0) != 0 ||
	    !allocated)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&rounds, 1);
}

static void *
allocate(void *arg)
{
	uint32_t word = (uint32_t)(uintptr_t)arg;

	while (!atomic_load(&victim_over)) {
		const size_t n = victim_random(&word) % 8192 + 2;
		unsigned char *p = malloc(n);

		memset(p, 0x5a, n);
		if (p[0] != 0x5a || p[n - 1] != 0x5a)
			atomic_fetch_add(&wrong, 1);
		free(p);
	}
	return NULL;
}

static void *
question(void *arg)
{
	while (!atomic_load(&victim_over))
		ask();
	return arg;
}

static void
mark(void)
{
	ask();
	victim_say("rounds", atomic_load(&rounds));
}

int
main(void)
{
	pthread_t threads[3];

	*(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (!mallctl)
		return 99;	/* it was not preloaded */
	victim_init();
	for (uintptr_t i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, i < 2 ? allocate :
				   question, (void *)(i + 1)) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	mark();
	return victim_end(wrong == 0);
}
