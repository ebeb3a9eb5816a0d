/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Let one held thread run to an address. Watched as breakpoints are (watch.c):
 * whatever happens to us on the way, nothing stays. A debug register that
 * ptrace has set would end the program when we are killed.
 *
 * Where no address can be watched, it runs to the end of its next system call:
 * a handler ends with one, and what takes long in libc makes one. The kernel
 * forgets that, too, when we are killed.
 */
#include "breakpoint.h"

#include <linux/ptrace.h>

#include <signal.h>
#include <time.h>

struct reach {
	struct target *t;
	pid_t tid;
	uint64_t addr;
	int signal;
	struct watches watches;
};

/* At a signal's delivery. true: there. Else *deliver is what it should get. */
static bool
is_there(struct reach *r, int *deliver)
{
	struct watch *w = watches_find(&r->watches, r->tid);
	struct user_regs_struct regs;
	siginfo_t info;
	const int signal = signal_of_stop(r->tid, &info);

	*deliver = signal;
	if (!w || thread_get_regs(r->tid, &regs) < 0)
		return false;

	const uint64_t hits = watch_hits(w);

	w->seen += hits;
	if (signal == r->signal && info.si_fd == w->fd)
		*deliver = 0;
	if (!hits || machine_pc(&regs) != r->addr)
		return false;
	if (!*deliver)
		return true;
	/* that one first; it comes here again */
	machine_meet_again(&regs);
	(void)thread_set_regs(r->tid, &regs);
	return false;
}

/* To a plain stop, not getting the signal that it stands at. */
static int
stand(struct reach *r, struct held *h)
{
	struct hold *known = pack_find(&r->t->pack, r->tid);

	if (!known)
		return fail(FAIL_MISSING, "thread %d has ended", (int)r->tid);
	hold_ask_through(known, 0);
	h->stopped = hold_settle(&r->t->pack, r->tid,
				 deadline_in_ms(STOP_LIMIT_MS)) == 1;
	if (!h->stopped)
		return fail(FAIL_GENERAL, "thread %d did not stop again",
			    (int)r->tid);
	return 0;
}

static int
run(struct reach *r, struct held *h, uint64_t deadline)
{
	int deliver = 0;

	for (;;) {
		const uint64_t now = now_ns();
		struct event ev;

		if (thread_resume(r->tid, RUN_FREE, deliver) < 0)
			return -1;
		h->stopped = false;
		deliver = 0;
		if (now >= deadline ||
		    thread_wait(r->tid, deadline - now, &ev) < 0)
			return stand(r, h);
		if (ev.kind == EVENT_SIGNAL && is_there(r, &deliver))
			return stand(r, h) < 0 ? -1 : REACHED;
	}
}

int
thread_run_to(struct target *t, struct held *h, uint64_t addr,
	      uint64_t timeout_ns)
{
	const char *why;
	struct reach r = { .t = t, .tid = h->tid, .addr = addr,
			   .signal = watch_signal(t, &why) };
	uint64_t from;
	int result;

	if (!r.signal || watches_arm(&r.watches, &(struct watched){ .addr = addr },
				     r.signal, h->tid) < 0 ||
	    !r.watches.len)
		return UNWATCHED;
	from = now_ns();
	result = run(&r, h, from + timeout_ns);
	h->ran_ns += now_ns() - from;
	watches_fini(&r.watches);
	return result;
}

/* ---- to the end of a call ----------------------------------------------- */

bool
thread_at_exit_of_call(pid_t tid)
{
	struct ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) > 0 &&
		info.op == PTRACE_SYSCALL_INFO_EXIT;
}

static int
run_through_call(struct reach *r, struct held *h, uint64_t deadline)
{
	int deliver = 0;

	for (;;) {
		const uint64_t now = now_ns();
		struct event ev;
		siginfo_t info;

		if (thread_resume(r->tid, RUN_TO_SYSCALL, deliver) < 0)
			return -1;
		h->stopped = false;
		deliver = 0;
		if (now >= deadline ||
		    thread_wait(r->tid, deadline - now, &ev) < 0)
			break;
		if (ev.kind == EVENT_SYSCALL && thread_at_exit_of_call(r->tid))
			return stand(r, h);
		if (ev.kind == EVENT_SIGNAL)
			deliver = signal_of_stop(r->tid, &info);
	}
	/* what it is in the midst of may be a call that a stop cuts short */
	if (partial_await(r->t, r->tid) < 0)
		fail_clear();
	return stand(r, h);
}

int
thread_run_through_call(struct target *t, struct held *h, uint64_t timeout_ns)
{
	const struct hold *known = pack_find(&t->pack, h->tid);
	const unsigned long before = known && t->held ? t->pack.options |
		errand_options(known) : 0;
	struct reach r = { .t = t, .tid = h->tid };
	const uint64_t from = now_ns();
	int result;

	if (ptrace(PTRACE_SETOPTIONS, h->tid, 0,
		   before | PTRACE_O_TRACESYSGOOD) < 0)
		return fail_errno("set trace options of thread %d",
				  (int)h->tid);
	result = run_through_call(&r, h, from + timeout_ns);
	h->ran_ns += now_ns() - from;
	/* ESRCH: it was killed, and the next wait tells */
	if (result == 0)
		(void)ptrace(PTRACE_SETOPTIONS, h->tid, 0, before);
	return result;
}
