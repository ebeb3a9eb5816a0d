/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * takers SECONDS: threads that take turns of many lengths on the processors,
 * for as long, and say what CPU time each had by its own clock. They begin at
 * the word `mark`, say `done 1`, and sleep until the end. The first thread
 * sleeps all the time.
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { TAKERS = 4, MS = 1000 * 1000, STEPS = 2000 };

static struct taker {
	const char *name;
	uint64_t burn_ns;	/* of CPU time in a turn */
	unsigned rest_us;	/* then so much sleep; 0: none */
	pthread_t thread;
	uint64_t steps, product, cpu_ns;
} takers[TAKERS] = {
	{ .name = "half", .burn_ns = 5 * MS, .rest_us = 5000 },
	{ .name = "third", .burn_ns = MS / 2, .rest_us = 1000 },
	{ .name = "brief", .burn_ns = 0, .rest_us = 1 },
	{ .name = "whole", .burn_ns = MS, .rest_us = 0 },
};
static uint64_t life_ns;
static _Atomic int ended;
static bool begun, over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void
wait_for(const bool *fact)
{
	pthread_mutex_lock(&lock);
	while (!*fact)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void
tell(bool *fact)
{
	pthread_mutex_lock(&lock);
	*fact = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void
take_turn(struct taker *t)
{
	const uint64_t end = t->burn_ns +
		victim_clock(CLOCK_THREAD_CPUTIME_ID);

	while (t->burn_ns && victim_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
		t->product = burn(t->product, STEPS);
		t->steps += STEPS;
	}
	if (t->rest_us)
		usleep(t->rest_us);
}

static void *
take(void *arg)
{
	struct taker *t = arg;

	(void)pthread_setname_np(pthread_self(), t->name);
	wait_for(&begun);

	const uint64_t until = victim_clock(CLOCK_MONOTONIC) + life_ns;

	while (victim_clock(CLOCK_MONOTONIC) < until)
		take_turn(t);
	t->cpu_ns = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	ended++;
	wait_for(&over);
	return NULL;
}

static void
mark(void)
{
	char key[16];

	tell(&begun);
	for (int i = 0; i < TAKERS; i++) {
		snprintf(key, sizeof key, "%s_ns", takers[i].name);
		victim_say(key, ended == TAKERS ? takers[i].cpu_ns : 0);
	}
	victim_say("done", ended == TAKERS);
}

int
main(int argc, char **argv)
{
	bool ok = true;

	if (argc != 2)
		return 99;
	life_ns = (uint64_t)(atof(argv[1]) * 1e9);
	victim_init();
	for (int i = 0; i < TAKERS; i++)
		if (pthread_create(&takers[i].thread, NULL, take, &takers[i]))
			return 99;
	victim_ready();
	victim_serve(mark);
	tell(&begun);
	tell(&over);
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(takers[i].thread, NULL);
		ok = ok && takers[i].product == leap(0, takers[i].steps);
	}
	return victim_end(ok);
}
