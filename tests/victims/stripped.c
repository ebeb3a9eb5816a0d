/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stripped LIBRARY: burns in a library without a symbol table.
 */
#include <dlfcn.h>

#include <pthread.h>

#include "burn.h"
#include "victim.h"

static uint64_t (*entry)(uint64_t x, uint64_t steps);
static _Atomic uint64_t wrong;

static void *
work(void *arg)
{
	(void)arg;
	while (!atomic_load(&victim_over))
		if (entry(1, 100000) != leap(1, 100000))
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	void *library;

	if (argc != 2)
		return 99;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 99;
	*(void **)&entry = dlsym(library, "stripped_entry");
	victim_init();
	if (!entry || pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_join(thread, NULL);
	return victim_end(atomic_load(&wrong) == 0);
}
