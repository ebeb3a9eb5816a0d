/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * idle-taker MODE: burns CPU in a thread. At its first mark it takes SIGURG
 * for itself: `handler` (counting what comes to it as foreign), `ignore`, or
 * `send`, which sends it to itself, by the default for no effect. With a
 * second word, `now`, it has taken it before it says ready. At the end it must
 * still have what it took.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

static _Atomic uint64_t foreign;
static bool taken;
static const char *mode;

static void
on_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&foreign, 1);
}

NOINLINE static uint64_t
taken_work(uint64_t x)
{
	return burn(x, 100000);
}

static void *
work(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (!atomic_load(&victim_over))
		x = taken_work(x);
	return (void *)(uintptr_t)(x == 0);
}

static void *
wanted(void)
{
	if (strcmp(mode, "send") == 0)
		return (void *)SIG_DFL;
	return strcmp(mode, "ignore") == 0 ? (void *)SIG_IGN :
		(void *)on_signal;
}

static void
take(void)
{
	struct sigaction action = { .sa_flags = SA_RESTART };

	action.sa_handler = (void (*)(int))wanted();
	if (strcmp(mode, "send") == 0 ? raise(SIGURG) != 0 :
	    sigaction(SIGURG, &action, NULL) < 0)
		exit(99);
	taken = true;
}

static void
mark(void)
{
	if (!taken)
		take();
	victim_say("foreign", atomic_load(&foreign));
}

int
main(int argc, char **argv)
{
	struct sigaction now;
	pthread_t thread;

	mode = argc > 1 ? argv[1] : "handler";
	victim_init();
	if (argc > 2)
		take();
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, NULL);
	return victim_end(sigaction(SIGURG, NULL, &now) == 0 &&
			  (!taken || (void *)now.sa_handler == wanted()));
}
