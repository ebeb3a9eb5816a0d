/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A borrowed thread stands as long as we and the helper take, and a busy
 * program leaves neither of us a processor: while there is an errand we go
 * first, and the helper soon. The helper is no real-time thread, which could
 * keep the holder of a lock that it spins on from running.
 *
 * What the kernel does not permit is left out. A short slice needs nobody's
 * permission (Linux 6.12): less at a time, but sooner.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

enum { HELPER_NICE = -15, RESET_ON_FORK = 1 };
#define SHORT_SLICE_NS	UINT64_C(100000)

/* As linux/sched/types.h has it, first version. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct attributes) == sizeof(struct urgent), "ABI");

static int
get(pid_t tid, struct attributes *a)
{
	return (int)syscall(SYS_sched_getattr, tid, a, sizeof *a, 0);
}

static int
set(pid_t tid, struct attributes a)
{
	a.size = sizeof a;
	return (int)syscall(SYS_sched_setattr, tid, &a, 0);
}

static bool
shares_fairly(const struct attributes *a)
{
	return a->policy == SCHED_OTHER || a->policy == SCHED_BATCH;
}

void
urgent_begin(struct urgent *before)
{
	struct attributes *old = (struct attributes *)before;
	struct attributes now = {
		.policy = SCHED_FIFO, .flags = RESET_ON_FORK, .priority = 1,
	};

	if (get(0, old) < 0 || !shares_fairly(old)) {
		old->size = 0;		/* nothing to put back */
		return;
	}
	if (set(0, now) == 0)
		return;
	now = *old;
	now.runtime = SHORT_SLICE_NS;
	(void)set(0, now);
}

void
urgent_end(const struct urgent *before)
{
	const struct attributes *old = (const struct attributes *)before;

	if (old->size)
		(void)set(0, *old);	/* no worse than it was permitted */
}

void
urgent_helper(pid_t tid)
{
	struct attributes a;

	if (get(tid, &a) < 0 || !shares_fairly(&a))
		return;		/* the program has its own ideas */
	a.runtime = SHORT_SLICE_NS;
	(void)set(tid, a);
	a.nice = HELPER_NICE;
	(void)set(tid, a);
}
