/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exact CPU time per thread, from switch and exit records. Private to clock.
 */
#ifndef SONDE_CLOCK_STATES_H
#define SONDE_CLOCK_STATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "clock.h"

struct states {
	pid_t pid;
	int task_fd;		/* /proc/PID/task, -1 when it is gone */
	struct map threads;	/* tid -> struct thread * */
	uint64_t enabled;	/* the clocks run since then */
	uint64_t given;		/* CPU ns given to samples and exits */
	bool doubt;		/* a thread's records do not fit together */
};

void states_init(struct states *s, pid_t pid);
void states_fini(struct states *s);

/* A thread whose events count from time on. */
void states_watch(struct states *s, pid_t tid, uint64_t time);
void states_fork(struct states *s, pid_t tid, uint64_t time);
void states_switch(struct states *s, pid_t tid, uint64_t time, bool out);
/* CPU ns since the thread's previous sample. */
uint64_t states_sample(struct states *s, pid_t tid, uint64_t time);
/* The same for its end; the thread is forgotten. */
uint64_t states_exit(struct states *s, pid_t tid, uint64_t time);
/* All other threads are gone and tid is the process id. */
void states_exec(struct states *s, pid_t tid, uint64_t time);

/* Records were lost: take every thread's (or, with doubt, those threads')
 * CPU time from the scheduler. */
void states_resync(struct states *s, bool all);
/* The clocks stopped at time; they run again since time. */
void states_stop(struct states *s, uint64_t time);
void states_start(struct states *s, uint64_t time);
/* The rest per thread at the end; gives it away. */
void states_rest(struct states *s,
		 void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns,
			       bool sampled),
		 void *arg);

#endif
