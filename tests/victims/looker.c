/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * looker MS: one thread looks at the load objects again and again, and takes MS
 * for each look (dl_iterate_phdr holds the loader's lock meanwhile); another
 * one burns CPU.
 */
#include <link.h>
#include <pthread.h>

#include "burn.h"
#include "crew.h"

enum { STEPS = 100000 };

static _Atomic uint64_t looks, wrong, born;
static long look_ms;

static int
see(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned *)arg += info->dlpi_phnum > 0;
	return 0;
}

/* At the first object, with the lock. */
static int
see_slowly(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct timespec ts = { look_ms / 1000,
				     look_ms % 1000 * 1000000 };

	if (*(unsigned *)arg == 0)
		(void)nanosleep(&ts, NULL);
	return see(info, size, arg);
}

static void
look(void)
{
	const struct timespec moment = { 0, 5000000 };
	unsigned objects = 0;

	(void)dl_iterate_phdr(see_slowly, &objects);
	if (objects < 3)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&looks, 1);
	(void)nanosleep(&moment, NULL);
}

static void *
work(void *arg)
{
	const bool looks_on = atomic_fetch_add(&born, 1) == 0;
	const uint64_t right = leap(1, STEPS);

	(void)arg;
	while (!atomic_load(&victim_over))
		if (looks_on)
			look();
		else if (burn(1, STEPS) != right)
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

static void
mark(void)
{
	victim_say("looks", atomic_load(&looks));
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	look_ms = atol(argv[1]);
	victim_init();
	crew_serve(2, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
