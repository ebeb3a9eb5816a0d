/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * older: it has blocks before anybody comes. At its first mark it frees some of
 * them, lets others be moved, and allocates some that it frees and some that
 * it keeps. It knows how many, of how many bytes.
 */
#include "victim.h"

enum { OLD = 50, MOVED = 3, KEPT = 20, GONE = 10 };

static char *volatile old[OLD], *volatile kept[KEPT];
static uint64_t freed, keeps, keeps_bytes;
static bool done;

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#endif

static char *
some(void *p)
{
	if (!p)
		_exit(99);
	*(char *)p = 1;
	return p;
}

NOINLINE static void
free_old(void)
{
	for (int i = MOVED; i < OLD; i++) {
		free(old[i]);
		freed++;
	}
}

NOINLINE static void
move_old(void)
{
	for (int i = 0; i < MOVED; i++) {
		const size_t n = 5000 + 100 * i;

		old[i] = some(realloc(old[i], n));
		freed++;
		keeps++;
		keeps_bytes += n;
	}
}

NOINLINE static void
keep_new(void)
{
	for (int i = 0; i < KEPT; i++) {
		kept[i] = some(malloc(1000 + i));
		keeps++;
		keeps_bytes += 1000 + i;
	}
}

NOINLINE static void
come_and_go(void)
{
	char *p[GONE];

	for (int i = 0; i < GONE; i++)
		p[i] = some(malloc(20000));
	for (int i = 0; i < GONE; i++)
		free(p[i]);
}

static void
mark(void)
{
	if (!done) {
		done = true;
		free_old();
		move_old();
		keep_new();
		come_and_go();
	}
	victim_say("older", freed);
	victim_say("kept", keeps);
	victim_say("kept_bytes", keeps_bytes);
	victim_say("peak_bytes", keeps_bytes + GONE * 20000);
	victim_say("peak_blocks", keeps + GONE);
}

int
main(void)
{
	bool sound = true;

	for (int i = 0; i < OLD; i++)
		old[i] = some(malloc(100 + i));
	victim_init();
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < MOVED; i++)
		sound &= *old[i] == 1;
	return victim_end(sound);
}
