/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the handler of the signal that ticks, and back. What a signal
 * has interrupted is put back by rt_sigreturn, a system call, which a thread
 * may not be allowed: a seccomp filter ends the program for it, and dispatch
 * (PR_SET_SYSCALL_USER_DISPATCH) takes it for one of the program's. Nobody
 * but the thread may know. But its mask is what it was (handler.c), so all the
 * rest can be put back in user mode, where the kernel has not changed more.
 */
#include "private.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>
#include <ucontext.h>

#include "hazard.h"

/*
 * The very bytes by which unwinders know a signal frame.
 *
 * hot_signal: the kernel has set the rights to keyed memory to its default,
 * which may forbid the stack that we stand on. The way back is what
 * rt_sigreturn does: the vector registers as the kernel has written them (and
 * with them those rights), then all others, the last five at once.
 */
__asm__(
"	.text\n"
"	.balign 16\n"
"	nop\n"
"	.globl hot_restorer\n"
"	.hidden hot_restorer\n"
"	.type hot_restorer, @function\n"
"hot_restorer:\n"
"	movq	$15, %rax\n"
"	syscall\n"
"	.balign 16\n"
"	.globl hot_signal\n"
"	.hidden hot_signal\n"
"	.type hot_signal, @function\n"
"hot_signal:\n"
"	.cfi_startproc\n"
"	cmpl	$0, hot_keyed(%rip)\n"
"	je	1f\n"
"	movq	%rdx, %r8\n"
"	xorl	%eax, %eax\n"
"	xorl	%ecx, %ecx\n"
"	xorl	%edx, %edx\n"
"	.byte	0x0f, 0x01, 0xef\n"		/* wrpkru */
"	movq	%r8, %rdx\n"
"1:	pushq	%rbx\n"
"	.cfi_adjust_cfa_offset 8\n"
"	.cfi_rel_offset rbx, 0\n"
"	movq	%rdx, %rbx\n"
"	cld\n"
"	call	hot_come\n"
"	testb	%al, %al\n"
"	jne	2f\n"
"	popq	%rbx\n"
"	.cfi_adjust_cfa_offset -8\n"
"	.cfi_restore rbx\n"
"	ret\n"
"	.cfi_adjust_cfa_offset 8\n"
"	.cfi_rel_offset rbx, 0\n"
"2:	movq	224(%rbx), %rcx\n"
"	movl	$-1, %eax\n"
"	movl	$-1, %edx\n"
"	xrstor64 (%rcx)\n"
"	movq	%rbx, %rdx\n"
"	movzwl	190(%rdx), %eax\n"		/* ss */
"	pushq	%rax\n"
"	.cfi_adjust_cfa_offset 8\n"
"	pushq	160(%rdx)\n"			/* rsp */
"	.cfi_adjust_cfa_offset 8\n"
"	pushq	176(%rdx)\n"			/* flags */
"	.cfi_adjust_cfa_offset 8\n"
"	movzwl	184(%rdx), %eax\n"		/* cs */
"	pushq	%rax\n"
"	.cfi_adjust_cfa_offset 8\n"
"	pushq	168(%rdx)\n"			/* rip */
"	.cfi_adjust_cfa_offset 8\n"
"	movq	40(%rdx), %r8\n"
"	movq	48(%rdx), %r9\n"
"	movq	56(%rdx), %r10\n"
"	movq	64(%rdx), %r11\n"
"	movq	72(%rdx), %r12\n"
"	movq	80(%rdx), %r13\n"
"	movq	88(%rdx), %r14\n"
"	movq	96(%rdx), %r15\n"
"	movq	104(%rdx), %rdi\n"
"	movq	112(%rdx), %rsi\n"
"	movq	120(%rdx), %rbp\n"
"	movq	128(%rdx), %rbx\n"
"	movq	144(%rdx), %rax\n"
"	movq	152(%rdx), %rcx\n"
"	movq	136(%rdx), %rdx\n"
"	iretq\n"
"	.cfi_endproc\n"
"	.size hot_signal, . - hot_signal\n"
);
_Static_assert(offsetof(ucontext_t, uc_mcontext.fpregs) == 224 &&
	       offsetof(ucontext_t, uc_mcontext.gregs[REG_R8]) == 40 &&
	       offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) == 168 &&
	       offsetof(ucontext_t, uc_mcontext.gregs[REG_CSGSFS]) == 184,
	       "the offsets above");

