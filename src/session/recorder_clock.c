/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process's CPU clock, as far as it is of the program that is recorded: a
 * clock goes on through an exec, which is told a while later. What it showed
 * then lies between two readings.
 */
#include "recorder.h"

#include <string.h>

/* The next program begins with one thread: it has used no more than the time
 * that went by. */
static uint64_t
between(struct clock_reading before, struct clock_reading after, uint64_t then)
{
	const uint64_t grown = after.cpu_ns - before.cpu_ns;
	const uint64_t since = after.time_ns - then;
	const uint64_t least = grown > since ? grown - since : 0;
	const uint64_t share = (uint64_t)((double)grown *
		(double)(then - before.time_ns) /
		(double)(after.time_ns - before.time_ns));

	return before.cpu_ns + (share > least ? share : least);
}

static int
read_clock(struct recorder *rec, uint64_t *cpu_ns)
{
	enum { OTHERS = RECORDER_READINGS - 1 };

	if (target_cpu_ns(rec->opt.target, cpu_ns) < 0)
		return -1;
	memmove(rec->readings, rec->readings + 1,
		OTHERS * sizeof rec->readings[0]);
	rec->readings[OTHERS] = (struct clock_reading){ now_ns(), *cpu_ns };
	return 0;
}

/* An exec is told with the records of a round, some readings later. */
static uint64_t
at_exec(struct recorder *rec)
{
	const uint64_t then = rec->counts.exec_ns;
	const struct clock_reading *r = rec->readings;
	uint64_t cpu_ns;
	int i = RECORDER_READINGS - 1;

	if (rec->at_exec_ns)
		return rec->at_exec_ns;
	if (r[i].time_ns <= then)
		(void)read_clock(rec, &cpu_ns);
	while (i > 0 && r[i - 1].time_ns > then)
		i--;
	rec->at_exec_ns = i > 0 && r[i - 1].time_ns && r[i].time_ns > then ?
		between(r[i - 1], r[i], then) : r[i].cpu_ns;
	return rec->at_exec_ns;
}

int
recorder_cpu_ns(struct recorder *rec, uint64_t *cpu_ns)
{
	if (!rec->counts.execed)
		return read_clock(rec, cpu_ns);
	*cpu_ns = at_exec(rec);
	return 0;
}
