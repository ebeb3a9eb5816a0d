/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PTRACE_SEIZE, with an end. It waits while the process executes another
 * program (cred_guard_mutex: kernel/ptrace.c ptrace_attach, Linux 6.18), and
 * the exec waits until every other thread has gone (fs/exec.c de_thread),
 * which one that we trace has not until we have waited for it: each would wait
 * for the other for ever.
 *
 *	we	  seize thread A ........................... seize thread B
 *	thread C	     execve: kills A, waits until we have reaped A ..
 *
 * So a timer takes us out of the call, those that have ended are reaped, or let
 * end, and the call begins again. The kernel restarts it after any signal
 * (ERESTARTNOINTR), so the handler leaves by siglongjmp; whether the call had
 * succeeded just then is seen from who the tracer is.
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { PATIENCE_MS = 10, TRIES = 300, NOT_YET = -1 };

static __thread sigjmp_buf way_out;
static __thread volatile sig_atomic_t may_leave;

/* Before Linux 6.13 a signal that is pending outlives its timer, and comes
 * when there is nothing to leave any more. */
static void
leave_call(int signal)
{
	(void)signal;
	if (!may_leave)
		return;
	may_leave = 0;
	siglongjmp(way_out, 1);
}

static int
seize_once(pid_t tid, unsigned long options)
{
	return ptrace(PTRACE_SEIZE, tid, 0, options) == 0 ? 0 : errno;
}

/* The timer ticks on, should its first tick come before the call. */
static int
seize_within(pid_t tid, unsigned long options, timer_t timer,
	     const sigset_t *alarm)
{
	const struct timespec patience = {
		.tv_nsec = PATIENCE_MS * NS_PER_MS,
	};
	const struct itimerspec on = { patience, patience }, off = {0};
	int error;

	if (sigsetjmp(way_out, 1))
		return NOT_YET;
	may_leave = 1;
	(void)timer_settime(timer, 0, &on, NULL);
	(void)pthread_sigmask(SIG_UNBLOCK, alarm, NULL);
	error = seize_once(tid, options);
	(void)pthread_sigmask(SIG_BLOCK, alarm, NULL);
	may_leave = 0;
	(void)timer_settime(timer, 0, &off, NULL);
	return error;
}

/* The first one's end is the program's, or an exec has its number; it is only
 * let end. */
static void
reap(struct target *t)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n; i++)
		thread_let_end(t, tids[i]);
	free(tids);
	fail_clear();
}

/* The call would say so in the end; but the exec for which it waits may wait
 * for this very thread. 0: it is ours; NOT_YET: it may yet be. */
static int
look_meanwhile(const struct target *t, pid_t tid)
{
	struct proc_status st;

	if (proc_status_thread(t, tid, &st) < 0 || !state_alive(st.state))
		return ESRCH;
	return st.tracer == tracer_tid() ? 0 : NOT_YET;
}

static int
seize_patiently(struct target *t, pid_t tid, unsigned long options,
		timer_t timer, const sigset_t *alarm)
{
	for (int i = 0; i < TRIES; i++) {
		int error = seize_within(tid, options, timer, alarm);

		if (error == NOT_YET)
			error = look_meanwhile(t, tid);
		if (error != NOT_YET)
			return error;
		reap(t);
	}
	return EAGAIN;
}

/* For good: others of our threads may be in here. */
static void
set_handler(void)
{
	const struct sigaction leave = { .sa_handler = leave_call };

	(void)sigaction(SIGRTMIN, &leave, NULL);
}

int
seize_call(struct target *t, pid_t tid, unsigned long options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigevent how = { .sigev_notify = SIGEV_THREAD_ID,
				.sigev_signo = SIGRTMIN };
	sigset_t alarm, mask;
	timer_t timer;
	int error;

	how._sigev_un._tid = tracer_tid();
	if (!handled(HAZARD_EXEC_WAITS) ||
	    timer_create(CLOCK_MONOTONIC, &how, &timer) < 0)
		return seize_once(tid, options);
	(void)pthread_once(&once, set_handler);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGRTMIN);
	(void)pthread_sigmask(SIG_BLOCK, &alarm, &mask);
	error = seize_patiently(t, tid, options, timer, &alarm);
	(void)timer_delete(timer);
	(void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return error;
}
