/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is asked of perf_event_open, in one place: all events use
 * CLOCK_MONOTONIC and the same identification, so that they can share rings.
 */
#include "perf.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	IDENTIFIED = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
		     PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
};

static struct perf_event_attr
attr_software(uint64_t config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.sample_type = IDENTIFIED,
		.sample_id_all = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* or a wake-up per record; the ring's owner says how many */
		.watermark = 1,
		.wakeup_watermark = 1,
	};
}

struct perf_event_attr
attr_dummy(void)
{
	struct perf_event_attr a = attr_software(PERF_COUNT_SW_DUMMY);

	a.exclude_kernel = 1;
	return a;
}

void
attr_add_side_band(struct perf_event_attr *a)
{
	a->mmap = 1;
	a->mmap2 = 1;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
}

void
attr_add_inherit(struct perf_event_attr *a)
{
	a->inherit = 1;
	a->inherit_thread = 1;
}

struct perf_event_attr
attr_clock(uint64_t config, const struct clock_options *opt)
{
	struct perf_event_attr a = attr_software(config);

	a.sample_period = opt->interval_ns;
	a.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD |
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a.sample_regs_user = arch.perf_regs;
	a.sample_stack_user = opt->stack_bytes;
	a.read_format = PERF_FORMAT_LOST;
	a.exclude_kernel = opt->never_kernel;
	a.exclude_user = opt->only_kernel;
	return a;
}

/* The processor compares; what it finds is a sample like a clock's. */
struct perf_event_attr
attr_entry(uint64_t address, uint32_t stack_bytes)
{
	const struct clock_options every = {
		.interval_ns = 1, .stack_bytes = stack_bytes,
		.never_kernel = true,
	};
	struct perf_event_attr a = attr_clock(0, &every);

	a.type = PERF_TYPE_BREAKPOINT;
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = address;
	a.bp_len = sizeof(long);
	a.task = 1;
	return a;
}

/* Its own registers would be the kernel's: the user's are in the sample. */
struct perf_event_attr
attr_tracepoint(int number, uint32_t stack_bytes)
{
	const struct clock_options every = {
		.interval_ns = 1, .stack_bytes = stack_bytes,
	};
	struct perf_event_attr a = attr_clock((uint64_t)number, &every);

	a.type = PERF_TYPE_TRACEPOINT;
	a.task = 1;
	return a;
}

/* No records: there is no ring to write into. */
struct perf_event_attr
attr_ticker(uint64_t interval_ns)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = interval_ns,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
		.remove_on_exec = 1,
	};
}

static int
open_as_able(const struct perf_kernel *k, const struct perf_event_attr *asked,
	     pid_t tid, int cpu)
{
	struct perf_event_attr a = *asked;

	if (k->no_lost)
		a.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
	if (k->no_inherit_thread)
		a.inherit_thread = 0;
	return (int)syscall(SYS_perf_event_open, &a, tid, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/*
 * A kernel that does not know a bit of the request says EINVAL and no more.
 * Ask for less until it agrees, and remember what it agreed to; where even
 * the least is refused, the fault was elsewhere and nothing was learnt.
 */
int
perf_open(struct perf_kernel *k, const struct perf_event_attr *a, pid_t tid,
	  int cpu)
{
	static const struct perf_kernel less[] = {
		{ .no_lost = true },
		{ .no_lost = true, .no_inherit_thread = true },
	};
	int fd = open_as_able(k, a, tid, cpu);

	for (size_t i = 0; i < ARRAY_LEN(less); i++) {
		if (fd >= 0 || errno != EINVAL)
			return fd;
		fd = open_as_able(&less[i], a, tid, cpu);
		if (fd >= 0)
			*k = less[i];
	}
	return fd;
}

bool
perf_read(const struct perf_kernel *k, int fd, uint64_t *count, uint64_t *lost)
{
	uint64_t value[2] = { 0, 0 };
	const size_t size = k->no_lost ? sizeof value[0] : sizeof value;

	if (read(fd, value, size) != (ssize_t)size)
		return false;
	*count = value[0];
	*lost = value[1];
	return true;
}
