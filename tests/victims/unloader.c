/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unloader LIBRARY: the library allocates and is unloaded at the first mark.
 * Then there is memory at its address that nobody may read (at the second mark
 * nobody may write it, at the third it is code, which is run). At the fourth
 * nobody may write it, at the third it is code, which runs). At the fourth
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "crew.h"

enum { BLOCKS = 1000, RETURN = 0xc3, PAGE = 4096 };

static _Atomic uint64_t allocs, moved, marks;
static const char *path;
static void *library;
static char *place;		/* of the library, then of what came after */
static size_t size;
static pthread_mutex_t in_place = PTHREAD_MUTEX_INITIALIZER;

static int
measure(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes, (void)arg;
	if ((char *)info->dlpi_addr != place)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			size = info->dlpi_phdr[i].p_vaddr +
				info->dlpi_phdr[i].p_memsz;
	size = (size + PAGE - 1) / PAGE * PAGE;
	return 1;
}

static void
load(void)
{
	struct link_map *map;

	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
		exit(99);
	if (place && place != (char *)map->l_addr)
		atomic_fetch_add(&moved, 1);
	place = (char *)map->l_addr;
	(void)dl_iterate_phdr(measure, NULL);
}

static void
use(void)
{
	void (*blocks)(int);

	*(void **)&blocks = dlsym(library, "blocks");
	if (!blocks)
		exit(99);
	blocks(BLOCKS);
	atomic_fetch_add(&allocs, BLOCKS);
}

static void
put_memory(void)
{
	dlclose(library);
	if (mmap(place, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_FIXED_NOREPLACE, -1, 0) != place)
		exit(99);
}

static void
run_memory(void)
{
	if (mprotect(place, size, PROT_READ | PROT_WRITE) != 0)
		exit(99);
	memset(place, RETURN, size);
	if (mprotect(place, size, PROT_READ | PROT_EXEC) != 0)
		exit(99);
}

static void
mark(void)
{
	pthread_mutex_lock(&in_place);
	switch (atomic_fetch_add(&marks, 1)) {
	case 0:
		use();
		put_memory();
		break;
	case 1:
		if (mprotect(place, size, PROT_READ) != 0)
			exit(99);
		break;
	case 2:
		run_memory();
		break;
	case 3:
		munmap(place, size);
		load();
		break;
	case 4:
		use();
		break;
	}
	pthread_mutex_unlock(&in_place);
	victim_say("allocs", atomic_load(&allocs));
	victim_say("moved", atomic_load(&moved));
}

/* Code at its address is run at all times. */
static void *
work(void *number)
{
	(void)number;
	while (!atomic_load(&victim_over)) {
		pthread_mutex_lock(&in_place);
		if (atomic_load(&marks) == 3)
			for (size_t i = 0; i < size; i += 64)
				((void (*)(void))(place + i))();
		pthread_mutex_unlock(&in_place);
		usleep(1000);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	path = argv[1];
	victim_init();
	load();
	crew_serve(1, work, mark);
	return victim_end(true);
}
