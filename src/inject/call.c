/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Borrow a thread for a few raw system calls and give it back as it was.
 *
 * If we die it comes back by a signal frame on its stack (frame.c). While we
 * live that is not used: the registers go back at a stop of the signal kind,
 * from which the kernel itself restarts the system call that we interrupted,
 * with its remaining time.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum {
	DIRECTION_AND_TRAP = 0x500,	/* flags */
	SYSCALL_LENGTH = 2,
};

#define STOP_TIMEOUT_NS	UINT64_C(10000000000)

uint64_t
maskable_signals(void)
{
	static const int synchronous[] = {
		SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS
	};
	uint64_t mask = ~UINT64_C(0);
	size_t i;

	for (i = 0; i < ARRAY_LEN(synchronous); i++)
		mask &= ~(UINT64_C(1) << (synchronous[i] - 1));
	return mask;
}

int
borrow_save(struct borrow *b)
{
	struct iovec iov = { b->xstate, sizeof b->xstate };
	const pid_t tid = b->held.tid;

	if (thread_get_regs(tid, &b->regs) < 0)
		return -1;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov) < 0)
		return fail_errno("read the vector state of thread %d", tid);
	b->xstate_size = iov.iov_len;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof b->mask, &b->mask) < 0)
		return fail_errno("read the signal mask of thread %d", tid);

	/* Now: as soon as the thread runs anywhere else, the kernel forgets
	 * the restartable sequence that it was in. */
	const struct user_regs_struct before = b->regs;

	(void)thread_fix_interrupted(b->p->t, tid, &b->regs);
	b->rseq_aborted = b->regs.rip != before.rip;
	b->restarted = b->regs.rax != before.rax;
	return 0;
}

/* ---- one system call ----------------------------------------------------- */

static bool
is_fault(const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGSYS:
		return si->si_code > 0 && si->si_code != SI_KERNEL;
	default:
		return false;
	}
}

void
borrow_keep(struct borrow *b, const siginfo_t *info)
{
	b->kept = xgrow(b->kept, &b->kept_cap, b->nkept + 1, sizeof *b->kept);
	b->kept[b->nkept++] = *info;
}

/* A signal that someone sent: keep it for when the thread is itself again. */
static int
keep_signal(pid_t tid, struct borrow *keep)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0)
		return fail_errno("read a signal of thread %d", tid);
	if (is_fault(&si) && keep)
		keep->held.faulted = true;
	if (is_fault(&si))
		return fail(FAIL_UNSUITABLE, "the borrowed thread %d got "
			    "signal %d from our call", tid, si.si_signo);
	if (keep && handled(HAZARD_BORROWED_SIGNAL))
		borrow_keep(keep, &si);
	return 0;
}

int
run_to_syscall_stop(pid_t tid, pid_t *child, struct borrow *keep)
{
	for (;;) {
		struct event ev;

		if (thread_resume(tid, RUN_TO_SYSCALL, 0) < 0 ||
		    thread_wait(tid, STOP_TIMEOUT_NS, &ev) < 0)
			return -1;
		switch (ev.kind) {
		case EVENT_SYSCALL:
			return 0;
		case EVENT_CLONE:
			/* Only its exit is still to come; what we need is
			 * here, and the thread goes back from here. */
			if (child) {
				*child = (pid_t)ev.message;
				return 0;
			}
			break;
		case EVENT_SIGNAL:
			if (keep_signal(tid, keep) < 0)
				return -1;
			break;
		case EVENT_ENDED:
		case EVENT_EXITING:
		case EVENT_THREAD_GONE:
			return fail(FAIL_MISSING, "thread %d has ended", tid);
		default:
			break;
		}
	}
}

int
remote_enter(const struct plan *p, pid_t tid,
	     const struct user_regs_struct *regs, long nr,
	     const uint64_t args[6], struct borrow *keep)
{
	struct user_regs_struct r = *regs;

	r.rip = p->gadget;
	r.rax = (uint64_t)nr;
	r.orig_rax = UINT64_MAX;
	r.rdi = args[0], r.rsi = args[1], r.rdx = args[2];
	r.r10 = args[3], r.r8 = args[4], r.r9 = args[5];
	if (handled(HAZARD_FLAGS))
		r.eflags &= ~(uint64_t)DIRECTION_AND_TRAP;
	return thread_set_regs(tid, &r) < 0 ? -1 :
		run_to_syscall_stop(tid, NULL, keep);
}

int
remote_cancel(pid_t tid)
{
	struct user_regs_struct r;

	if (thread_get_regs(tid, &r) < 0)
		return -1;
	r.orig_rax = UINT64_MAX;
	return thread_set_regs(tid, &r);
}

int
remote_leave(pid_t tid, int64_t *result, pid_t *child, struct borrow *keep)
{
	struct user_regs_struct r;

	if (run_to_syscall_stop(tid, child, keep) < 0)
		return -1;
	if (child && *child) {
		*result = *child;
		return 0;
	}
	if (thread_get_regs(tid, &r) < 0)
		return -1;
	*result = (int64_t)r.rax;
	return 0;
}

