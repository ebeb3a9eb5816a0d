/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The per-CPU form: a clock on every CPU that passes only overflows in our
 * process, and beside it a silent event that tells of new threads, mappings
 * and names. They are two events, and not one, so that the kernel's count of
 * what found no room in the ring is a count of samples.
 *
 * Ticks must not keep step with what they measure; two things made them:
 *
 *   Each other. Client and server on two CPUs wake one another. Where the
 *   clocks of both tick within some 20 us, each tick delays the client just
 *   before the server is looked at, and the server is found asleep: 0.13 to
 *   0.65 of its CPU time, user mode a fifth of it instead of a seventh. So
 *   the clocks start apart.
 *
 *   The scheduler. On a crowded machine it changes threads at its own tick, a
 *   whole number of milliseconds. An interval that divides it or is a
 *   multiple sees the same few moments of each slice. So an interval next to
 *   such a number goes a little beyond it.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	MILLISECOND_NS = 1000 * 1000,
	DRIFT_PART = 144,	/* of the interval: 0.7 % */
	DRIFT_MOST_NS = 382 * 1000,
};

void
fds_close(int *fds, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	free(fds);
}

/* An event of any process on the CPU of each ring. */
static int
open_everywhere(int *fds, struct perf_kernel *k, const struct rings *rings,
		const struct perf_event_attr *a)
{
	for (size_t i = 0; i < rings->len; i++) {
		if (!rings->ring[i].page)
			continue;
		fds[i] = perf_open(k, a, -1, rings->ring[i].cpu);
		if (fds[i] < 0 && errno == ENODEV)
			continue;	/* this CPU went away */
		if (fds[i] < 0 || ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT,
					rings->ring[i].fd) < 0)
			return -1;
	}
	return 0;
}

static int *
no_fds(size_t n)
{
	int *fds = xcalloc(n, sizeof *fds);

	for (size_t i = 0; i < n; i++)
		fds[i] = -1;
	return fds;
}

static int
each(const int *fds, size_t n, unsigned long request, int argument)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0 && ioctl(fds[i], request, argument) < 0)
			return -1;
	return 0;
}

int
everywhere_open(int **fds, size_t *len, struct perf_kernel *k,
		const struct rings *rings, const struct perf_event_attr *a)
{
	*len = rings->len;
	*fds = no_fds(rings->len);
	if (open_everywhere(*fds, k, rings, a) == 0)
		return 0;

	const int error = errno;

	fds_close(*fds, *len);
	*fds = NULL;
	*len = 0;
	errno = error;
	return -1;
}

int
sideband_open(int **fds, size_t *len, struct perf_kernel *k,
	      const struct rings *rings)
{
	struct perf_event_attr a = attr_dummy();

	attr_add_side_band(&a);
	return everywhere_open(fds, len, k, rings, &a);
}

int
everywhere_filter(const int *fds, size_t len, pid_t pid)
{
	const int program = bpf_open_filter(pid);

	if (program < 0)
		return -1;

	const int done = each(fds, len, PERF_EVENT_IOC_SET_BPF, program);
	const int error = errno;

	/* the events hold it */
	(void)close(program);
	errno = error;
	return done;
}

/* ---- out of step --------------------------------------------------------- */

/* The multiple or the part of a millisecond that is next to ns. */
static uint64_t
scheduler_step(uint64_t ns)
{
	if (ns < MILLISECOND_NS)
		return MILLISECOND_NS / ((MILLISECOND_NS + ns / 2) / ns);
	return (ns + MILLISECOND_NS / 2) / MILLISECOND_NS * MILLISECOND_NS;
}

static uint64_t
drifting(uint64_t ns)
{
	const uint64_t step = scheduler_step(ns), part = ns / DRIFT_PART;
	const uint64_t drift = part < DRIFT_MOST_NS ? part : DRIFT_MOST_NS;

	if (ns >= step)
		return ns - step < drift ? step + drift : ns;
	return step - ns < drift ? step - drift : ns;
}

struct start {
	uint64_t after_ns;
	int fd;
};

static int
by_time(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return (x->after_ns > y->after_ns) - (x->after_ns < y->after_ns);
}

/*
 * Fibonacci hashing of the CPU's place into an interval, at most 1 ms: CPUs
 * with near numbers, who often work together, tick far apart.
 */
static uint64_t
start_after(const struct percpu *p, size_t place)
{
	const uint64_t span = p->period_ns < MILLISECOND_NS ? p->period_ns :
		MILLISECOND_NS;

	return (uint32_t)(place * 0x9E3779B9u) * span >> 32;
}

/* In the order of time; returns how many. */
static size_t
plan_starts(const struct percpu *p, struct start *starts)
{
	size_t n = 0;

	for (size_t i = 0; i < p->len; i++)
		if (p->clocks[i] >= 0)
			starts[n++] = (struct start){ start_after(p, i),
						      p->clocks[i] };
	qsort(starts, n, sizeof *starts, by_time);
	return n;
}

static int
percpu_start(const struct percpu *p)
{
	struct start *starts = xcalloc(p->len, sizeof *starts);
	const size_t n = plan_starts(p, starts);
	const uint64_t begin = now_ns();
	int error = 0;

	for (size_t i = 0; i < n; i++) {
		/* a sleep would be rounded, and two of them become one */
		while (now_ns() - begin < starts[i].after_ns)
			continue;
		if (ioctl(starts[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			error = errno;
	}
	free(starts);
	errno = error;
	return error ? -1 : 0;
}

/* ---- the clocks ---------------------------------------------------------- */

static int
open_clocks(struct percpu *p, struct perf_kernel *k, const struct rings *rings,
	    const struct clock_options *opt, const char **what)
{
	struct perf_event_attr a = attr_clock(PERF_COUNT_SW_CPU_CLOCK, opt);

	p->period_ns = drifting(opt->interval_ns);
	a.sample_period = p->period_ns;
	a.exclude_idle = 1;
	a.disabled = 1;		/* until it is filtered */
	*what = "perf_event_open on every CPU";
	if (open_everywhere(p->clocks, k, rings, &a) < 0)
		return -1;
	*what = "bpf filter";
	if (everywhere_filter(p->clocks, p->len, opt->pid) < 0)
		return -1;
	*what = "start of the clocks";
	return percpu_start(p);
}

int
percpu_open(struct percpu *p, struct perf_kernel *k, const struct rings *rings,
	    const struct clock_options *opt, const char **what)
{
	*p = (struct percpu){0};
	*what = "perf_event_open on every CPU";
	if (!opt->only_kernel &&
	    sideband_open(&p->sides, &p->len, k, rings) < 0)
		return -1;
	p->len = rings->len;
	p->clocks = no_fds(p->len);
	if (open_clocks(p, k, rings, opt, what) == 0)
		return 0;

	const int error = errno;

	percpu_close(p);
	errno = error;
	return -1;
}

void
percpu_close(struct percpu *p)
{
	if (p->clocks)
		fds_close(p->clocks, p->len);
	if (p->sides)
		fds_close(p->sides, p->len);
	*p = (struct percpu){0};
}
