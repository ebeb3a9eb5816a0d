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
#include <unistd.h>

#include "private.h"

enum { HELPER_NICE = -15 };

/*
 * A slice that was told stays that thread's own; 0 gives it the kernel's
 * again. Who started us has that one, almost surely.
 */
static void
keep_usual_slice(struct schedule *a)
{
	struct schedule usual;

	if (schedule_get(getppid(), &usual) == 0 && schedule_is_fair(&usual) &&
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
	struct schedule *old = &b->scheduled, soon;

	if (schedule_get(tid, old) < 0 || !schedule_is_fair(old)) {
		old->size = 0;
		return;
	}
	soon = *old;
	keep_usual_slice(old);
	guard_schedule(tid, old);
	soon.runtime = SCHEDULE_SHORT_NS;
	(void)schedule_set(tid, soon);
}

void
urgent_donor_end(const struct borrow *b, pid_t tid)
{
	const struct schedule *old = &b->scheduled;

	if (old->size)
		(void)schedule_set(tid, *old);	/* it may have ended */
	guard_schedule(0, NULL);
}

static void
share(pid_t tid, const struct schedule *before)
{
	struct schedule soon = *before;

	soon.runtime = SCHEDULE_SHORT_NS;
	soon.nice = HELPER_NICE;
	if (schedule_set(tid, soon) == 0)
		return;
	soon.nice = before->nice;	/* as before is always permitted */
	(void)schedule_set(tid, soon);
}

void
urgent_helper_first(struct errand *e)
{
	struct schedule *born = &e->scheduled;

	/* a program that is not scheduled fairly has its own ideas */
	if (schedule_get(e->helper, born) < 0 || !schedule_is_fair(born)) {
		born->size = 0;
		return;
	}
	born->runtime = 0;	/* the donor's short slice is inherited */
	if (schedule_first(e->helper) < 0)
		share(e->helper, born);
}

void
urgent_helper_shares(struct errand *e)
{
	const struct schedule *born = &e->scheduled;

	if (born->size)
		share(e->helper, born);
}

void
urgent_no_more(const struct errand *e, pid_t tid)
{
	const struct schedule *born = &e->scheduled;

	if (born->size)
		(void)schedule_set(tid, *born);
}
