/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-sampled: at the first mark four threads begin, and each does the same
 * work once: small and medium blocks in turn, always in the same order; blocks
 * that grow; blocks that another thread frees; and blocks that nobody does. It
 * says how many there are of each, and of how many bytes one is. `done 1` tells
 * that all have been through.
 */
#include "crew.h"

enum { THREADS = 4, PAIRS = 50000, GROWN = 5000, HANDED = 5000, LEAKS = 2000,
       SMALL = 48, MEDIUM = 1000, SEED = 100, LARGE = 6000, GIVEN = 500,
       LOST = 3000 };

static _Atomic uint64_t finished;
static atomic_bool go;
static void *volatile sink;

#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define OWN NOINLINE
#else
#ifdef __clang__	/* knows no noclone, and does not clone */
#define OWN __attribute__((noinline))
#else
#define OWN __attribute__((noinline, noclone))
#endif
#endif

static void *
took(void *p)
{
	if (!p)
		_exit(99);
	sink = p;
	return p;
}

OWN static void *
small(void)
{
	void *p = took(malloc(SMALL));

	__asm__ volatile("");
	return p;
}

OWN static void *
medium(void)
{
	void *p = took(calloc(10, MEDIUM / 10));

	__asm__ volatile("");
	return p;
}

OWN static void *
grow(void)
{
	void *p = took(malloc(SEED));

	p = took(realloc(p, LARGE));
	__asm__ volatile("");
	return p;
}

OWN static void *
give(void)
{
	void *p = took(malloc(GIVEN));

	__asm__ volatile("");
	return p;
}

OWN static void
lose(void)
{
	*(char *)took(malloc(LOST)) = 1;
	__asm__ volatile("");
}

/* Each takes what the one before has put there. */
static void *_Atomic boxes[THREADS];

static void
hand_over(int number)
{
	for (int i = 0; i < HANDED; i++) {
		free(atomic_exchange(&boxes[number % THREADS], give()));
		free(atomic_exchange(&boxes[(number + 1) % THREADS], NULL));
	}
	free(atomic_exchange(&boxes[number % THREADS], NULL));
}

static void *
work(void *number)
{
	while (!atomic_load(&go) && !atomic_load(&victim_over))
		usleep(1000);
	for (int i = 0; i < PAIRS; i++) {
		void *first = small();

		free(medium());
		free(first);
	}
	for (int i = 0; i < GROWN; i++)
		free(grow());
	hand_over((int)(uintptr_t)number);
	for (int i = 0; i < LEAKS; i++)
		lose();
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void
say(const char *name, const char *what, uint64_t n)
{
	printf("%s_%s %llu\n", name, what, (unsigned long long)n);
}

static void
mark(void)
{
	static const struct {
		const char *name;
		unsigned n, size;
	} kinds[] = {
		{ "small", PAIRS, SMALL }, { "medium", PAIRS, MEDIUM },
		{ "give", HANDED, GIVEN }, { "lose", LEAKS, LOST },
	};

	atomic_store(&go, true);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		say(kinds[i].name, "n", THREADS * kinds[i].n);
		say(kinds[i].name, "size", kinds[i].size);
	}
	say("grow", "n", THREADS * GROWN);
	say("grow", "size", SEED);
	say("grow", "then", LARGE);
	victim_say("done", atomic_load(&finished) == THREADS);
}

int
main(void)
{
	victim_init();
	crew_serve(THREADS, work, mark);
	return victim_end(true);
}
