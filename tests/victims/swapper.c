/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * swapper ONE OTHER: two libraries of one size, each in turn loaded to where
 * the other one was, used and unloaded, all the time. Their slots are at the
 * same addresses, and for other functions.
 */
#include <dlfcn.h>

#include "crew.h"

enum { CREW = 1, STAY_US = 700, GONE_US = 100 };

static char **paths;
static _Atomic uint64_t loaded, wrong;

static void *
work(void *arg)
{
	for (int i = 0; !atomic_load(&victim_over); i++) {
		void *library = dlopen(paths[i % 2], RTLD_LAZY);
		int (*use)(void);

		if (!library)
			exit(99);
		*(void **)&use = dlsym(library, "use");
		usleep(STAY_US);
		atomic_fetch_add(&wrong, use() != 1);
		dlclose(library);
		atomic_fetch_add(&loaded, 1);
		usleep(GONE_US);
	}
	return arg;
}

static void
mark(void)
{
	victim_say("loaded", atomic_load(&loaded));
	victim_say("wrong", atomic_load(&wrong));
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 99;
	paths = argv + 1;
	victim_init();
	crew_serve(CREW, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
