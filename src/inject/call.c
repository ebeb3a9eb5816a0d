/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Borrow a thread for a few raw system calls and give it back as it was.
 *
 * The thread works at a `syscall; ret` of libc with sp at an rt_sigframe
 * whose return address is libc's sigreturn stub. If we die at any moment, the
 * thread comes out of our call, returns into that stub, and the kernel puts
 * registers, vector state and signal mask back from the frame. The order
 * matters: the frame is written first, then the registers aim at it, and
 * only then the mask changes; back in reverse.
 *
 * While we live the frame is not used: the registers go back at a stop of
 * the signal kind, from which the kernel itself restarts the system call that
 * we interrupted, with its remaining time.
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
	RED_ZONE = 128,
	XSTATE_ALIGN = 64,
	FXSAVE_BYTES = 512,
	FX_XMM_AT = 160, FX_XMM_BYTES = 256,
	FX_SW_AT = 464,			/* software bytes of an fxsave image */
	FX_MAGIC1 = 0x46505853,
	FX_MAGIC2 = 0x46505845,
	AMX_BITS = 3 << 17,		/* XTILECFG, XTILEDATA */
	AMX_AT = 2752,			/* where they begin in an xsave image */
	DIRECTION_AND_TRAP = 0x500,	/* flags */
	STACK_SLACK = 4096,		/* left free below the frame */
};
#define STOP_TIMEOUT_NS	UINT64_C(10000000000)

/* What the kernel puts on the stack for a handler (arch/x86/include/asm/
 * sigframe.h, uapi/asm/sigcontext.h). */
struct signal_frame {
	uint64_t restorer;
	struct {
		uint64_t flags, link;
		struct { uint64_t sp; int32_t flags, pad; uint64_t size; } alt;
		uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
		uint64_t di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
		uint16_t cs, gs, fs, ss;
		uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
		uint64_t mask;
	} uc;
	siginfo_t info;
};
_Static_assert(sizeof(struct signal_frame) == 8 + 304 + 128, "ABI");

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

/* ---- the frame -------------------------------------------------------------- */

/*
 * An interrupted call is begun again: nothing else gives the thread neither
 * an error it would not have seen nor a lost request. (A sleep is then too
 * long; who can avoid it borrows no sleeper, and dies rarely.)
 */
static void
restart_in_frame(struct signal_frame *f, const struct borrow *b)
{
	const struct user_regs_struct *r = &b->regs;
	const int64_t error = (int64_t)r->rax;
	int64_t call = (int64_t)r->orig_rax;

	if (call < 0 || error > -512 || error < -516 || error == -515)
		return;
	if (call == SYS_restart_syscall) {
		const long slept = thread_sleeping_call(b->p->t, r->rip);

		call = slept < 0 ? call : slept;
	}
	f->uc.ax = (uint64_t)call;
	f->uc.ip -= 2;
}

static void
fill_frame(struct signal_frame *f, const struct borrow *b, uint64_t fpstate)
{
	const struct user_regs_struct *r = &b->regs;

	memset(f, 0, sizeof *f);
	f->restorer = b->p->restore_rt;
	f->uc.flags = 1 | 2 | 4;	/* xstate; ss is saved, and strictly */
	f->uc.alt.flags = -1;		/* refused, so it stays as it is */
	f->uc.r8 = r->r8, f->uc.r9 = r->r9, f->uc.r10 = r->r10;
	f->uc.r11 = r->r11, f->uc.r12 = r->r12, f->uc.r13 = r->r13;
	f->uc.r14 = r->r14, f->uc.r15 = r->r15, f->uc.di = r->rdi;
	f->uc.si = r->rsi, f->uc.bp = r->rbp, f->uc.bx = r->rbx;
	f->uc.dx = r->rdx, f->uc.ax = r->rax, f->uc.cx = r->rcx;
	f->uc.sp = r->rsp, f->uc.ip = r->rip, f->uc.eflags = r->eflags;
	f->uc.cs = (uint16_t)r->cs, f->uc.ss = (uint16_t)r->ss;
	f->uc.fpstate = fpstate;
	f->uc.mask = b->mask;
	restart_in_frame(f, b);
}

/* The vector state as a signal frame carries it. Returns its size. */
static size_t
fill_xstate(unsigned char *out, const struct borrow *b)
{
	uint64_t features, in_use;
	uint32_t sw[5] = {0}, size = (uint32_t)b->xstate_size;
	const uint32_t end = FX_MAGIC2;

	memcpy(&features, b->xstate + FX_SW_AT, sizeof features);
	memcpy(&in_use, b->xstate + FXSAVE_BYTES, sizeof in_use);
	/* A thread that never asked for AMX must not bring it. */
	if ((features & AMX_BITS) && !(in_use & AMX_BITS) && size > AMX_AT) {
		features &= ~(uint64_t)AMX_BITS;
		size = AMX_AT;
	}
	memcpy(out, b->xstate, size);
	sw[0] = FX_MAGIC1;
	sw[1] = size + (uint32_t)sizeof end;
	memcpy(&sw[2], &features, sizeof features);
	sw[4] = size;
	if (!handled(HAZARD_VECTORS))
		memset(out + FX_XMM_AT, 0, FX_XMM_BYTES);
	memset(out + FX_SW_AT, 0, FXSAVE_BYTES - FX_SW_AT);
	memcpy(out + FX_SW_AT, sw, sizeof sw);
	memcpy(out + size, &end, sizeof end);
	return size + sizeof end;
}

