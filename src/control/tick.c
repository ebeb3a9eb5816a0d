/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ticks that our stop made come early.
 *
 * A CPU-time clock that expires while its thread is in the kernel sends its
 * signal on the way to user mode (task work; Linux 5.9 and later). When the
 * thread goes to sleep first, that is at the end of its sleep. But any stop is
 * such a way: the signal is there at once, and the sleep would say EINTR with
 * nobody to blame but us (12 of 24 naps of unit/control-ticks did).
 *
 * So when such ticks, and no other signals, are due to a thread whose call we
 * interrupted, the call begins again behind their handlers. A relative time
 * limit then starts once more. A signal that anybody sent ends the call as it
 * would have done without us.
 *
 * A call with its remaining time in the kernel (a restart block) goes on as
 * restart_syscall, and a tick that comes between our stop and that makes the
 * kernel forget it: EINTR again. A thread that worked for us therefore begins
 * its call anew where there are such clocks; and one that stays seized shows
 * us the tick in time. For the others some microseconds of that remain.
 */
#include "hazard.h"
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	DUE_MAX = 32,		/* more are somebody's traffic, not ticks */
	CLOCK_OF_THREAD = 4,	/* in the number of a clock of some CPU time */
};

/* ---- whose clock --------------------------------------------------------- */

static bool
is_alone(const struct target *t)
{
	struct stat st;

	return fstatat(t->proc_fd, "task", &st, 0) == 0 && st.st_nlink == 3;
}

/* The clock of the program's timer with this number; false: not to be known. */
static bool
clock_of_timer(const struct target *t, int timer, int *clock)
{
	char *text = file_read_at(t->proc_fd, "timers", NULL);
	char line[32];
	const char *at = text;

	(void)snprintf(line, sizeof line, "ID: %d\n", timer);
	while (at && !str_starts(at, line)) {
		at = strchr(at, '\n');
		at = at && at[1] ? at + 1 : NULL;
	}
	at = at ? strstr(at, "\nClockID: ") : NULL;

	const bool known = at && sscanf(at, "\nClockID: %d", clock) == 1;

	free(text);
	return known;
}

/*
 * A clock that stands while this thread sleeps: its own, or the process's
 * when it is the only one. That of another thread goes on, and its signals
 * end sleeps with or without us.
 */
static bool
stands_in_sleep(const struct target *t, int clock,
		const struct proc_status *st)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return true;
	if (clock >= 0)
		return clock == CLOCK_PROCESS_CPUTIME_ID && is_alone(t);

	const int whose = ~(clock >> 3);

	if (clock & CLOCK_OF_THREAD)
		return whose == 0 || whose == st->ns_pid;
	return is_alone(t);
}

static bool
is_perf_event(const struct target *t, pid_t tid, int fd)
{
	static const char name[] = "anon_inode:[perf_event]";
	char path[64], link[sizeof name];

	(void)snprintf(path, sizeof path, "task/%d/fd/%d", (int)tid, fd);
	return readlinkat(t->proc_fd, path, link, sizeof link) ==
		(ssize_t)sizeof name - 1 &&
		memcmp(link, name, sizeof name - 1) == 0;
}

static bool
is_tick(const struct target *t, pid_t tid, const siginfo_t *si,
	const struct proc_status *st)
{
	int clock;

	switch (si->si_code) {
	case SI_TIMER:
		return clock_of_timer(t, si->si_timerid, &clock) &&
			stands_in_sleep(t, clock, st);
	case SI_KERNEL:		/* ITIMER_PROF, ITIMER_VIRTUAL, RLIMIT_CPU */
		return (si->si_signo == SIGPROF || si->si_signo == SIGVTALRM ||
			si->si_signo == SIGXCPU) && is_alone(t);
	case POLL_IN: case POLL_HUP:
		return si->si_signo != SIGCHLD &&
			is_perf_event(t, tid, si->si_fd);
	default:
		return false;
	}
}

/* ---- what is due --------------------------------------------------------- */

/* How many signals wait, one queue after the other; at most DUE_MAX. */
static size_t
list_due(pid_t tid, siginfo_t *due)
{
	struct __ptrace_peeksiginfo_args ask = { .nr = DUE_MAX };
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &ask, due);
	size_t len = n > 0 ? (size_t)n : 0;

	ask.flags = PTRACE_PEEKSIGINFO_SHARED;
	ask.nr = DUE_MAX - (int)len;
	n = ask.nr ? ptrace(PTRACE_PEEKSIGINFO, tid, &ask, due + len) : 0;
	return n > 0 ? len + (size_t)n : len;
}

/* Is no signal due to it but ticks? some: there are such. */
static bool
only_ticks(struct target *t, pid_t tid, bool *some)
{
	siginfo_t due[DUE_MAX];
	struct proc_status st;
	const size_t n = list_due(tid, due);

	*some = false;
	if (n == 0)
		return true;
	if (n == DUE_MAX || proc_status_thread(t, tid, &st) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		const uint64_t bit = UINT64_C(1) << (due[i].si_signo - 1);

		if ((st.sig_blocked | st.sig_ignored) & bit)
			continue;
		if (!(st.sig_caught & bit) || !is_tick(t, tid, &due[i], &st))
			return false;
		*some = true;
	}
	return true;
}

