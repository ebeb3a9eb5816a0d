/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sunken [depth]: threads that wait far from where they began, for the end:
 *
 *	by_sp		below a recursion (default 10000 deep) whose frames
 *			count from the stack pointer
 *	by_fp		... from a frame pointer, as their size is not fixed
 *	by_turns	as by_sp, and awake for a moment now and then
 *	by_width	below one frame of 3 MB
 *
 * and one that computes.
 */
#include <alloca.h>
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { KINDS = 4, STACK = 64 << 20, WIDE = 3 << 20, TURN_MS = 70 };

static int depth = 10000;
static int quiet[2];
static _Atomic uint64_t wrong, turns;

/* Until somebody says so. */
NOINLINE static void
waits(int timeout)
{
	struct pollfd fd = { .fd = quiet[0], .events = POLLIN };

	while (poll(&fd, 1, timeout) == 0)
		atomic_fetch_add(&turns, 1);
	__asm__ volatile("");
}

NOINLINE static int
by_sp(int n)
{
	volatile char room[100];

	room[0] = 1;
	if (n == 0) {
		waits(-1);
		return 0;
	}
	return by_sp(n - 1) + room[0];
}

NOINLINE static int
by_fp(int n)
{
	volatile char *room = alloca(16 + (size_t)n % 3 * 16);

	room[0] = 1;
	if (n == 0) {
		waits(-1);
		return 0;
	}
	return by_fp(n - 1) + room[0];
}

NOINLINE static int
by_turns(int n)
{
	volatile char room[100];

	room[0] = 1;
	if (n == 0) {
		waits(TURN_MS);
		return 0;
	}
	return by_turns(n - 1) + room[0];
}

NOINLINE static int
by_width(int n)
{
	volatile char room[WIDE];

	room[0] = 1;
	waits(-1);
	return n - 1 + room[0];
}

static int (*const kinds[KINDS])(int) = {
	by_sp, by_fp, by_turns, by_width,
};

static void *
sinks(void *arg)
{
	if (kinds[(uintptr_t)arg](depth) != depth)
		atomic_fetch_add(&wrong, 1);
	return NULL;
}

static void *
work(void *arg)
{
	(void)arg;
	while (!atomic_load(&victim_over))
		if (burn(1, 100000) != leap(1, 100000))
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

static void
mark(void)
{
	victim_say("turns", atomic_load(&turns));
}

int
main(int argc, char **argv)
{
	pthread_t thread[KINDS + 1];
	pthread_attr_t attr;

	if (argc > 1)
		depth = atoi(argv[1]);
	victim_init();
	if (pipe(quiet) < 0 || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstacksize(&attr, STACK) != 0 ||
	    pthread_create(&thread[KINDS], NULL, work, NULL) != 0)
		return 99;
	for (uintptr_t i = 0; i < KINDS; i++)
		if (pthread_create(&thread[i], &attr, sinks, (void *)i) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	close(quiet[1]);
	for (int i = 0; i < KINDS + 1; i++)
		pthread_join(thread[i], NULL);
	return victim_end(!wrong);
}
