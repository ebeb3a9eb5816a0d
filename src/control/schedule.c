/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How threads are scheduled, ours and others'. While somebody stands we go
 * first: a busy program leaves us no processor. What the kernel does not
 * permit is left out. A short slice needs nobody's permission (Linux 6.12):
 * less at a time, but sooner.
 */
#include "control.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

int
schedule_get(pid_t tid, struct schedule *s)
{
	return (int)syscall(SYS_sched_getattr, tid, s, sizeof *s, 0);
}

int
schedule_set(pid_t tid, struct schedule s)
{
	s.size = sizeof s;
	return (int)syscall(SYS_sched_setattr, tid, &s, 0);
}

bool
schedule_is_fair(const struct schedule *s)
{
	return s->policy == SCHED_OTHER || s->policy == SCHED_BATCH;
}

/* No flags: to clear one needs more rights than to set it. */
int
schedule_first(pid_t tid)
{
	return schedule_set(tid, (struct schedule){
		.policy = SCHED_FIFO, .priority = 1,
	});
}

void
urgent_begin(struct schedule *before)
{
	struct schedule soon;

	if (schedule_get(0, before) < 0 || !schedule_is_fair(before)) {
		before->size = 0;	/* nothing to put back, or not by us */
		return;
	}
	if (schedule_first(0) == 0)
		return;
	soon = *before;
	soon.runtime = SCHEDULE_SHORT_NS;
	(void)schedule_set(0, soon);
}

void
urgent_end(const struct schedule *before)
{
	if (before->size)
		(void)schedule_set(0, *before);	/* no worse than permitted */
}
