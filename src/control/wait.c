/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting for one thread: by waitpid(WNOHANG) with short, growing naps. A
 * blocking wait has no time limit, and a timer or a SIGCHLD handler would be
 * the caller's business disturbed. A stop takes some 10 us once the thread is
 * scheduled, so the first 30 us are spent yielding to it.
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <time.h>

enum {
	YIELD_NS = 30 * NS_PER_US,
	NAP_FIRST_NS = 20 * NS_PER_US,
	NAP_LAST_NS = NS_PER_MS,
	FROZEN_LOOK_MS = 20,
	WAIT_FROZEN = -2,
};

/* A real-time thread that yields gives its processor to nobody. */
static _Thread_local bool goes_first;

void
wait_goes_first(bool yes)
{
	goes_first = yes;
}

void
wait_nap(uint64_t since, long *nap_ns)
{
	if (now_ns() - since < YIELD_NS && !goes_first) {
		sched_yield();
		return;
	}
	*nap_ns = *nap_ns ? *nap_ns * 2 : NAP_FIRST_NS;
	if (*nap_ns > NAP_LAST_NS)
		*nap_ns = NAP_LAST_NS;

	const struct timespec ts = { .tv_nsec = *nap_ns };

	(void)nanosleep(&ts, NULL);	/* being woken early is no harm */
}

pid_t
take_status(pid_t tid, int *status)
{
	(void)breakpoint_put_back(tid);
	if (signal_look(tid, status))
		return tid;
	return waitpid(tid, status, WAIT_FLAGS | WNOHANG);
}

int
wait_status(pid_t tid, uint64_t deadline, int *status)
{
	const uint64_t since = now_ns();
	long nap_ns = 0;

	for (;;) {
		const pid_t got = take_status(tid, status);

		if (got == tid)
			return 1;
		if (got < 0 && errno != EINTR)
			return -1;
		if (now_ns() >= deadline)
			return 0;
		wait_nap(since, &nap_ns);
	}
}

/*
 * To be asked for ends alone (WEXITED) is no use: of whom we trace the kernel
 * tells stops, too, and who looks takes them (wait_task_stopped, 6.18).
 */
void
thread_let_end(const struct target *t, pid_t tid)
{
	siginfo_t news = { 0 };
	int status;

	if (waitid(P_PID, (id_t)tid, &news, WEXITED | WSTOPPED | WNOHANG |
		   WNOWAIT | WAIT_FLAGS) < 0 || news.si_pid != tid)
		return;

	const bool stands = news.si_code == CLD_TRAPPED;

	if (stands && news.si_status != (SIGTRAP | PTRACE_EVENT_EXIT << 8))
		return;		/* whoever waits for that takes it */
	if (!stands && tid == t->pid)
		return;
	(void)waitpid(tid, &status, WAIT_FLAGS | WNOHANG);
	if (stands)
		(void)ptrace(PTRACE_CONT, tid, 0, 0L);
}

static enum event_kind
gone_kind(struct target *t, pid_t tid, int status)
{
	if (!t || tid != t->pid)
		return EVENT_THREAD_GONE;
	target_note_exit(t, status);
	return EVENT_ENDED;
}

/* In slices: a thread whose group was frozen meanwhile will not come. */
static int
wait_unfrozen(struct target *t, pid_t tid, uint64_t deadline, int *status)
{
	for (;;) {
		const uint64_t slice = deadline_in_ms(FROZEN_LOOK_MS);
		const int r = wait_status(tid, slice < deadline ? slice :
					  deadline, status);

		if (r || now_ns() >= deadline)
			return r;
		if (t && handled(HAZARD_FROZEN) &&
		    cgroup_check_frozen(t, tid) < 0)
			return WAIT_FROZEN;
	}
}

int
thread_wait(pid_t tid, uint64_t timeout_ns, struct event *ev)
{
	struct hold *h = NULL;
	struct target *t = target_of_tid(tid, &h);
	int status = -1;
	const int r = wait_unfrozen(t, tid, now_ns() + timeout_ns, &status);

	*ev = (struct event){ .tid = tid };
	if (r == WAIT_FROZEN)
		return -1;
	if (r == 0)
		return fail(FAIL_GENERAL, "thread %d did not stop within "
			    "%" PRIu64 " ms", (int)tid,
			    timeout_ns / NS_PER_MS);
	if (r == 1)
		*ev = event_of_status(tid, status);
	if (r == 1 && ev->kind != EVENT_THREAD_GONE) {
		if (h)
			hold_note(h, ev);
		return 0;
	}
	if (t && r == 1)
		pack_drop(&t->pack, tid);
	else if (t)
		hold_vanished(&t->pack, tid);
	ev->status = status;
	ev->kind = r == 1 ? gone_kind(t, tid, status) : EVENT_THREAD_GONE;
	return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
}
