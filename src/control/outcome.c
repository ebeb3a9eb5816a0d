/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a process that is not our child ended. Two places tell: the last field
 * of /proc/PID/stat while it is a zombie, and the pidfd once its parent has
 * reaped it (PIDFD_INFO_EXIT, Linux 6.15).
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* Not yet in the headers of all supported systems; linux/pidfd.h. */
struct outcome_pidfd_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct outcome_pidfd_info) == 64, "PIDFD_INFO_SIZE_VER0");

#define OUTCOME_EXIT_BIT	(UINT64_C(1) << 3)
#define OUTCOME_GET_INFO	_IOWR(0xff, 11, struct outcome_pidfd_info)

static int
from_zombie(const struct target *t)
{
	struct task_stat st;

	if (target_stat(t, &st) < 0 || (st.state != 'Z' && st.state != 'X'))
		return -1;
	return (int)st.field[STAT_EXIT_CODE];
}

int
target_outcome(const struct target *t)
{
	struct outcome_pidfd_info info = { .mask = OUTCOME_EXIT_BIT };
	const int status = from_zombie(t);

	if (status >= 0)
		return status;
	if (ioctl(t->pidfd, OUTCOME_GET_INFO, &info) == 0 &&
	    info.mask & OUTCOME_EXIT_BIT)
		return info.exit_code;
	return -1;
}
