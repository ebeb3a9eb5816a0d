/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * reloader LIBRARY: it has loaded the library and let the loader bind nothing
 * yet. At the first mark it unloads it, loads it again with all bound, and
 * uses it at each mark from then on.
 */
#include <dlfcn.h>

#include "victim.h"

static void *library;
static const char *path;

static void *
load(int how)
{
	void *(*blocks)(int);

	library = dlopen(path, how | RTLD_LOCAL);
	if (!library)
		exit(99);
	*(void **)&blocks = dlsym(library, "blocks");
	return *(void **)&blocks;
}

static void
mark(void)
{
	static void (*blocks)(int);
	static void *place;

	if (!blocks) {
		place = dlsym(library, "blocks");
		dlclose(library);
		*(void **)&blocks = load(RTLD_NOW);
	}
	blocks(10);
	victim_say("moved", *(void **)&blocks != place);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	path = argv[1];
	victim_init();
	(void)load(RTLD_LAZY);
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