int
remote_syscall(const struct plan *p, pid_t tid,
	       const struct user_regs_struct *regs, long nr,
	       const uint64_t args[6], int64_t *result, pid_t *child,
	       struct borrow *keep)
{
	return remote_enter(p, tid, regs, nr, args, keep) < 0 ? -1 :
		remote_leave(tid, result, child, keep);
}

/*
 * At the event of a clone the kernel has yet to write the new thread's number
 * into rax. A call that was set up there would be the call of that number:
 * mostly ENOSYS, but 335 ends the program by SIGILL, and in a small pid
 * namespace 60 and 231 are exits. First leave the clone.
 */
static int
leave_clone(struct borrow *b)
{
	if (!b->in_clone)
		return 0;
	b->in_clone = false;
	return handled(HAZARD_HELPER_NUMBER) ?
		run_to_syscall_stop(b->held.tid, NULL, b) : 0;
}

int
borrow_begin(struct borrow *b, struct user_regs_struct *regs)
{
	const uint64_t all = handled(HAZARD_BORROWED_SIGNAL) ?
		maskable_signals() : b->mask;
	const pid_t tid = b->held.tid;

	*regs = b->regs;
	/* Behind the call of the gadget: rax is the program's still. Without a
	 * frame sp stays: a death of ours in here is not survived, but nothing
	 * is overwritten either. */
	if (b->frame)
		regs->rsp = b->frame;
	regs->rip = b->p->gadget +
		(handled(HAZARD_OTHERS_RAX) ? SYSCALL_LENGTH : 0);
	regs->orig_rax = UINT64_MAX;
	if (!b->masked && thread_set_regs(tid, regs) < 0)
		return -1;
	if (!b->masked &&
	    ptrace(PTRACE_SETSIGMASK, tid, sizeof all, &all) < 0)
		return fail_errno("block the signals of thread %d", tid);
	b->masked = true;
	return 0;
}

int
borrow_syscall(struct borrow *b, long nr, const uint64_t args[6],
	       int64_t *result, pid_t *child)
{
	struct user_regs_struct r;

	if (child)
		*child = 0;
	if (leave_clone(b) < 0 || borrow_begin(b, &r) < 0 ||
	    remote_syscall(b->p, b->held.tid, &r, nr, args, result, child,
			   b) < 0)
		return -1;
	b->in_clone = child && *child;
	return 0;
}

/* ---- giving back --------------------------------------------------------- */

void
borrow_resend(struct borrow *b, struct inject_report *report)
{
	const pid_t pid = target_pid(b->p->t);

	for (size_t i = 0; i < b->nkept; i++) {
		siginfo_t *si = &b->kept[i];

		/* The kernel lets nobody forge what kill(2) says; then the
		 * number alone goes. A thread that has ended needs none. */
		if (syscall(SYS_rt_tgsigqueueinfo, pid, b->held.tid,
			    si->si_signo, si) < 0)
			(void)syscall(SYS_tgkill, pid, b->held.tid,
				      si->si_signo);
		if (report)
			report->resent_signals++;
	}
	free(b->kept);
	b->kept = NULL;
	b->nkept = b->kept_cap = 0;
}

static int
put_back(struct borrow *b, struct inject_report *report)
{
	struct iovec iov = { b->xstate, b->xstate_size };
	const pid_t tid = b->held.tid;

	if (report) {
		report->rseq_aborts += b->rseq_aborted;
		report->restarted_calls += b->restarted;
	}
	if (ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov) < 0)
		return fail_errno("restore the vector state of thread %d",
				  tid);
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof b->mask, &b->mask) < 0)
		return fail_errno("restore the signal mask of thread %d",
				  tid);
	return thread_set_regs(tid, &b->regs);
}

uint64_t
inject_busy_mask(void)
{
	return maskable_signals() & ~(UINT64_C(1) << (SIGKILL - 1)) &
		~(UINT64_C(1) << (SIGSTOP - 1));
}

static void
note_borrowed(const struct borrow *b, struct inject_report *report)
{
	report->borrowed[report->nborrowed++ % INJECT_BORROWED] =
		(struct inject_borrowed){ b->held.tid, b->mask };
	report->donor_stop_ns += held_stood_ns(&b->held);
}

int
borrow_return(struct borrow *b, struct inject_report *report)
{
	struct target *t = b->p->t;
	int r = thread_settle(t, &b->held, STOP_TIMEOUT_NS);

	if (r == 0)
		r = put_back(b, report);
	if (r == 0)
		spare_return(b);
	borrow_resend(b, report);
	if (report)
		note_borrowed(b, report);
	urgent_donor_end(b, b->held.tid);
	/* Even a thread that could not be put back must not stay stopped:
	 * its frame brings it home. */
	if (thread_release(t, &b->held) < 0 && r == 0)
		r = -1;
	return r;
}
