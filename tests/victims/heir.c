/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heir: at the first mark it forks a child, which at the next one loses 100
 * blocks of 64 bytes and has 1000 pairs. Parent and child both live to the
 * end. With an argument the parent has threads which do nothing but allocate.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "victim.h"

#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum { LOST = 100, PAIRS = 1000, BYTES = 64, THREADS = 2 };

static pid_t child;
static int orders[2], answers[2];
static void *volatile last;

NOINLINE static void
heir_lose(void)
{
	last = malloc(BYTES);
	__asm__ volatile("");
}

NOINLINE static void
heir_pair(void)
{
	last = malloc(BYTES);
	free(last);
}

static void *
live_busily(void *arg)
{
	while (!atomic_load(&victim_over))
		free(*(void *volatile *)&(void *){ malloc(BYTES) });
	return arg;
}

static void
live_as_child(void)
{
	char c;

	close(orders[1]);
	while (read(orders[0], &c, 1) == 1) {
		for (int i = 0; i < LOST; i++)
			heir_lose();
		for (int i = 0; i < PAIRS; i++)
			heir_pair();
		if (write(answers[1], &c, 1) != 1)
			_exit(98);
	}
	_exit(7);
}

static void
mark(void)
{
	char c = 0;

	if (!child) {
		child = fork();
		if (child == 0)
			live_as_child();
		victim_say("child", (uint64_t)child);
		return;
	}
	if (write(orders[1], &c, 1) != 1 || read(answers[0], &c, 1) != 1)
		exit(99);
	victim_say("lost", LOST);
	victim_say("pairs", PAIRS);
	victim_say("bytes", BYTES);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	int status = 0;

	(void)argv;

	victim_init();
	if (pipe(orders) < 0 || pipe(answers) < 0)
		return 99;
	for (int i = 0; argc > 1 && i < THREADS; i++)
		if (pthread_create(&thread, NULL, live_busily, NULL) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	close(orders[0]);
	close(orders[1]);
	if (child > 0 && waitpid(child, &status, 0) != child)
		return 99;
	return victim_end(child > 0 && status == 7 << 8);
}
