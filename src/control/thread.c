/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread: seize, stop, let go, and leave no trace of having done so.
 *
 * Three things would betray us. A signal the thread was about to get when we
 * let it go: it is passed on. A job-control stop: it is left in force. And
 * system calls which answer EINTR after any stop: they are made to restart.
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SI_EVENT_SHIFT = 8 };

pid_t
tracer_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* ---- what a stop is ----------------------------------------------------- */

static bool
is_of_sentry(pid_t tid, const siginfo_t *info)
{
	struct hold *h = NULL;

	return target_of_tid(tid, &h) && sentry_owns_signal(h->sentry, tid,
							    info);
}

static bool
is_step_of_ours(pid_t tid)
{
	struct hold *h;

	return !handled(HAZARD_OWN_STEPS) || !target_of_tid(tid, &h) ||
		h->stepping;
}

/* Did the program's own instruction raise it? */
static bool
is_own_trap(pid_t tid, const siginfo_t *info)
{
	struct target *t = target_of_tid(tid, NULL);
	const uint64_t pc = (uintptr_t)info->si_addr;
	unsigned char before;

	if (!t || !handled(HAZARD_BREAKPOINT_VIRTUAL))
		return true;
	return machine_trap_is_own(info, &before, info->si_code == TRAP_BRKPT &&
				   memory_look(t, pc - 1, &before, 1) == 0);
}

bool
sigtrap_is_ours(pid_t tid, const siginfo_t *info)
{
	return info->si_code == TRAP_HWBKPT ||
		(info->si_code == TRAP_TRACE && is_step_of_ours(tid)) ||
		!is_own_trap(tid, info);
}

/*
 * Asked of the kernel and not of our memory, so that no path forgets one. At
 * every stop but a signal's delivery si_code holds the event, or repeats
 * SIGTRAP. A trap of a debug register was made by a tracer and is for nobody
 * else, also where a hypervisor has lost that it was one; nor is the signal of
 * a watch of ours, nor the trap after a step that we made. But a program may
 * step through itself, by the flag.
 */
int
signal_of_stop(pid_t tid, siginfo_t *info)
{
	siginfo_t own;

	info = info ? info : &own;
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, info) < 0)
		return 0;
	if (info->si_code > 0 && info->si_code >> SI_EVENT_SHIFT &&
	    (info->si_code & 0x7f) == info->si_signo)
		return 0;
	if (breakpoint_owns_signal(tid, info) || is_of_sentry(tid, info))
		return 0;
	if (info->si_signo != SIGTRAP)
		return info->si_signo;
	if (info->si_code == SIGTRAP || info->si_code == (SIGTRAP | 0x80))
		return 0;
	return sigtrap_is_ours(tid, info) ? 0 : SIGTRAP;
}

/* ESRCH says "not stopped" as well as "gone"; look which it is. */
int
ptrace_failed(pid_t tid, const char *what)
{
	struct proc_status st;
	const int error = errno;

	if (error != ESRCH) {
		errno = error;
		return fail_errno("%s of thread %d", what, (int)tid);
	}
	if (proc_status_tid(tid, &st) < 0 || !state_alive(st.state))
		return fail(FAIL_MISSING, "%s: thread %d has ended", what,
			    (int)tid);
	if (st.tracer != tracer_tid())
		return fail(FAIL_GENERAL, "%s: thread %d is not held", what,
			    (int)tid);
	return fail(FAIL_GENERAL, "%s: thread %d is not stopped (state %c)",
		    what, (int)tid, st.state);
}

int
thread_get_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = { regs, sizeof *regs };

	/* Linux gathers them in memory of its own (since 5.9), and may lack
	 * it: asked once more, or a trap's signal passes for the program's. */
	if (ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &iov) < 0 &&
	    (errno == ESRCH ||
	     ptrace(PTRACE_GETREGSET, tid, 1, &iov) < 0))
		return ptrace_failed(tid, "read the registers");
	if (iov.iov_len != sizeof *regs) {
		fail(FAIL_UNSUITABLE, "thread %d runs 32-bit code", (int)tid);
		return fail_remedy("sonde knows 64-bit programs only");
	}
	return 0;
}

