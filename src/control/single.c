/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction of one thread, while all others stand: over a breakpoint in
 * the text, and for whoever steps through a program.
 *
 *	stands --- SINGLESTEP ---> its own SIGTRAP -----------> stands behind it
 *	     ^                \--> a signal, or a fault ------> stands, and the
 *	     |                 \                                signal is due
 *	     |                  \-> no stop: it waits in a call
 *	     +---- INTERRUPT: the call goes on with it --------------+
 *
 * A system call is not stepped: its end would raise the step's trap (x86:
 * TRAP_BRKPT, user_single_step_report, 6.18), also where our stop ends it, or
 * our death lets the thread go, which that trap then kills. The thread runs to
 * the stop at its call's entry, and from there to the one at its exit, behind
 * the instruction:
 *
 *	stands --- SYSCALL ---> entry --- SYSCALL ---> exit ---> stands behind
 *
 * Only where a signal is due that somebody handles the instruction is not
 * reached, and the step is one into the handler. What trap a step still leaves,
 * settle.c takes out on the way to a plain stop.
 *
 * Signals are held back, so that no handler is entered instead; but not where
 * the instruction is a system call, which may ask for the mask, change it, wait
 * with another or give it to a child, or goes on in one; nor those that the
 * instruction itself can raise: the kernel resets the handler of such a signal
 * when it is blocked. What the thread blocks itself stays so.
 */
#include "breakpoint.h"
#include "machine.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/uio.h>

enum { KERNEL_SIGSET_SIZE = 8 };

/* A clone that is stepped over has a child. */
static void
note_birth(struct target *t, const struct event *ev)
{
	if (ev->kind == EVENT_CLONE || ev->kind == EVENT_FORK)
		pack_note_birth(&t->pack, ev, WANT_STOPPED);
	if (ev->kind == EVENT_EXEC)
		pack_note_exec(&t->pack, ev);
}

/* To behind the instruction, whatever stops come in between; how: RUN_STEP, or
 * at a system call RUN_TO_SYSCALL. 0, or -1: it waits, or has ended. */
static int
step(struct target *t, pid_t tid, enum thread_run how, int signal,
     unsigned limit_ms)
{
	const uint64_t deadline = deadline_in_ms(limit_ms);

	for (;;) {
		struct event ev;

		if (thread_resume(tid, how, signal) < 0 ||
		    thread_wait(tid, limit_ms * (uint64_t)NS_PER_MS, &ev) < 0)
			return -1;
		note_birth(t, &ev);
		if (ev.kind == EVENT_SYSCALL && thread_at_exit_of_call(tid))
			return 0;
		/* The step's own trap, or a fault of the instruction: the
		 * one is nobody's signal, the other is delivered later.
		 * SIGSTOP alone cannot be held back. */
		signal = ev.kind == EVENT_SIGNAL ? ev.signal : 0;
		if (signal && signal != SIGSTOP)
			return 0;
		if (now_ns() > deadline)
			return fail(FAIL_GENERAL, "thread %d does not step",
				    (int)tid);
	}
}

static uint64_t
signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static uint64_t
held_back(uint64_t mask)
{
	const uint64_t raised = signal_bit(SIGSEGV) | signal_bit(SIGBUS) |
		signal_bit(SIGILL) | signal_bit(SIGFPE) | signal_bit(SIGSYS);

	return (~raised | mask) & ~signal_bit(SIGTRAP);
}

static int
set_mask(pid_t tid, uint64_t mask)
{
	if (ptrace(PTRACE_SETSIGMASK, tid, KERNEL_SIGSET_SIZE, &mask) < 0)
		return ptrace_failed(tid, "set the signal mask");
	return 0;
}

static bool
at_system_call(struct target *t, const struct user_regs_struct *regs)
{
	unsigned char code[MACHINE_CODE_MAX];
	const size_t n = target_peek(t, machine_pc(regs), code, sizeof code);

	return machine_waits(regs) || machine_enters_kernel(code, n);
}

