/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * convoy [threads]: each wants the one lock, does a little with it, and wants
 * it again: all of them stand in one queue. It says how long they stood there
 * together, by their own clocks: the wall's time of each wait without what the
 * thread ran and what it waited for a processor meanwhile.
 */
#include <fcntl.h>
#include <pthread.h>

#include "burn.h"
#include "crew.h"

enum { STEPS = 100000, ROUNDS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t lock_ns, life_ns, wrong;

struct clocks {
	uint64_t wall, cpu, wait;
};

static struct clocks
read_clocks(void)
{
	const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	unsigned long long ran, waited;
	char line[96] = "";
	struct clocks c;

	if (fd < 0 || read(fd, line, sizeof line - 1) <= 0 ||
	    sscanf(line, "%llu %llu", &ran, &waited) != 2)
		exit(97);
	close(fd);
	c.wait = waited;
	c.wall = victim_clock(CLOCK_MONOTONIC);
	c.cpu = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	return c;
}

NOINLINE static uint64_t
with_lock(uint64_t x)
{
	return burn(x, STEPS);
}

/* Nothing else in it blocks. */
NOINLINE static uint64_t
queue_up(uint64_t x)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		x = with_lock(x);
		pthread_mutex_unlock(&lock);
	}
	return x;
}

static void *
work(void *arg)
{
	const uint64_t start = victim_clock(CLOCK_MONOTONIC);
	uint64_t x = (uintptr_t)arg, steps = 0;

	while (!atomic_load(&victim_over)) {
		const struct clocks a = read_clocks();

		x = queue_up(x);
		steps += (uint64_t)STEPS * ROUNDS;

		const struct clocks b = read_clocks();
		const uint64_t used = b.cpu - a.cpu + b.wait - a.wait;

		if (b.wall - a.wall > used)
			atomic_fetch_add(&lock_ns, b.wall - a.wall - used);
	}
	atomic_fetch_add(&life_ns, victim_clock(CLOCK_MONOTONIC) - start);
	if (x != leap((uintptr_t)arg, steps))
		atomic_fetch_add(&wrong, 1);
	return NULL;
}

static void
mark(void)
{
	victim_say("lock_ns", atomic_load(&lock_ns));
	victim_say("life_ns", atomic_load(&life_ns));
}

int
main(int argc, char **argv)
{
	victim_init();
	crew_serve(argc > 1 ? atoi(argv[1]) : 8, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
