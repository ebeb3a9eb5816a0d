/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does the processor keep breakpoints (debug registers)? Below some hypervisors
 * the kernel grants one on a function of our own, and it is never hit. Where
 * the kernel refuses it, nothing is known, and the answer is yes.
 */
#ifndef WATCHES_H
#define WATCHES_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static void __attribute__((noinline, unused))
watches_landing(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline bool
processor_watches(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof attr,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)watches_landing,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t hits = 0;

	if (fd < 0)
		return true;
	watches_landing();
	if (read(fd, &hits, sizeof hits) != (ssize_t)sizeof hits)
		hits = 1;
	close(fd);
	return hits > 0;
}

#endif
