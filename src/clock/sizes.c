/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of a stack is copied at each tick, and how large the rings are that
 * the copies wait in.
 *
 * The kernel copies what there is from sp upwards, and no more than the record
 * has room for; the room is taken in the ring whatever the stack is. So a large
 * copy is paid for by deep stacks in time and by all in memory. At 1 ms 64 KB
 * cost neither clang (stacks of 20 to 90 KB: 8.18 s against 8.15 s of CPU time
 * with 16 KB, medians) nor a shallow program anything that could be measured;
 * of clang's stacks 94 % are whole, with 16 KB it was 1 %. At 0.2 ms it was
 * 5 %, and samples were lost. So the copies of a CPU may be 64 KB a
 * millisecond.
 */
#include "private.h"

#include <unistd.h>

enum {
	MILLISECOND_NS = 1000 * 1000,
	RECORD_OVERHEAD = 512,		/* registers, and side-band around */
	RING_SPAN_NS = 200 * 1000 * 1000,
	SPAN_LEAST_NS = 50 * 1000 * 1000,	/* or copies get smaller */
	RING_LEAST = 256 << 10,
	RING_MOST = 32 << 20,
	MEMORY_SHARE = 32,		/* of what the machine has, at most */
};

static size_t
power_of_two(size_t least)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);

	while (n < least)
		n *= 2;
	return n;
}

/* Two samples: else a ring could be too small to hold any. */
size_t
ring_least(uint32_t stack_bytes)
{
	return power_of_two(2 * (stack_bytes + RECORD_OVERHEAD));
}

static size_t
largest_ring(void)
{
	const size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	const size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) *
			      (size_t)sysconf(_SC_PAGESIZE);
	const size_t share = memory / MEMORY_SHARE / cpus;

	return share < RING_MOST ? share : RING_MOST;
}

static size_t
bytes_in(uint64_t span_ns, uint64_t interval_ns, uint32_t stack_bytes)
{
	return (span_ns / interval_ns + 1) * (stack_bytes + RECORD_OVERHEAD);
}

size_t
ring_size(const struct clock_options *opt)
{
	if (opt->ring_bytes > 0)
		return power_of_two(opt->ring_bytes);

	const size_t most = largest_ring();
	size_t want = power_of_two(bytes_in(RING_SPAN_NS, opt->interval_ns,
					    opt->stack_bytes));

	if (want < RING_LEAST)
		want = RING_LEAST;
	while (want > most && want > ring_least(opt->stack_bytes))
		want /= 2;
	return want;
}

uint32_t
copy_for(uint64_t interval_ns)
{
	if (interval_ns >= MILLISECOND_NS)
		return STACK_MOST;
	return interval_ns >= MILLISECOND_NS / 2 ? COPY_LEAST * 2 : COPY_LEAST;
}

static uint32_t
smaller(uint32_t stack_bytes)
{
	return stack_bytes > COPY_LEAST * 2 ? COPY_LEAST * 2 : COPY_LEAST;
}

uint32_t
copy_fitting(const struct clock_options *opt, size_t ring_bytes)
{
	uint32_t stack_bytes = opt->stack_bytes;

	while (stack_bytes > COPY_LEAST &&
	       bytes_in(SPAN_LEAST_NS, opt->interval_ns, stack_bytes) >
	       ring_bytes)
		stack_bytes = smaller(stack_bytes);
	return stack_bytes;
}
