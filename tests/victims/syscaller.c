/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * syscaller: most of its CPU time is spent in the kernel, in system calls of
 * read_zeroes; think_a_little is its user part. It measures first what one
 * of those thoughts costs, where no system call is near; user_ns is that
 * times their number, and what else its CPU clock shows is the kernel's.
 */
#include <fcntl.h>

#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { BYTES = 1 << 22, STEPS = 10000, TRIALS = 2000 };

static unsigned char buffer[BYTES];
static uint64_t wrong, eintr, thought_ns;
static _Atomic uint64_t thoughts;

NOINLINE static void
read_zeroes(int fd)
{
	const ssize_t got = read(fd, buffer, sizeof buffer);

	if (got < 0 && errno == EINTR)
		eintr++;
	else if (got != sizeof buffer)
		wrong++;
}

NOINLINE static uint64_t
think_a_little(uint64_t x)
{
	return burn(x, STEPS);
}

static void *
work(void *arg)
{
	const int fd = *(int *)arg;
	uint64_t x = 1, expected = 1;

	while (!atomic_load(&victim_over)) {
		read_zeroes(fd);
		x = think_a_little(x);
		expected = leap(expected, STEPS);
		atomic_fetch_add(&thoughts, 1);
	}
	if (x != expected)
		wrong++;
	return NULL;
}

/* The cost of one thought in 1/1000 ns. */
static uint64_t
measure(void)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t x = 1;

	for (int i = 0; i < TRIALS; i++)
		x = think_a_little(x);
	if (x != leap(1, (uint64_t)TRIALS * STEPS))
		wrong++;
	return (victim_clock(CLOCK_THREAD_CPUTIME_ID) - start) * 1000 / TRIALS;
}

static void
mark(void)
{
	victim_say("user_ns", atomic_load(&thoughts) * thought_ns / 1000);
	victim_say("eintr", eintr);
}

int
main(void)
{
	pthread_t thread;
	int fd;

	victim_init();
	thought_ns = measure();
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pthread_create(&thread, NULL, work, &fd) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, NULL);
	mark();
	return victim_end(wrong == 0 && eintr == 0);
}
