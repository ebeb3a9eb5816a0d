/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hasty N: has four threads that make one thread after the other, while a third
 * executes the same program, N times; the last one ends with status 7. The
 * first begins at its first word.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "victim.h"

enum { MAKERS = 4, SOON_NS = 5000000, STATUS = 7 };

static void *
nothing(void *arg)
{
	return arg;
}

static void *
make_threads(void *arg)
{
	pthread_t thread;
	int r;

	/* while another thread executes a program none can be made */
	do {
		r = pthread_create(&thread, NULL, nothing, arg);
		if (r == 0)
			r = pthread_join(thread, NULL);
	} while (r == 0 || r == EAGAIN);
	fprintf(stderr, "hasty: %s\n", strerror(r));
	_exit(99);
}

static void *
execute(void *arg)
{
	const struct timespec soon = { .tv_nsec = SOON_NS };
	char **argv = arg, left[16];

	nanosleep(&soon, NULL);
	snprintf(left, sizeof left, "%d", atoi(argv[1]) - 1);
	execl(argv[0], argv[0], left, "again", (char *)NULL);
	_exit(98);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char c;

	if (argc < 2)
		return 97;
	if (argc == 2) {
		victim_init();
		victim_ready();
		while (read(0, &c, 1) == 1 && c != '\n')
			;
	}
	if (atoi(argv[1]) == 0)
		return STATUS;
	for (int i = 0; i < MAKERS; i++)
		if (pthread_create(&thread, NULL, make_threads, NULL) != 0)
			return 96;
	if (pthread_create(&thread, NULL, execute, argv) != 0)
		return 95;
	for (;;)
		pause();
}
