/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * binder LIBRARY: loads it (slots.c) and calls its many() three times, again
 * and again. The first call binds 1000 slots and the second finds them bound:
 * what the first takes longer is the dynamic linker's, but for the caches that
 * the linker has used meanwhile: a third call finds them empty, and takes
 * longer than many() itself in the first. Then the slots get back what they
 * held before, so that they are not bound any more. It also looks up names as
 * anybody may, by dlsym.
 */
#include <dlfcn.h>
#include <link.h>

#include "crew.h"

enum { SLOTS = 1000, RESERVED = 3, LOOKUPS = 100,
       CACHES = 8 << 20, CACHE_LINE = 64 };

static _Atomic uint64_t first_ns, second_ns, cold_ns, visits, wrong;
static void *library;
static uint64_t (*many)(uint64_t);

/* The table that the linker writes a slot's function into. */
static uintptr_t *
slots_of(void *handle)
{
	const struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		exit(99);
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_PLTGOT)
			return (uintptr_t *)d->d_un.d_ptr + RESERVED;
	exit(99);
}

static void
empty_caches(void)
{
	static volatile char other[CACHES];

	for (size_t i = 0; i < CACHES; i += CACHE_LINE)
		other[i]++;
}

static void
visit(void)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t sum = many(0);
	const uint64_t middle = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	if (many(sum) != 2 * SLOTS)
		atomic_fetch_add(&wrong, 1);

	const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	atomic_fetch_add(&first_ns, middle - start);
	atomic_fetch_add(&second_ns, end - middle);
	empty_caches();

	const uint64_t third = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	if (many(sum) != 2 * SLOTS)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&cold_ns,
			 victim_clock(CLOCK_THREAD_CPUTIME_ID) - third);
	atomic_fetch_add(&visits, 1);
	for (int i = 0; i < LOOKUPS; i++)
		if (dlsym(library, "many") != *(void **)&many)
			atomic_fetch_add(&wrong, 1);
}

static void *
work(void *arg)
{
	uintptr_t *slots = slots_of(library);
	uintptr_t unbound[SLOTS];

	(void)arg;
	memcpy(unbound, slots, sizeof unbound);
	while (!atomic_load(&victim_over)) {
		visit();
		memcpy(slots, unbound, sizeof unbound);
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("first_ns", atomic_load(&first_ns));
	victim_say("second_ns", atomic_load(&second_ns));
	victim_say("cold_ns", atomic_load(&cold_ns));
	victim_say("visits", atomic_load(&visits));
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 99;
	}
	*(void **)&many = dlsym(library, "many");
	if (!many)
		return 99;
	victim_init();
	crew_serve(1, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
