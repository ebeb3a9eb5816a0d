/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * watches: does the processor keep breakpoints (debug registers)? Status 0 if
 * it does, or if the kernel refuses to say; 1 where a breakpoint on a function
 * of our own is never hit, as below some hypervisors.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static void __attribute__((noinline))
landing(void)
{
	__asm__ volatile("" ::: "memory");
}

int
main(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof attr,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)landing,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t hits = 0;

	if (fd < 0)
		return 0;
	landing();
	return read(fd, &hits, sizeof hits) == (ssize_t)sizeof hits && !hits;
}