/*
 * May bytes below the red zone be overwritten? By the ABI yes, but a stack
 * that a program carved out of its heap may border on something alive. Only
 * the main stack, or a mapping of its own with a guard below, is trusted.
 */
bool
borrow_stack_is_plain(const struct plan *p, uint64_t sp, uint64_t need)
{
	const struct module *m = modules_find(&p->mods, sp);
	const struct module *below;

	if (!handled(HAZARD_ODD_STACK))
		return true;
	if (!m || !(m->prot & MODULE_WRITE) || m->inode != 0)
		return false;
	if (sp - m->start < need + STACK_SLACK)
		return false;
	if (strcmp(m->path, "[stack]") == 0)
		return true;
	if (m == p->mods.items || m->path[0] != 0)
		return false;
	below = m - 1;
	return below->end == m->start && below->prot == 0;
}

int
borrow_write_frame(struct borrow *b, uint64_t room, size_t room_size)
{
	struct {
		struct signal_frame frame;
		unsigned char xstate[XSTATE_MAX + 64];
	} *image = xcalloc(1, sizeof *image);
	unsigned char *bytes = (unsigned char *)image;
	const size_t xsize = fill_xstate(image->xstate, b);
	const size_t need = sizeof image->frame + xsize + XSTATE_ALIGN + 16;
	uint64_t top = room + room_size, fpstate;
	int r = 0;

	b->frame = 0;
	if (!handled(HAZARD_FRAME))
		top = 0;
	else if (!room && borrow_stack_is_plain(b->p, b->regs.rsp, need + RED_ZONE))
		top = b->regs.rsp - (handled(HAZARD_RED_ZONE) ? RED_ZONE : 0);
	if (top >= need && (!room || room_size >= need)) {
		fpstate = (top - xsize) & ~(uint64_t)(XSTATE_ALIGN - 1);
		/* sigreturn expects sp just above the return address. */
		b->frame = ((fpstate - sizeof image->frame) & ~15ull) - 8;
		fill_frame(&image->frame, b, fpstate);
		memmove(bytes + (fpstate - b->frame), image->xstate, xsize);
		if (fpstate - b->frame > sizeof image->frame)
			memset(bytes + sizeof image->frame, 0, fpstate -
			       b->frame - sizeof image->frame);
		r = target_write(b->p->t, b->frame, image,
				 fpstate - b->frame + xsize);
	}
	free(image);
	return r;
}

/* ---- one system call ---------------------------------------------------------- */

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

/* A signal that someone sent: keep it for when the thread is itself again. */
static int
keep_signal(pid_t tid, struct borrow *keep)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0)
		return fail_errno("read a signal of thread %d", tid);
	if (is_fault(&si))
		return fail(FAIL_UNSUITABLE, "the borrowed thread %d got "
			    "signal %d from our call", tid, si.si_signo);
	if (keep && handled(HAZARD_BORROWED_SIGNAL) &&
	    keep->nkept < KEPT_SIGNALS)
		keep->kept[keep->nkept++] = si;
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
remote_syscall(const struct plan *p, pid_t tid,
	       const struct user_regs_struct *regs, long nr,
	       const uint64_t args[6], int64_t *result, pid_t *child,
	       struct borrow *keep)
{
	struct user_regs_struct r = *regs;

	r.rip = p->gadget;
	r.rax = (uint64_t)nr;
	r.orig_rax = UINT64_MAX;
	r.rdi = args[0], r.rsi = args[1], r.rdx = args[2];
	r.r10 = args[3], r.r8 = args[4], r.r9 = args[5];
	if (handled(HAZARD_FLAGS))
		r.eflags &= ~(uint64_t)DIRECTION_AND_TRAP;
	if (thread_set_regs(tid, &r) < 0 ||
	    run_to_syscall_stop(tid, NULL, keep) < 0 ||
	    run_to_syscall_stop(tid, child, keep) < 0)
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
	/* Without a frame sp stays: a death of ours in here is not survived,
	 * but nothing is overwritten either. */
	if (b->frame)
		regs->rsp = b->frame;
	regs->rip = b->p->gadget;
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

/* ---- giving back ---------------------------------------------------------------- */

static void
resend(struct borrow *b, struct inject_report *report)
{
	const pid_t pid = target_pid(b->p->t);
	unsigned i;

	for (i = 0; i < b->nkept; i++) {
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
	b->nkept = 0;
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
	resend(b, report);
	if (report)
		note_borrowed(b, report);
	urgent_donor_end(b, b->held.tid);
	/* Even a thread that could not be put back must not stay stopped:
	 * its frame brings it home. */
	if (thread_release(t, &b->held) < 0 && r == 0)
		r = -1;
	return r;
}
