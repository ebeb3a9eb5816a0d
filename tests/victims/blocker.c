/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blocker: two threads burn the same CPU; the one called `deaf` has every
 * signal blocked that can be, the one called `hears` none.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

static _Atomic uint64_t deaf_ns, hears_ns;

NOINLINE static uint64_t
deaf_work(uint64_t x)
{
	return burn(x, 200000);
}

NOINLINE static uint64_t
hears_work(uint64_t x)
{
	return burn(x, 200000);
}

static void *
deaf(void *arg)
{
	sigset_t all;
	uint64_t x = 1;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_setname_np(pthread_self(), "deaf");
	while (!atomic_load(&victim_over)) {
		x = deaf_work(x);
		atomic_store(&deaf_ns, victim_clock(CLOCK_THREAD_CPUTIME_ID));
	}
	pthread_sigmask(SIG_SETMASK, NULL, &all);
	/* our mask is what we set: SIGKILL and SIGSTOP cannot be blocked,
	 * glibc keeps its two for itself */
	for (int s = 1; s < 32; s++)
		if (s != SIGKILL && s != SIGSTOP && !sigismember(&all, s))
			return (void *)1;
	return NULL;
}

static void *
hears(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	pthread_setname_np(pthread_self(), "hears");
	while (!atomic_load(&victim_over)) {
		x = hears_work(x);
		atomic_store(&hears_ns, victim_clock(CLOCK_THREAD_CPUTIME_ID));
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("deaf_ns", atomic_load(&deaf_ns));
	victim_say("hears_ns", atomic_load(&hears_ns));
}

int
main(void)
{
	pthread_t one, other;
	void *bad = NULL;

	victim_init();
	if (pthread_create(&one, NULL, deaf, NULL) != 0 ||
	    pthread_create(&other, NULL, hears, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(one, &bad);
	pthread_join(other, NULL);
	mark();
	return victim_end(bad == NULL);
}
