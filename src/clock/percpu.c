/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The per-CPU form: a clock on every CPU that passes only overflows in our
 * process, and beside it a silent event that tells of new threads, mappings
 * and names. They are two events, and not one, so that the kernel's count of
 * what found no room in the ring is a count of samples.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
sideband_open(int **fds, size_t *len, struct perf_kernel *k,
	      const struct rings *rings)
{
	struct perf_event_attr a = attr_dummy();

	attr_add_side_band(&a);
	*len = rings->len;
	*fds = no_fds(rings->len);
	if (open_everywhere(*fds, k, rings, &a) == 0)
		return 0;

	const int error = errno;

	fds_close(*fds, *len);
	*fds = NULL;
	*len = 0;
	errno = error;
	return -1;
}

static int
set_filter(const struct percpu *p, pid_t pid)
{
	const int program = bpf_open_filter(pid);

	if (program < 0)
		return -1;

	const int done = each(p->clocks, p->len, PERF_EVENT_IOC_SET_BPF,
			      program);
	const int error = errno;

	/* the events hold it */
	(void)close(program);
	errno = error;
	return done;
}

static int
open_clocks(struct percpu *p, struct perf_kernel *k, const struct rings *rings,
	    const struct clock_options *opt, const char **what)
{
	struct perf_event_attr a = attr_clock(PERF_COUNT_SW_CPU_CLOCK, opt);

	a.exclude_idle = 1;
	a.disabled = 1;		/* until it is filtered */
	*what = "perf_event_open on every CPU";
	if (open_everywhere(p->clocks, k, rings, &a) < 0)
		return -1;
	*what = "bpf filter";
	if (set_filter(p, opt->pid) < 0)
		return -1;
	*what = "start of the clocks";
	return each(p->clocks, p->len, PERF_EVENT_IOC_ENABLE, 0);
}

int
percpu_open(struct percpu *p, struct perf_kernel *k, const struct rings *rings,
	    const struct clock_options *opt, const char **what)
{
	*p = (struct percpu){0};
	*what = "perf_event_open on every CPU";
	if (sideband_open(&p->sides, &p->len, k, rings) < 0)
		return -1;
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