int
thread_set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec iov = { (void *)(uintptr_t)regs, sizeof *regs };

	if (ptrace(PTRACE_SETREGSET, tid, 1 /* NT_PRSTATUS */, &iov) < 0)
		return ptrace_failed(tid, "write the registers");
	return 0;
}

/* ---- stopping ----------------------------------------------------------- */

int
worker_refused(pid_t tid)
{
	return fail(FAIL_UNSUITABLE, "thread %d is a worker of the kernel "
		    "(io_uring, vhost): it executes none of the program and "
		    "cannot be stopped", (int)tid);
}

int
seize(struct target *t, pid_t tid, unsigned long options)
{
	struct proc_status st;
	int error;

	if (target_is_worker(t, tid))
		return worker_refused(tid);
	error = seize_call(t, tid, options | PTRACE_O_TRACEEXEC);
	if (!error)
		return 0;
	if (proc_status_thread(t, tid, &st) < 0 || !state_alive(st.state))
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	return attach_explain(t, error);
}

/* Touching a thread that waits uninterruptibly (a vfork parent) is of no
 * use, and it could not be let go again. */
int
await_stoppable(struct target *t, pid_t tid, uint64_t deadline)
{
	const uint64_t since = now_ns();
	long nap_ns = 0;
	char state;

	if (handled(HAZARD_FROZEN) && cgroup_check_frozen(t, tid) < 0)
		return -1;
	while ((state = proc_thread_state(t, tid)) == 'D') {
		if (now_ns() >= deadline)
			return fail(FAIL_GENERAL, "thread %d waits in the "
				    "kernel and cannot be stopped (state D)",
				    (int)tid);
		wait_nap(since, &nap_ns);
	}
	if (!state_alive(state))
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	return 0;
}

void
pack_let_newborn_go(struct pack *p)
{
	for (size_t i = p->len; i-- > 0;)
		if (i < p->len && p->items[i].newborn &&
		    p->items[i].want == WANT_GONE)
			(void)hold_let_go(p, p->items[i].tid);
}

static int
hold_stranger(struct target *t, pid_t tid, unsigned long options,
	      uint64_t deadline)
{
	if (await_stoppable(t, tid, deadline) < 0 ||
	    partial_await(t, tid) < 0 || seize(t, tid, options) < 0)
		return -1;
	pack_add(&t->pack, tid, WANT_ASIS);
	return 0;
}

/* Stop it, if it does not stand already. 1, 0 or -1 as hold_settle. */
static int
stop_known(struct pack *p, pid_t tid, uint64_t deadline)
{
	struct hold *h = pack_find(p, tid);

	if (h->stopped)
		return 1;
	if (!h->asked)
		h->asked = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;

	const int r = hold_settle(p, tid, deadline);

	pack_let_newborn_go(p);
	return r;
}

static int
too_late(struct target *t, pid_t tid, uint64_t timeout_ns)
{
	if (cgroup_check_frozen(t, tid) < 0)
		return -1;
	return fail(FAIL_GENERAL, "thread %d did not stop within %" PRIu64
		    " ms (state %c)", (int)tid, timeout_ns / NS_PER_MS,
		    proc_thread_state(t, tid));
}

