/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for locks and their like, to packets; and from how long on a wait is
 * one, where nobody has said so.
 */
#include <pthread.h>

#include "calls.h"
#include "inject.h"

/* Who sleeps and is woken waits for thousands of nanoseconds. */
enum { ROUNDS = 20, PAIRS = 500, TIMES_FREE = 100, LEAST_NS = 1000 };

/* By a lock of our own: libc's are the same there, and so is the machine. */
static uint64_t
found_threshold(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t start = now_ns();
		uint64_t ns;

		for (int k = 0; k < PAIRS; k++) {
			pthread_mutex_lock(&m);
			pthread_mutex_unlock(&m);
		}
		ns = now_ns() - start;
		best = ns < best ? ns : best;
	}
	best = best * TIMES_FREE / PAIRS;
	return best < LEAST_NS ? LEAST_NS : best;
}

uint64_t
calls_threshold(const struct settings *s)
{
	if (!s->sync || s->sync_us == 0)
		return 0;
	return s->sync_us > 0 ? (uint64_t)s->sync_us * 1000 :
		found_threshold();
}

void
calls_put_wait(struct experiment *exp, const struct trace_event *ev,
	       uint64_t frinfo)
{
	experiment_wait(exp, &(struct experiment_wait){
		.time_ns = ev->time_ns, .since_ns = ev->since_ns,
		.tid = ev->tid, .owner = ev->owner, .object = ev->object,
		.frinfo = frinfo,
	});
}
