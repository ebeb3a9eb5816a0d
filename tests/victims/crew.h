/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A victim all of whose work is done by threads of one kind.
 */
#ifndef CREW_H
#define CREW_H

#include <pthread.h>

#include "victim.h"

enum { CREW_MAX = 64 };

/* n threads begin, each with a number, 1 and up; words are served until it is
 * over, they end, and the last truth is told. A victim that has no such
 * threads is of no use: it ends here. */
static void
crew_serve(int n, void *(*work)(void *number), void (*mark)(void))
{
	pthread_t threads[CREW_MAX];

	if (n < 1 || n > CREW_MAX)
		exit(99);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work,
				   (void *)(uintptr_t)(i + 1)) != 0)
			exit(99);
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	mark();
}

#endif
