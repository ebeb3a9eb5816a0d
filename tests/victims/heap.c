/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap [THREADS]: at the first mark its threads begin, and each does the same
 * work once: blocks that nobody frees from ten functions, and blocks that come
 * and go in all ways there are. It knows how many it asked for, of how many
 * bytes, and what is never freed. `done 1` tells that all have been through.
 * At its end a slot of its own has to be as it was.
 */
#include <malloc.h>
#include <sys/wait.h>

#include "crew.h"

enum { THREADS = 4, LEAKS = 25, PAIRS = 20000, CHAINS = 100, HANDED = 1000 };

static _Atomic uint64_t allocs, bytes, leaked, leaked_bytes, finished;
static atomic_bool go;
static int threads = THREADS;
static void *volatile sink;

#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static void *
took(void *p, size_t n)
{
	if (!p)
		_exit(99);
	atomic_fetch_add(&allocs, 1);
	atomic_fetch_add(&bytes, n);
	sink = p;
	return p;
}

static void
leak(void *p, size_t n)
{
	took(p, n);
	*(char *)p = 1;
	atomic_fetch_add(&leaked, 1);
	atomic_fetch_add(&leaked_bytes, n);
}

/* ---- what nobody frees --------------------------------------------------- */

#define LEAK(i) \
NOINLINE static void \
leak_##i(void) \
{ \
	leak(malloc(16 + 8 * i), 16 + 8 * i); \
	__asm__ volatile(""); \
}

LEAK(0) LEAK(1) LEAK(2) LEAK(3) LEAK(4)
LEAK(5) LEAK(6) LEAK(7) LEAK(8) LEAK(9)

static void (*const leaks[])(void) = {
	leak_0, leak_1, leak_2, leak_3, leak_4,
	leak_5, leak_6, leak_7, leak_8, leak_9,
};

NOINLINE static void
leak_copy(void)
{
	leak(strdup("eleven char"), 12);
	__asm__ volatile("");
}

/* ---- what comes and goes ------------------------------------------------- */

/* Slots that no PLT has. */
static void *(*volatile const by_table)(size_t) = malloc;
static void (*volatile const free_by_table)(void *) = free;

NOINLINE static void
pairs(void)
{
	for (int i = 0; i < PAIRS; i++)
		free(took(malloc(1 + i % 1000), 1 + i % 1000));
	free_by_table(took(by_table(77), 77));
}

NOINLINE static void
chains(void)
{
	for (int i = 0; i < CHAINS; i++) {
		char *p = took(malloc(10), 10);

		for (size_t n = 100; n < 1000000; n *= 10)
			p = took(realloc(p, n), n);
		free(p);
	}
}

NOINLINE static void
aligned(void)
{
	void *p;

	if (posix_memalign(&p, 256, 2048) != 0)
		_exit(99);
	free(took(p, 2048));
	free(took(aligned_alloc(64, 640), 640));
	free(took(memalign(128, 300), 300));
	free(took(calloc(30, 7), 210));
	free(took(reallocarray(NULL, 12, 12), 144));
}

static void
on_signal(int signal)
{
	(void)signal;
	free(took(malloc(1234), 1234));
}

/* A child's own are no business of its parent's recorder. */
static void
child(void)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (int i = 1; i < 1000; i++) {
			sink = malloc(i);
			if (i % 2)
				free(sink);
		}
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    status != 7 << 8)
		_exit(99);
}

/* Each takes what the one before has put there. */
static void *_Atomic boxes[CREW_MAX];

NOINLINE static void
hand_over(int number)
{
	for (int i = 0; i < HANDED; i++) {
		void *p = took(malloc(40), 40);

		free(atomic_exchange(&boxes[number % threads], p));
		free(atomic_exchange(&boxes[(number + 1) % threads], NULL));
	}
	free(atomic_exchange(&boxes[number % threads], NULL));
}

static void *
work(void *number)
{
	while (!atomic_load(&go) && !atomic_load(&victim_over))
		usleep(1000);
	for (int i = 0; i < LEAKS; i++)
		for (size_t k = 0; k < sizeof leaks / sizeof leaks[0]; k++)
			leaks[k]();
	leak_copy();
	pairs();
	chains();
	aligned();
	raise(SIGUSR2);
	hand_over((int)(uintptr_t)number);
	child();
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void
mark(void)
{
	atomic_store(&go, true);
	victim_say("allocs", atomic_load(&allocs));
	victim_say("bytes", atomic_load(&bytes));
	victim_say("leaked", atomic_load(&leaked));
	victim_say("leaked_bytes", atomic_load(&leaked_bytes));
	victim_say("done", atomic_load(&finished) == (uint64_t)threads);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		threads = atoi(argv[1]);
	const uintptr_t slot = (uintptr_t)by_table;

	signal(SIGUSR2, on_signal);
	victim_init();
	crew_serve(threads, work, mark);
	return victim_end((uintptr_t)by_table == slot &&
			  atomic_load(&leaked) ==
			  (uint64_t)threads * (10 * LEAKS + 1));
}
