/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plugger FIRST SECOND: has loaded FIRST, which at the first mark takes blocks
 * and frees some of the program's. At the second one it is unloaded, SECOND is
 * loaded instead, most likely at the same address, and used at once. From the
 * third on SECOND is used. Each time the program gives back all that it takes
 * itself, of malloc and of the kernel.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "victim.h"

enum { BLOCKS = 1000, PAGE = 4096, LARGE = 64 << 20 };

static const char *const *paths;
static void *library;
static uint64_t marks, taken[2];

static void
load(int i)
{
	if (library)
		dlclose(library);
	library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		exit(99);
}

static void *
find(const char *name)
{
	void *at = dlsym(library, name);

	if (!at)
		exit(99);
	return at;
}

static __attribute__((noinline)) void
make(void **blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
}

static __attribute__((noinline)) void
remap(void)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *volatile large = malloc(LARGE);

	if (at == MAP_FAILED)
		exit(99);
	at = mremap(at, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	if (at == MAP_FAILED || munmap(at, 3 * PAGE) != 0)
		exit(99);
	free(large);
}

static void
use(int i)
{
	void *blocks[BLOCKS];
	void (*take)(int);
	void (*eat)(void **, int);

	*(void **)&take = find(i ? "second_take" : "first_take");
	*(void **)&eat = find("eat");
	take(BLOCKS);
	make(blocks);
	eat(blocks, BLOCKS);
	remap();
	taken[i] += BLOCKS;
}

/* Does the loader find libc's own function by its name? */
static bool
finds_libc(void)
{
	Dl_info info;

	return dladdr(dlsym(RTLD_DEFAULT, "mremap"), &info) &&
		strstr(info.dli_fname, "libc");
}

static void
mark(void)
{
	if (marks == 1)
		load(1);
	use(marks++ > 0);
	victim_say("first", taken[0]);
	victim_say("second", taken[1]);
	victim_say("libc", finds_libc());
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 99;
	paths = (const char *const *)argv + 1;
	load(0);
	victim_init();
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
