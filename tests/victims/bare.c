/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bare: nothing but dynamic symbols, once its section headers are taken away.
 * All of its CPU time is in two functions that nobody calls by a name in any
 * table but those: bare_leaf, whose caller is bare_caller, and a static one,
 * which that calls, too. Built without unwind tables and with frame pointers
 * (leafy), bare_leaf has no frame of its own.
 */
#include <pthread.h>

#include "victim.h"

enum { STEPS = 300000 };

volatile uint64_t bare_sum, bare_rounds;

VICTIM_OWN void
bare_leaf(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		bare_sum += i;
}

VICTIM_OWN static void
hidden(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		bare_sum += 1;
}

VICTIM_OWN void
bare_caller(uint64_t n)
{
	bare_leaf(n);
	bare_rounds++;
}

VICTIM_OWN void
bare_other(uint64_t n)
{
	hidden(n);
	bare_rounds++;
}

VICTIM_OWN void
bare_outer(uint64_t n)
{
	bare_caller(n);
	bare_other(n);
	bare_rounds++;
}

static void *
work(void *arg)
{
	while (!atomic_load(&victim_over))
		bare_outer(STEPS);
	return arg;
}

int
main(void)
{
	const uint64_t each = (uint64_t)STEPS * (STEPS - 1) / 2 + STEPS;
	pthread_t th;

	victim_init();
	if (pthread_create(&th, NULL, work, NULL))
		return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_join(th, NULL);
	return victim_end(bare_sum == bare_rounds / 3 * each);
}
