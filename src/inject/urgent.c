/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A borrowed thread stands as long as we and the helper take, and a busy
 * program leaves neither of us a processor: while there is an errand we go
 * first. So does the helper as long as it makes raw system calls for us. Then
 * it runs code of the program, which may spin for a lock, and a real-time
 * thread could keep the lock's holder from running for ever: it comes soon,
 * but shares.
 *
 * What the kernel does not permit is left out. A short slice needs nobody's
 * permission (Linux 6.12): less at a time, but sooner.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

enum { HELPER_NICE = -15 };
#define SHORT_SLICE_NS	UINT64_C(100000)

/* As linux/sched/types.h has it, first version. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct attributes) == sizeof(struct urgent) &&
	       sizeof(struct attributes) == sizeof(struct guard_schedule),
	       "ABI");

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

/* No flags: to clear one needs more rights than to set it. */
static int
go_first(pid_t tid)
{
	return set(tid, (struct attributes){
		.policy = SCHED_FIFO, .priority = 1,
	});
}

void
urgent_begin(struct urgent *u)
{
	struct attributes *old = (struct attributes *)u, soon;

	if (get(0, old) < 0 || !shares_fairly(old)) {
		old->size = 0;		/* nothing to put back, or not by us */
		return;
	}
	if (go_first(0) == 0)
		return;
	soon = *old;
	soon.runtime = SHORT_SLICE_NS;
	(void)set(0, soon);
}

void
urgent_end(const struct urgent *u)
{
	const struct attributes *old = (const struct attributes *)u;

	if (old->size)
		(void)set(0, *old);	/* no worse than it was permitted */
}

/*
 * A slice that was told stays that thread's own; 0 gives it the kernel's
 * again. Who started us has that one, almost surely.
 */
static void
keep_usual_slice(struct attributes *a)
{
	struct attributes usual;

	if (get(getppid(), &usual) == 0 && shares_fairly(&usual) &&
	    usual.runtime == a->runtime)
		a->runtime = 0;
}

/*
 * Held, it runs for a moment again and again, and each time its neighbours'
 * slices were in the way (16 busy threads: 6 ms instead of 0.5). Its share
 * stays what it is. Should we be killed now, the guardian puts the slice back.
 */
void
urgent_donor(struct borrow *b, pid_t tid)
{
	struct attributes *old = (struct attributes *)&b->scheduled, soon;

	if (get(tid, old) < 0 || !shares_fairly(old)) {
		old->size = 0;
		return;
	}
	soon = *old;
	keep_usual_slice(old);
	guard_schedule(tid, (const struct guard_schedule *)old);
	soon.runtime = SHORT_SLICE_NS;
	(void)set(tid, soon);
}

void
urgent_donor_end(const struct borrow *b, pid_t tid)
{
	const struct attributes *old =
		(const struct attributes *)&b->scheduled;

	if (old->size)
		(void)set(tid, *old);	/* it may have ended */
	guard_schedule(0, NULL);
}

static void
share(pid_t tid, const struct attributes *before)
{
	struct attributes soon = *before;

	soon.runtime = SHORT_SLICE_NS;
	soon.nice = HELPER_NICE;
	if (set(tid, soon) == 0)
		return;
	soon.nice = before->nice;	/* as before is always permitted */
	(void)set(tid, soon);
}

void
urgent_helper_first(struct errand *e)
{
	struct attributes *born = (struct attributes *)&e->scheduled;

	/* a program that is not scheduled fairly has its own ideas */
	if (get(e->helper, born) < 0 || !shares_fairly(born)) {
		born->size = 0;
		return;
	}
	born->runtime = 0;	/* the donor's short slice is inherited */
	if (go_first(e->helper) < 0)
		share(e->helper, born);
}

void
urgent_helper_shares(struct errand *e)
{
	const struct attributes *born =
		(const struct attributes *)&e->scheduled;

	if (born->size)
		share(e->helper, born);
}

void
urgent_no_more(const struct errand *e, pid_t tid)
{
	const struct attributes *born =
		(const struct attributes *)&e->scheduled;

	if (born->size)
		(void)set(tid, *born);
}
