/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What pairs and locking share: pairs(), which they define, is called DEPTH
 * calls deep; after `ready PID` and a line of input N times, as `cpu`, the
 * thread's own time for that in nanoseconds, and once more for half as many
 * after the next line, as `after`.
 */
#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include "../tests/victims/victim.h"

static uint64_t pairs(long n);

__attribute__((noinline)) static uint64_t
below(int depth, long n)
{
	const uint64_t ns = depth > 0 ? below(depth - 1, n) : pairs(n);

	__asm__ volatile("");
	return ns;
}

static void
wait_for_line(void)
{
	int c;

	while ((c = getchar()) != '\n')
		if (c == EOF)
			exit(0);
}

static int
measure(int argc, char **argv)
{
	if (argc != 3)
		return 99;

	const long n = atol(argv[1]);
	const int depth = atoi(argv[2]);

	setvbuf(stdout, NULL, _IOLBF, 0);
	(void)below(depth, n / 10);
	printf("ready %d\n", (int)getpid());
	wait_for_line();
	victim_say("cpu", below(depth, n));
	wait_for_line();
	victim_say("after", below(depth, n / 2));
	return 0;
}

#endif
