/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shifts THREADS SHIFTS: threads work in one function, each so often, and rest
 * between, so that some of them are in it nearly always, and others leave it
 * meanwhile. Each knows by its own clock what it used in there.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { THREADS_MAX = 16, STEPS = 8000000 };

static struct worker {
	pthread_t thread;
	uint64_t shift_ns, calls, steps, product;
	uint32_t seed;
} workers[THREADS_MAX];
static unsigned count, shifts;

static uint64_t
about(struct worker *w, uint32_t n)
{
	const uint32_t some = n / 2 + victim_random(&w->seed) % n;

	w->steps += some;
	return some;
}

NOINLINE static void
shift(struct worker *w, uint64_t n)
{
	const uint64_t since = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	w->product = burn(w->product, n);
	w->calls++;
	w->shift_ns += victim_clock(CLOCK_THREAD_CPUTIME_ID) - since;
}

NOINLINE static void
leisure(struct worker *w, uint64_t n)
{
	w->product = burn(w->product, n);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (unsigned i = 0; i < shifts; i++) {
		shift(w, about(w, STEPS));
		leisure(w, about(w, STEPS / 4));
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	uint64_t ns = 0, calls = 0;
	bool ok = true;

	count = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	shifts = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (count < 1 || count > THREADS_MAX)
		return 99;
	for (unsigned i = 0; i < count; i++) {
		workers[i].seed = 7919 + i;
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]) != 0)
			return 99;
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		ns += workers[i].shift_ns;
		calls += workers[i].calls;
		ok = ok && workers[i].product == leap(0, workers[i].steps);
	}
	victim_say("shift_ns", ns);
	victim_say("calls", calls);
	printf("checksum %s\n", ok ? "ok" : "wrong");
	return !ok;
}