bool
ticks_are_due(struct target *t, pid_t tid)
{
	bool some;

	return handled(HAZARD_EARLY_TICK) && only_ticks(t, tid, &some) && some;
}

/* The interval timers show nowhere; but who uses one catches its signal. */
static bool
may_tick(struct target *t)
{
	enum { AGE_MS = 50 };
	const uint64_t catches = UINT64_C(1) << (SIGPROF - 1) |
		UINT64_C(1) << (SIGVTALRM - 1);
	struct proc_status st;

	if (t->ticks_at &&
	    now_ns() - t->ticks_at < AGE_MS * (uint64_t)NS_PER_MS)
		return t->may_tick;

	char *text = file_read_at(t->proc_fd, "timers", NULL);

	t->may_tick = text && (strstr(text, "ClockID: -") ||
			       strstr(text, "ClockID: 2\n") ||
			       strstr(text, "ClockID: 3\n"));
	free(text);
	if (!t->may_tick && proc_status_thread(t, target_live_thread(t),
					       &st) == 0)
		t->may_tick = st.sig_caught & catches;
	t->ticks_at = now_ns();
	return t->may_tick;
}

/* ---- the call ------------------------------------------------------------ */

/*
 * One that was interrupted before goes on as restart_syscall, and only the
 * kernel knows in what. But compilers put the call's number right before it,
 * so it can be begun again.
 */
static long
true_call(struct target *t, long call, uint64_t pc)
{
	return call == machine_restart_call ? thread_sleeping_call(t, pc) :
		call;
}

bool
tick_begin_again(struct target *t, pid_t tid, struct user_regs_struct *regs)
{
	long call = machine_restarts(regs);

	if (call < 0 || !ticks_are_due(t, tid))
		return false;
	call = true_call(t, call, machine_pc(regs));
	if (call < 0)
		return false;
	machine_begin_again(regs, call);
	t->marks.began_again++;
	return true;
}

void
tick_delivered(struct target *t, pid_t tid, const siginfo_t *si)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };
	struct proc_status st;
	bool more;

	if (!handled(HAZARD_EARLY_TICK) ||
	    ptrace(PTRACE_GETREGSET, tid, 1, &iov) < 0 ||
	    iov.iov_len != sizeof regs)
		return;

	const uint64_t pc = machine_goes_on_at(t, &regs);

	if (!pc || proc_status_thread(t, tid, &st) < 0 ||
	    !is_tick(t, tid, si, &st) || !only_ticks(t, tid, &more))
		return;

	const long call = true_call(t, machine_syscall(&regs), pc);

	if (call < 0)
		return;
	machine_go_to_call(&regs, call);
	t->marks.began_again++;
	(void)ptrace(PTRACE_SETREGSET, tid, 1, &iov);
}

bool
tick_start_over(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };

	if (!handled(HAZARD_EARLY_TICK) || !may_tick(t) ||
	    ptrace(PTRACE_GETREGSET, tid, 1, &iov) < 0 ||
	    iov.iov_len != sizeof regs || !machine_sleeps_on(&regs))
		return false;

	const long call = true_call(t, machine_syscall(&regs),
				    machine_pc(&regs));

	if (call < 0)
		return false;
	machine_start_over(&regs, call);
	t->marks.began_again++;
	return ptrace(PTRACE_SETREGSET, tid, 1, &iov) == 0;
}

/* So that nobody stands while we read of it. */
void
ticks_foresee(struct target *t)
{
	t->ticks_at = 0;
	if (handled(HAZARD_EARLY_TICK))
		(void)may_tick(t);
}

bool
tick_sleeps_on(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };

	return handled(HAZARD_EARLY_TICK) && may_tick(t) &&
		ptrace(PTRACE_GETREGSET, tid, 1, &iov) == 0 &&
		iov.iov_len == sizeof regs && machine_sleeps_on(&regs);
}

/*
 * Not by detaching there: that makes the call look for signals, and so end
 * once more.
 */
void
tick_accompany(struct pack *p, pid_t tid)
{
	enum { LIMIT_MS = 20 };
	struct hold *h = pack_find(p, tid);
	int status;

	if (ptrace(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_TRACESYSGOOD) < 0 ||
	    ptrace(PTRACE_SYSCALL, tid, 0, 0) < 0)
		return;			/* it was killed */
	h->stopped = false;
	if (wait_status(tid, deadline_in_ms(LIMIT_MS), &status) != 1)
		return;

	const struct event ev = event_of_status(tid, status);

	if (ev.kind == EVENT_THREAD_GONE) {
		(void)hold_step(p, tid, status);
		return;
	}
	hold_note(h, &ev);
	if (ev.kind != EVENT_SYSCALL)
		(void)hold_let_go(p, tid);
	else if (ptrace(PTRACE_CONT, tid, 0, 0) == 0)
		h->stopped = false;
}