/* The program's own is another, and stays: one that it is sent, or its int3. */
bool
step_trap_queued(const struct hold *h)
{
	enum { AT_ONCE = 16 };
	struct __ptrace_peeksiginfo_args ask = { .nr = AT_ONCE };
	siginfo_t due[AT_ONCE];
	long n;

	if (!h->stepping)
		return false;
	while ((n = ptrace(PTRACE_PEEKSIGINFO, h->tid, &ask, due)) > 0) {
		for (long i = 0; i < n; i++)
			if (due[i].si_signo == SIGTRAP &&
			    sigtrap_is_ours(h->tid, &due[i]))
				return true;
		ask.off += (uint64_t)n;
	}
	return false;
}

/* To a plain stop from the one behind the step; from a call that waits. */
static void
stand(struct target *t, pid_t tid)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!h || (h->stopped && signal_of_stop(tid, NULL)))
		return;
	if (h->stopped) {
		hold_ask_through(h, 0);
	} else {
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		h->asked = true;
	}
	(void)hold_settle(&t->pack, tid, deadline_in_ms(STOP_LIMIT_MS));
}

/* The mask goes back when it stands: not while the step is still on its way. */
static int
step_unsignalled(struct target *t, pid_t tid, unsigned limit_ms)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tid, KERNEL_SIGSET_SIZE, &mask) < 0)
		return ptrace_failed(tid, "read the signal mask");
	if (set_mask(tid, held_back(mask)) < 0)
		return -1;

	const int r = step(t, tid, RUN_STEP, 0, limit_ms);

	stand(t, tid);

	struct hold *h = pack_find(&t->pack, tid);

	if (h && !h->stopped) {
		h->masked = true;	/* hold_note puts it back */
		h->mask = mask;
		return r;
	}
	return h && set_mask(tid, mask) < 0 ? -1 : r;
}

static int
step_call(struct target *t, pid_t tid, int due, unsigned limit_ms)
{
	const struct hold *h = pack_find(&t->pack, tid);
	const unsigned long before = h ? t->pack.options | errand_options(h) :
		0;
	int r;

	if (ptrace(PTRACE_SETOPTIONS, tid, 0,
		   before | PTRACE_O_TRACESYSGOOD) < 0)
		return ptrace_failed(tid, "set the trace options");
	r = step(t, tid, RUN_TO_SYSCALL, due, limit_ms);
	stand(t, tid);
	h = pack_find(&t->pack, tid);
	/* ESRCH: it was killed, and the next wait tells */
	if (h && h->stopped)
		(void)ptrace(PTRACE_SETOPTIONS, tid, 0, before);
	return r;
}

static int
step_somehow(struct target *t, pid_t tid, const struct user_regs_struct *regs,
	     unsigned limit_ms)
{
	const int due = signal_of_stop(tid, NULL);

	if (at_system_call(t, regs) &&
	    (!due || signal_reaches_nobody(t, tid, due)))
		return step_call(t, tid, due, limit_ms);
	/* the handler's frame keeps the mask that it finds */
	if (!due)
		return step_unsignalled(t, tid, limit_ms);

	const int r = step(t, tid, RUN_STEP, due, limit_ms);

	stand(t, tid);
	return r;
}

int
step_one(struct target *t, pid_t tid, unsigned limit_ms)
{
	struct hold *h = pack_find(&t->pack, tid);
	struct user_regs_struct regs;

	if (thread_get_regs(tid, &regs) < 0)
		return -1;
	/* a call that our stop has ended begins again, as where it runs on */
	if (h && (machine_waits(&regs) ||
		  machine_interrupted(&regs) != INTERRUPTED_NO)) {
		hold_repair(t, h);
		if (thread_get_regs(tid, &regs) < 0)
			return -1;
	}
	if (h)
		h->stepping = true;

	const int r = step_somehow(t, tid, &regs, limit_ms);

	h = pack_find(&t->pack, tid);
	if (h && h->stopped)	/* else its trap may come yet */
		h->stepping = false;
	return h ? r : -1;
}