uint32_t hot_fs_readable, hot_keyed;

bool
hot_was_blocked(const void *context)
{
	/* the kernel's mask, not libc's */
	const uint64_t *mask = (const uint64_t *)
		&((const ucontext_t *)context)->uc_sigmask;

	return guest.signo && *mask >> (guest.signo - 1) & 1;
}

/* Calls that let signals in for their time, and say EINTR to any. */
static bool
lets_in(uint32_t nr)
{
	return nr == __NR_ppoll || nr == __NR_pselect6 ||
		nr == __NR_epoll_pwait || nr == __NR_epoll_pwait2 ||
		nr == __NR_io_pgetevents || nr == __NR_rt_sigsuspend;
}

/* The call that has ended with EINTR, where compilers have put its number right
 * before it; UINT32_MAX: not known. */
static uint32_t
ended_call(const greg_t *g)
{
	enum { PAGE_MASK = 4095, MOV_EAX = 0xb8, BYTES = 7 };
	const unsigned char *pc = (const unsigned char *)g[REG_RIP];
	uint32_t nr;

	if (((uint64_t)pc & PAGE_MASK) < BYTES || pc[-7] != MOV_EAX ||
	    pc[-2] != 0x0f || pc[-1] != 0x05)
		return UINT32_MAX;
	memcpy(&nr, pc - 6, sizeof nr);
	return nr;
}

/* The call that a late tick has ended begins again: nothing has come for the
 * program. */
void
hot_begin_again(void *context)
{
	enum { CALL_BYTES = 2 };
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint32_t nr;

	if (g[REG_RAX] != -EINTR)
		return;
	nr = ended_call(g);
	if (!handled(HAZARD_LATE_TICK) || !lets_in(nr))
		return;
	g[REG_RIP] -= CALL_BYTES;
	g[REG_RAX] = nr;
}

/*
 * Where a system call has returned to, or is about to begin again, rcx and r11
 * are what the instruction has left there (the kernel keeps them so for who
 * interrupts it). Code that has run on has something else in them.
 */
bool
hot_was_in_call(const void *context)
{
	enum { CALL_BYTES = 2 };
	const greg_t *g = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t behind = (uint64_t)g[REG_RCX];
	const uint64_t pc = (uint64_t)g[REG_RIP];

	return (behind == pc || behind == pc + CALL_BYTES) &&
		g[REG_R11] == g[REG_EFL];
}

/*
 * Is there nothing that only the kernel can put back? A call that lets signals
 * in has another mask meanwhile, and ends with EINTR; an alternate stack may
 * have been taken away for our time (SS_AUTODISARM), or be of memory with a key
 * that the thread has no right to.
 */
bool
hot_may_return(const void *context)
{
	enum { KEYED_FRAME = 0x46505853, MAGIC_AT = 464,
	       USER_CS = 0x33, USER_SS = 0x2b };
	const ucontext_t *uc = context;
	const greg_t *g = uc->uc_mcontext.gregs;
	const char *fp = (const char *)uc->uc_mcontext.fpregs;
	uint32_t nr;

	if (hot_was_blocked(context) || !handled(HAZARD_TICK_RETURN) ||
	    !fp || *(const uint32_t *)(fp + MAGIC_AT) != KEYED_FRAME ||
	    ((uint64_t)g[REG_CSGSFS] & 0xffff) != USER_CS ||
	    (uint64_t)g[REG_CSGSFS] >> 48 != USER_SS ||
	    uc->uc_stack.ss_flags < 0 ||	/* SS_AUTODISARM */
	    (hot_keyed && uc->uc_stack.ss_size))
		return false;
	if (g[REG_RAX] != -EINTR || !hot_was_in_call(context))
		return true;
	nr = ended_call(g);
	return nr != UINT32_MAX && !lets_in(nr);
}
