/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The victim of tests that end the injector: threads that each do one job
 * again and again, look at what comes of it, and count.
 */
#ifndef INJECT_WORKERS_H
#define INJECT_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "inject-victim.h"

enum { WORKERS_MAX = 4 };

struct workers {
	struct victim_page at;
	volatile unsigned long rounds[WORKERS_MAX], wrong;
};

static struct workers *shared;

/* What each thread does. */
typedef void worker_job(void);

static inline void *
worker(void *arg)
{
	static volatile unsigned long born;
	const unsigned long i = __atomic_fetch_add(&born, 1, __ATOMIC_RELAXED);
	worker_job *const *jobs = arg;

	while (!shared->at.stop) {
		jobs[i]();
		shared->rounds[i]++;
	}
	return NULL;
}

static inline void
workers_start(pthread_t *th, worker_job *const *jobs, int n)
{
	for (int i = 0; i < n; i++)
		pthread_create(&th[i], NULL, worker, (void *)jobs);
	shared->at.ready = 1;
}

static inline int
workers_join(const pthread_t *th, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	return shared->wrong ? 1 : 0;
}

static inline bool
workers_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info,
		      WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid;
}

/* All n of its threads make progress, and ours have gone. */
static inline bool
workers_live_on(pid_t pid, int n)
{
	const uint64_t give_up = now_ns() + 60000000000ull;
	unsigned long from[WORKERS_MAX];
	int i, moved = 0;

	for (i = 0; i < n; i++)
		from[i] = shared->rounds[i];
	while (now_ns() < give_up && !workers_ended(pid)) {
		for (i = moved = 0; i < n; i++)
			moved += shared->rounds[i] >= from[i] + 2;
		if (moved == n && count_threads(pid) == (unsigned)n + 1)
			return true;
		usleep(200);
	}
	printf("    %d of %d threads move, %u threads\n", moved, n,
	       count_threads(pid));
	return false;
}

#endif
