/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pairs N DEPTH: N times malloc(64) and free by one thread (pairs.h).
 */
#include "pairs.h"

static void *volatile sink;

__attribute__((noinline)) static uint64_t
pairs(long n)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	for (long i = 0; i < n; i++) {
		sink = malloc(64);
		free(sink);
	}
	return victim_clock(CLOCK_THREAD_CPUTIME_ID) - start;
}

int
main(int argc, char **argv)
{
	return measure(argc, argv);
}
