/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * creators ROUNDS STEPS: at the first `mark` three threads of it, each at a
 * depth of its own, begin to create workers, ROUNDS each, one after the other:
 * they burn twice, three times and five times STEPS. Those of the third create
 * a worker of their own, which burns four times. Says `done 1` when all have
 * ended, and what each kind used by its own clocks.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { KINDS = 4 };

static _Atomic uint64_t used[KINDS];
static _Atomic uint64_t product = 1;
static _Atomic int left, births;
static pthread_t creators[3];
static bool begun;
static int rounds;
static uint64_t steps;

static void
account(int kind)
{
	atomic_fetch_add(&used[kind], victim_clock(CLOCK_THREAD_CPUTIME_ID));
}

static void
work(uint64_t parts)
{
	atomic_fetch_add(&product, burn(parts, parts * steps));
}

NOINLINE static void *
work_two(void *arg)
{
	work(2);
	account(0);
	return arg;
}

NOINLINE static void *
work_three(void *arg)
{
	work(3);
	account(1);
	return arg;
}

NOINLINE static void *
work_four(void *arg)
{
	work(4);
	account(3);
	return arg;
}

/* Creates a worker, waits for it, and says how it was. */
NOINLINE static void
create(void *(*worker)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, worker, NULL) != 0)
		exit(97);
	atomic_fetch_add(&births, 1);
	pthread_join(thread, NULL);
}

NOINLINE static void
create_within(void)
{
	create(work_four);
	__asm__ volatile("");
}

NOINLINE static void *
work_five(void *arg)
{
	create_within();
	work(5);
	account(2);
	return arg;
}

/* So deep does a creator call, and all ROUNDS from there. */
NOINLINE static void
dig(int depth, void *(*worker)(void *))
{
	if (depth > 0) {
		dig(depth - 1, worker);
		__asm__ volatile("");
		return;
	}
	for (int i = 0; i < rounds && !atomic_load(&victim_over); i++)
		create(worker);
}

NOINLINE static void *
creator_flat(void *arg)
{
	dig(0, work_two);
	atomic_fetch_sub(&left, 1);
	return arg;
}

NOINLINE static void *
creator_low(void *arg)
{
	pthread_setname_np(pthread_self(), "low");	/* its workers', too */
	dig(3, work_three);
	atomic_fetch_sub(&left, 1);
	return arg;
}

NOINLINE static void *
creator_deep(void *arg)
{
	dig(20, work_five);
	atomic_fetch_sub(&left, 1);
	return arg;
}

static void
begin(void)
{
	void *(*const how[])(void *) = { creator_flat, creator_low,
					 creator_deep };

	begun = true;
	atomic_store(&left, 3);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&creators[i], NULL, how[i], NULL) != 0)
			exit(98);
	atomic_fetch_add(&births, 3);
}

static void
mark(void)
{
	if (!begun)
		begin();
	victim_say("done", atomic_load(&left) == 0);
	victim_say("births", (uint64_t)atomic_load(&births));
	victim_say("two_ns", atomic_load(&used[0]));
	victim_say("three_ns", atomic_load(&used[1]));
	victim_say("five_ns", atomic_load(&used[2]));
	victim_say("four_ns", atomic_load(&used[3]));
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 99;
	rounds = atoi(argv[1]);
	steps = (uint64_t)atoi(argv[2]);
	victim_init();
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < 3 && begun; i++)
		pthread_join(creators[i], NULL);
	return victim_end(true);
}