/* One that is seized already, for the user or for events, is lent. */
int
thread_hold(struct target *t, pid_t tid, unsigned long options,
	    uint64_t timeout_ns, struct held *h)
{
	const uint64_t deadline = now_ns() + timeout_ns;
	struct hold *known = pack_find(&t->pack, tid);
	const enum want before = known ? known->want : WANT_GONE;

	*h = (struct held){ .tid = tid };
	if (known && before == WANT_ASIS)
		return fail(FAIL_GENERAL, "thread %d is held already",
			    (int)tid);
	if (known && known->stopped && known->in_kernel)
		return fail(FAIL_GENERAL, "thread %d stands in the midst of a "
			    "system call: it ends, is in vfork, or enters a "
			    "call under seccomp", (int)tid);
	if (!known && hold_stranger(t, tid, options, deadline) < 0)
		return -1;
	pack_find(&t->pack, tid)->want = WANT_ASIS;

	const int r = stop_known(&t->pack, tid, deadline);

	if (r < 0)
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	known = pack_find(&t->pack, tid);
	if (r == 0) {
		known->want = before;	/* target_next_event will find it */
		return too_late(t, tid, timeout_ns);
	}
	h->lent = before != WANT_GONE;
	h->stopped = true;
	h->group_signal = known->group_signal;
	h->stopped_at = known->stopped_at;
	if (before != WANT_ASIS &&
	    ptrace(PTRACE_SETOPTIONS, tid, 0, options | PTRACE_O_TRACEEXEC |
		   (h->lent ? t->pack.options | errand_options(known) : 0)) <
	    0) {
		ptrace_failed(tid, "set the trace options");
		(void)thread_release(t, h);	/* the first failure counts */
		return -1;
	}
	return 0;
}

uint64_t
held_stood_ns(const struct held *h)
{
	return h->stopped_at ? now_ns() - h->stopped_at - h->ran_ns : 0;
}

/* Back to the user, standing, or to running while seized. */
static int
give_back(struct target *t, struct hold *known)
{
	const pid_t tid = known->tid;
	int r = 1;

	if (!known->stopped) {
		known->asked = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
		r = hold_settle(&t->pack, tid, deadline_in_ms(STOP_LIMIT_MS));
	}
	if (r < 0)
		return 0;
	known = pack_find(&t->pack, tid);
	known->want = t->held ? WANT_STOPPED : WANT_RUNNING;
	if (r == 0)
		return 0;		/* target_next_event goes on */
	if (ptrace(PTRACE_SETOPTIONS, tid, 0, t->pack.options |
		   errand_options(known)) < 0 && errno != ESRCH)
		return ptrace_failed(tid, "set the trace options");
	/* the end of a called function came while it was lent: that is told */
	if (!t->held && !(thread_is_back(t, tid) &&
			  breakpoint_touches(t, known)))
		hold_run_on(t, known);
	return 0;
}

int
thread_release(struct target *t, struct held *h)
{
	struct hold *known = pack_find(&t->pack, h->tid);

	h->stopped = false;
	if (!known)
		return 0;		/* it has ended meanwhile */
	if (h->lent)
		return give_back(t, known);
	if (known->stopped && !known->group_signal)
		(void)tick_start_over(t, h->tid);
	(void)hold_let_go(&t->pack, h->tid);
	pack_let_newborn_go(&t->pack);
	return 0;
}

/* ---- running it while held ---------------------------------------------- */

int
thread_resume(pid_t tid, enum thread_run how, int signal)
{
	static const enum __ptrace_request request[] = {
		[RUN_FREE] = PTRACE_CONT,
		[RUN_TO_SYSCALL] = PTRACE_SYSCALL,
		[RUN_STEP] = PTRACE_SINGLESTEP,
	};
	struct hold *h = NULL;
	struct target *t = target_of_tid(tid, &h);
	siginfo_t info;

	if (t && signal && signal_of_stop(tid, &info) == signal) {
		hold_delivers(t, tid, &info);
		h->call.goes_on = false;
	}
	if (ptrace(request[how], tid, 0, (long)signal) < 0)
		return ptrace_failed(tid, "resume");
	if (h)
		h->stopped = false;
	return 0;
}

int
thread_settle(struct target *t, struct held *h, uint64_t timeout_ns)
{
	struct hold *known = pack_find(&t->pack, h->tid);
	int r = -1;

	if (known) {
		hold_ask_through(known, known->stopped && !h->faulted ?
				 hold_due_signal(&t->pack, h->tid) : 0);
		h->faulted = false;
		r = hold_settle(&t->pack, h->tid, now_ns() + timeout_ns);
	}
	h->stopped = r == 1;
	if (r == 1)
		return 0;
	if (r < 0)
		return fail(FAIL_MISSING, "thread %d has ended", (int)h->tid);
	return too_late(t, h->tid, timeout_ns);
}
