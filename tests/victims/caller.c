/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * caller [threads [pause_us]]: each thread calls `called` and rests, or calls
 * it without rest when the pause is 0; every mark calls `asked` once. Both
 * are to be trapped, and each call counts in the sum: none may be left out,
 * made twice or made wrongly.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

/* Different lengths, or the compiler makes one function of the two. */
enum { THREADS_MAX = 64, CALL_UNIT = 50, ASK_UNIT = 70 };

struct worker {
	pthread_t thread;
	_Atomic uint64_t calls;
	uint64_t sum, expected;
} __attribute__((aligned(128)));

static struct worker workers[THREADS_MAX], asker;
static int nworkers = 1;
static long pause_us = 1000;

NOINLINE static uint64_t
called(uint64_t x)
{
	return burn(x, CALL_UNIT);
}

NOINLINE static uint64_t
asked(uint64_t x)
{
	return burn(x, ASK_UNIT);
}

static void
note_call(struct worker *w, uint64_t unit)
{
	w->expected = leap(w->expected, unit);
	atomic_fetch_add(&w->calls, 1);
}

static void *
work(void *arg)
{
	const struct timespec pause = { .tv_nsec = pause_us * 1000 };
	struct worker *w = arg;

	while (!atomic_load(&victim_over)) {
		w->sum = called(w->sum);
		note_call(w, CALL_UNIT);
		if (pause_us && nanosleep(&pause, NULL) < 0)
			exit(98);
	}
	return NULL;
}

static void
mark(void)
{
	uint64_t calls = 0;

	asker.sum = asked(asker.sum);
	note_call(&asker, ASK_UNIT);
	for (int i = 0; i < nworkers; i++)
		calls += atomic_load(&workers[i].calls);
	victim_say("calls", calls);
	victim_say("asked", atomic_load(&asker.calls));
}

int
main(int argc, char **argv)
{
	bool ok = true;

	if (argc > 1)
		nworkers = atoi(argv[1]);
	if (argc > 2)
		pause_us = atol(argv[2]);
	if (nworkers < 1 || nworkers > THREADS_MAX || pause_us < 0 ||
	    pause_us > 999999)
		return 99;
	victim_init();
	for (int i = 0; i < nworkers; i++)
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < nworkers; i++) {
		pthread_join(workers[i].thread, NULL);
		ok = ok && workers[i].sum == workers[i].expected;
	}
	mark();
	return victim_end(ok && asker.sum == asker.expected);
}
