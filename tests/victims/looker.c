/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * looker MS [starved]: one thread looks at the load objects again and again, and
 * takes MS for each look (dl_iterate_phdr holds the loader's lock meanwhile);
 * another one burns CPU. starved: MS are CPU time of the first look, of a thread
 * that gets a processor when nobody else wants it, and the other one always
 * does.
 */
#include <link.h>
#include <pthread.h>
#include <sched.h>

#include "burn.h"
#include "crew.h"

enum { STEPS = 100000 };

static _Atomic uint64_t looks, wrong, born;
static long look_ms;
static bool starved;

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
	const uint64_t until = victim_clock(CLOCK_THREAD_CPUTIME_ID) +
		(uint64_t)look_ms * 1000000;

	if (*(unsigned *)arg == 0 && !starved)
		(void)nanosleep(&ts, NULL);
	else if (*(unsigned *)arg == 0 && atomic_load(&looks) == 0)
		while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < until)
			if (burn(1, 1000) != leap(1, 1000))
				atomic_fetch_add(&wrong, 1);
	return see(info, size, arg);
}

/* Both share one processor. */
static void
be_starved(bool last)
{
	const struct sched_param none = { .sched_priority = 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof one, &one) < 0 ||
	    (last && sched_setscheduler(0, SCHED_IDLE, &none) < 0))
		exit(99);
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
	if (starved)
		be_starved(looks_on);
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
	if (argc != 2 && argc != 3)
		return 99;
	look_ms = atol(argv[1]);
	starved = argc > 2;
	victim_init();
	crew_serve(2, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
