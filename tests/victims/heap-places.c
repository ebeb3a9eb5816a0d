/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-places: allocates in places where little works: in a constructor and
 * a destructor, in destructors of threads' own data, in a signal handler,
 * through a table of pointers, through a slot that was never bound before,
 * inside of libc. In each place it leaks so many blocks of a size that no
 * other place has; the first mark starts all but the constructor, which has
 * been by then. `launched`: it does not wait for a word, and ends.
 */
#include <pthread.h>

#include "victim.h"

enum { TIMES = 100, THREADS = 10 };

static void *volatile sink;
static uint64_t failed;

#define NOINLINE __attribute__((noinline))

NOINLINE static void
keep(void *p)
{
	failed += !p;
	sink = p;
}

NOINLINE static void
in_constructor(void)
{
	for (int i = 0; i < TIMES; i++)
		keep(malloc(1001));
}

__attribute__((constructor)) static void
begin(void)
{
	in_constructor();
	__asm__ volatile("");
}

NOINLINE static void
in_destructor(void)
{
	for (int i = 0; i < TIMES; i++)
		keep(malloc(1003));
}

__attribute__((destructor)) static void
end(void)
{
	in_destructor();
	__asm__ volatile("");
}

NOINLINE static void
in_thread_destructor(void *mine)
{
	for (int i = 0; i < TIMES / THREADS; i++)
		keep(malloc(1005));
	free(mine);
}

static pthread_key_t key;

static void *
die(void *none)
{
	(void)none;
	failed += pthread_setspecific(key, malloc(16)) != 0;
	return NULL;
}

static void
threads(void)
{
	failed += pthread_key_create(&key, in_thread_destructor) != 0;
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;

		failed += pthread_create(&t, NULL, die, NULL) != 0 ||
			pthread_join(t, NULL) != 0;
	}
}

NOINLINE static void
in_handler(int signo)
{
	(void)signo;
	keep(malloc(1007));
}

static void
signals(void)
{
	const struct sigaction action = { .sa_handler = in_handler };

	failed += sigaction(SIGUSR1, &action, NULL) != 0;
	for (int i = 0; i < TIMES; i++)
		raise(SIGUSR1);
}

static const struct {
	void *(*give)(size_t, size_t);
	void (*take)(void *);
} volatile table = { calloc, free };

NOINLINE static void
by_table(void)
{
	for (int i = 0; i < TIMES; i++) {
		void *p = table.give(1, 99);

		keep(table.give(7, 287));
		table.take(p);
	}
}

NOINLINE static void
by_unbound_slot(void)
{
	for (int i = 0; i < TIMES; i++)
		keep(aligned_alloc(64, 1024));
}

NOINLINE static void
in_libc(void)
{
	static char text[1010];

	memset(text, 'x', sizeof text - 1);
	for (int i = 0; i < TIMES; i++)
		keep(strdup(text));
}

static void
all(void)
{
	threads();
	signals();
	by_table();
	by_unbound_slot();
	in_libc();
}

static void
mark(void)
{
	static bool begun;

	if (!begun)
		all();
	begun = true;
	victim_say("done", 1);
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "launched") == 0) {
		all();
		return failed != 0;
	}
	victim_init();
	victim_ready();
	victim_serve(mark);
	return victim_end(failed == 0);
}
