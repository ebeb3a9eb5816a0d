/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sigprof-user: has a profiler of its own: ITIMER_PROF every 10 ms of CPU and
 * a handler for SIGPROF. foreign counts signals that were not its timer's.
 * At the end timer and handler must still be its own and still work.
 */
#include <pthread.h>
#include <sys/time.h>

#include "burn.h"
#include "crew.h"

static _Atomic uint64_t ticks, foreign;

static void
on_tick(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	atomic_fetch_add(info->si_code == SI_KERNEL ? &ticks : &foreign, 1);
}

NOINLINE static uint64_t
profiled_work(uint64_t x)
{
	return burn(x, 100000);
}

static void *
work(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (!atomic_load(&victim_over))
		x = profiled_work(x);
	return (void *)(uintptr_t)(x == 0);
}

static void
mark(void)
{
	victim_say("ticks", atomic_load(&ticks));
	victim_say("foreign", atomic_load(&foreign));
}

static bool
still_ours(void)
{
	struct sigaction now;
	struct itimerval timer;

	return sigaction(SIGPROF, NULL, &now) == 0 &&
		now.sa_sigaction == on_tick &&
		getitimer(ITIMER_PROF, &timer) == 0 &&
		timer.it_interval.tv_usec == 10000;
}

int
main(void)
{
	struct sigaction action = { .sa_sigaction = on_tick,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	const struct itimerval every = { { 0, 10000 }, { 0, 10000 } };

	victim_init();
	if (sigaction(SIGPROF, &action, NULL) < 0 ||
	    setitimer(ITIMER_PROF, &every, NULL) < 0)
		return 99;
	crew_serve(1, work, mark);
	return victim_end(still_ours() && atomic_load(&foreign) == 0);
}
