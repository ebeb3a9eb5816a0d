/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals that the holder wants to know of before a thread gets them. The
 * thread then stands at the signal's delivery, with the signal due to it; it is
 * delivered, or what was asked for instead, when the thread goes on.
 *
 * Should we be killed the kernel delivers it: but not when its stop was waited
 * for, which takes the signal out of exit_code (wait_task_stopped, ptrace_stop,
 * 6.18). So that of any signal of the program's, caught or not, is only looked
 * at, and waits until the thread goes on.
 *
 *	it runs			stands, is told
 *	it is about to stop	stands with it, told when it is to run on
 */
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void
target_catch(struct target *t, uint64_t signals)
{
	t->caught = signals;
}

bool
target_is_seized(const struct target *t)
{
	return t->pack.len;
}

/* Is this one of those? Not one that we sent for the holder. */
static bool
is_meant(const struct target *t, const siginfo_t *info)
{
	return t->caught >> (info->si_signo - 1) & 1 &&
		!(info->si_code == SI_TKILL && info->si_pid == getpid());
}

/* A trap of ours is none. 0: it stands for something else. */
static int
signal_of_program(const struct target *t, pid_t tid, siginfo_t *info)
{
	const int signal = signal_of_stop(tid, info);

	return signal == SIGTRAP && t->traps ? 0 : signal;
}

bool
signal_is_caught(struct target *t, pid_t tid)
{
	siginfo_t info;

	return t->caught && signal_of_program(t, tid, &info) &&
		is_meant(t, &info);
}

bool
signal_look(pid_t tid, int *status)
{
	struct hold *h = NULL;
	struct target *t = target_of_tid(tid, &h);
	siginfo_t stop = { 0 };

	if (!t)
		return false;
	h->kept = waitid(P_PID, (id_t)tid, &stop, WSTOPPED | WNOHANG |
			 WNOWAIT | WAIT_FLAGS) == 0 &&
		stop.si_pid == tid && stop.si_code == CLD_TRAPPED &&
		stop.si_status > 0 && stop.si_status < _NSIG &&
		signal_of_program(t, tid, NULL);
	if (h->kept)
		*status = W_STOPCODE(stop.si_status);
	return h->kept;
}

bool
signal_is_kept(const struct hold *h, const siginfo_t *news)
{
	return h->kept && h->stopped && news->si_code == CLD_TRAPPED;
}

bool
signal_to_tell(struct target *t, const struct hold *h)
{
	return !h->told && !h->group_signal && signal_is_caught(t, h->tid);
}

int
thread_due_signal(pid_t tid, siginfo_t *info)
{
	return signal_of_stop(tid, info);
}

int
target_deliver(struct target *t, pid_t tid, int signal)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!t->held || !h || !h->stopped)
		return fail(FAIL_MISSING, "thread %d is not held", (int)tid);
	if (signal_of_stop(tid, NULL)) {
		h->instead = signal ? signal : NO_SIGNAL;
		return 0;
	}
	if (!signal)
		return fail(FAIL_USAGE, "no signal is due to thread %d",
			    (int)tid);
	if (syscall(SYS_tgkill, t->pid, tid, signal) < 0)
		return fail_errno("send signal %d to thread %d", signal,
				  (int)tid);
	return 0;
}

int
signal_to_deliver(struct target *t, const struct hold *h)
{
	const int due = signal_of_stop(h->tid, NULL);

	if (!due || !h->instead)
		return due;
	if (h->instead != NO_SIGNAL)
		return h->instead;
	hold_swallows(t, h->tid);
	return 0;
}