/* ---- for whoever steps through a program --------------------------------- */

enum { WAITS_AFTER_MS = 200, TRIES = 50 };

int
target_step(struct target *t, pid_t tid, enum stepped *how)
{
	const struct hold *h = pack_find(&t->pack, tid);
	struct user_regs_struct regs;

	if (!t->held || !h)
		return fail(FAIL_MISSING, "thread %d is not held", (int)tid);
	if (h->group_signal || !h->stopped || thread_get_regs(tid, &regs) < 0) {
		fail(FAIL_GENERAL, "thread %d cannot be stepped: %s", (int)tid,
		     h->group_signal ? "the process is stopped by a signal" :
		     "it waits in the kernel");
		return fail_remedy(h->group_signal ? "kill CONT, then cont" :
				   "cont, until it comes back");
	}
	/* one that is watched there is passed, not hit */
	if (breakpoint_at(t, machine_pc(&regs))) {
		machine_pass(&regs);
		if (thread_set_regs(tid, &regs) < 0)
			return -1;
	}
	/* who is being stepped when we are killed dies of it */
	*how = STEPPED;
	if (!signal_of_stop(tid, NULL) && machine_emulate(t, &regs))
		return thread_set_regs(tid, &regs);
	for (int i = 0; i < TRIES; i++) {
		const uint64_t pc = machine_pc(&regs);

		if (step_one(t, tid, WAITS_AFTER_MS) == 0) {
			*how = signal_of_stop(tid, NULL) ? STEP_SIGNALLED :
				STEPPED;
			return 0;
		}
		if (!pack_find(&t->pack, tid)) {
			*how = STEP_ENDED;
			break;
		}
		if (thread_get_regs(tid, &regs) < 0)
			return -1;
		if (machine_syscall(&regs) >= 0)
			*how = STEP_WAITS;
		if (*how == STEP_WAITS || machine_pc(&regs) != pc)
			break;
		/* it got no processor */
	}
	fail_clear();
	return 0;
}

struct breakpoint *
target_meet(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct breakpoint *bp;

	if (!t->held || thread_get_regs(tid, &regs) < 0)
		return NULL;
	bp = breakpoint_at(t, machine_pc(&regs));
	if (!bp || breakpoint_is_trap(bp))
		return bp;
	machine_pass(&regs);
	return thread_set_regs(tid, &regs) < 0 ? NULL : bp;
}

uint64_t
target_behind_call(struct target *t, uint64_t pc)
{
	unsigned char code[MACHINE_CODE_MAX];
	const size_t n = target_peek(t, pc, code, sizeof code);
	const size_t length = machine_call_length(code, n);

	return length ? pc + length : 0;
}

/* ---- registers ----------------------------------------------------------- */

ssize_t
thread_get_regset(pid_t tid, unsigned type, void *buf, size_t size)
{
	struct iovec iov = { buf, size };

	if (ptrace(PTRACE_GETREGSET, tid, type, &iov) < 0)
		return ptrace_failed(tid, "read the registers");
	return (ssize_t)iov.iov_len;
}

/* Who is led elsewhere out of a call that our stop has interrupted does not go
 * on in it there. */
static int
set_general(pid_t tid, const struct user_regs_struct *wanted)
{
	struct user_regs_struct before, regs = *wanted;

	if (thread_get_regs(tid, &before) < 0)
		return -1;
	if (machine_pc(&before) != machine_pc(&regs))
		machine_leave_call(&regs);
	return thread_set_regs(tid, &regs);
}

int
thread_set_regset(pid_t tid, unsigned type, const void *buf, size_t size)
{
	struct iovec iov = { (void *)(uintptr_t)buf, size };

	if (type == NT_PRSTATUS && size == sizeof(struct user_regs_struct))
		return set_general(tid, buf);

	if (ptrace(PTRACE_SETREGSET, tid, type, &iov) < 0)
		return ptrace_failed(tid, "write the registers");
	return 0;
}
