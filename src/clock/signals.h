/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A clock that sends signals: signals.c is its door and its side-band, and
 * signals_threads.c has its threads.
 */
#ifndef SONDE_CLOCK_SIGNALS_H
#define SONDE_CLOCK_SIGNALS_H

#include "control.h"
#include "private.h"

struct ticker {
	pid_t tid;
	int fd;			/* -1: it ended */
	uint64_t before;	/* CPU ns that it used before it was opened */
	uint64_t at_end;	/* its count when it ended */
	struct tick_times times;
};

struct signal_clock {
	struct gate *gate;	/* NULL: the kernel has none for us */
	int gate_signo;
	struct gate_handler handler;
	struct stacks stacks;	/* of the process */
	struct map filters;	/* tid -> seccomp filters that a tick may meet */
	pid_t pid, except;
	uint64_t interval_ns;
	int signo;		/* 0: not told yet */
	bool (*wanted)(void *arg, int fd, pid_t tid);
	void *wanted_arg;
	bool on, lost, execed;
	struct perf_kernel kernel;
	struct rings rings;
	int *sides;		/* per CPU, or the watch */
	struct family family;	/* with the first */
	size_t sides_len;
	struct watch watch;
	struct ticker *tickers;
	size_t len, cap;
	struct map refused;	/* threads that have none: errno */
	size_t *ended;		/* since the last drain: their times stay */
	size_t ended_len, ended_cap, timed;
	struct map by_tid;	/* tid -> place of its latest ticker */
};

/* ---- signals_threads.c ---------------------------------------------------  */

/* 0 also for a thread that is gone, or not to be sampled. */
int tickers_add(struct signal_clock *c, pid_t tid);
/* All threads, until nobody is new. -1 with errno: none has one. */
int tickers_add_all(struct signal_clock *c);
/* It was born of another, whose seccomp filters it has. */
int tickers_add_born(struct signal_clock *c, pid_t tid, pid_t parent);
/* The thread has ended. */
void tickers_end(struct signal_clock *c, pid_t tid);
/* Times of those that ended before the last drain. */
void tickers_forget_times(struct signal_clock *c);
/* The clock's signal to this thread, if it is wanted. -1 with errno. */
int ticker_send_to(const struct signal_clock *c, int fd, pid_t tid);
int ticker_set_sending(int fd, bool on);
/* CPU time of the thread so far, ns. */
uint64_t ticker_cpu(const struct ticker *t);

#endif
