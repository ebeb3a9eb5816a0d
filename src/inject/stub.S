/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that our two threads run inside the target; x86-64. It is copied
 * to the first page of the scratch memory, so it reaches everything relative
 * to itself: the block stands one page further.
 *
 *	helper (raw clone):  ctype_init, pthread_create(thread), wait until
 *	                     the kernel has cleared the thread's word, say so
 *	                     by a system call that the tracer watches for,
 *	                     leave
 *	thread (real one):   dlopen, check, call, perhaps once more, return
 *
 * Where libc cannot be asked for a thread (by_hand.c), the helper itself does
 * the second part; the library is mapped already then.
 *
 * If the tracer is gone, all this still runs to its end; the scratch stays
 * mapped, nothing else. Each step begins with a compare-and-swap of the state
 * word, so a call that was cancelled does not start later.
 */
#include "stub.h"

	.section .rodata
	.balign 16
	.globl stub_begin, stub_end, stub_helper, stub_thread, stub_fault
	.globl stub_park
	.hidden stub_begin, stub_end, stub_helper, stub_thread, stub_fault
	.hidden stub_park
stub_begin:

/* The helper. When we died before it was given its registers, it came here by
 * the return from clone, and its sp is not aligned. */
stub_helper:
	movl	%eax, %r12d
	andq	$-16, %rsp
	leaq	stub_begin+4096(%rip), %rbx
	xorl	%eax, %eax
	movl	$1, %ecx
	lock cmpxchgl %ecx, STATE(%rbx)
	jne	.Lstub_cancelled
	cmpq	$0, PTHREAD_CREATE(%rbx)
	jne	0f
	call	stub_thread
	jmp	.Lstub_close
0:	movq	CTYPE_INIT(%rbx), %rax
	testq	%rax, %rax
	jz	1f
	call	*%rax
1:	leaq	ATTR(%rbx), %rdi
	call	*ATTR_INIT(%rbx)
	leaq	ATTR(%rbx), %rdi
	movq	STACK(%rbx), %rsi
	movq	STACK_SIZE(%rbx), %rdx
	call	*ATTR_SETSTACK(%rbx)
	testl	%eax, %eax
	jnz	2f
	leaq	ATTR(%rbx), %rdi
	movl	$1, %esi
	call	*ATTR_SETDETACH(%rbx)
	leaq	PTHREAD(%rbx), %rdi
	leaq	ATTR(%rbx), %rsi
	leaq	stub_thread(%rip), %rdx
	movq	%rbx, %rcx
	call	*PTHREAD_CREATE(%rbx)
2:	movl	%eax, CREATE_ERROR(%rbx)
	testl	%eax, %eax
	jnz	4f
/* The kernel clears a word and wakes us when the thread is really gone. */
3:	movq	GONE_AT(%rbx), %rdi
	testq	%rdi, %rdi
	jnz	7f
	movq	PTHREAD(%rbx), %rdi
	addq	TID_OFFSET(%rbx), %rdi
7:	movl	(%rdi), %edx
	testl	%edx, %edx
	jz	.Lstub_close
	movl	$202, %eax			/* futex, FUTEX_WAIT */
	xorl	%esi, %esi
	xorl	%r10d, %r10d
	syscall
	jmp	3b
4:	movl	$8, STATE(%rbx)
	jmp	.Lstub_close
/* When we died in a call that makes a descriptor it came here by the return
 * from that, and nobody has noted the number yet. 0 is clone's. */
.Lstub_cancelled:
	cmpl	$1, %r12d
	jl	.Lstub_close
	cmpl	LIBRARY_FD(%rbx), %r12d
	je	.Lstub_close
	cmpl	AREA_FD(%rbx), %r12d
	je	.Lstub_close
	movl	%r12d, %edi
	movl	$3, %eax			/* close */
	syscall
.Lstub_close:
	call	.Lstub_forget
	call	.Lstub_close_fds
	leaq	5f(%rip), %rax
	pushq	%rax
	movl	$110, %eax			/* getppid: our bell */
	movl	$0x736e6465, %edi
	syscall
	ret
5:	movq	LEAVE(%rbx), %rax
	movq	AREA(%rbx), %rdi
	movq	AREA_SIZE(%rbx), %rsi
	testq	%rax, %rax
	jz	6f
	jmp	*%rax
6:	movl	$60, %eax
	xorl	%edi, %edi
	syscall
	hlt

/*
 * What libc does when a thread ends: C++ thread_local destructors, then those
 * of keys, up to four rounds (POSIX). Without it an allocator keeps the helper
 * in its lists, in memory that is about to go.
 */
.Lstub_forget:
	pushq	%rbp
	movq	CALL_TLS_DTORS(%rbx), %rax
	testq	%rax, %rax
	jz	1f
	call	*%rax
1:	movq	THREAD_KEYS(%rbx), %r12
	testq	%r12, %r12
	jz	5f
	movl	$4, %r13d
2:	xorl	%r14d, %r14d		/* destructors run */
	xorl	%r15d, %r15d		/* key */
3:	movl	%r15d, %eax
	shrl	$5, %eax
	movq	SPECIFIC_OFFSET(%rbx), %rcx
	addq	%fs:0, %rcx
	movq	(%rcx,%rax,8), %rcx	/* block of 32 keys */
	testq	%rcx, %rcx
	jz	4f
	movl	%r15d, %eax
	andl	$31, %eax
	shll	$4, %eax
	addq	%rax, %rcx
	movq	8(%rcx), %rdi		/* its value */
	testq	%rdi, %rdi
	jz	4f
	movq	$0, 8(%rcx)
	movl	%r15d, %eax
	shll	$4, %eax
	movq	(%rcx), %rdx
	cmpq	(%r12,%rax), %rdx		/* the key lives still */
	jne	4f
	movq	8(%r12,%rax), %rax
	testq	%rax, %rax
	jz	4f
	incl	%r14d
	call	*%rax
4:	incl	%r15d
	cmpl	$1024, %r15d
	jb	3b
	testl	%r14d, %r14d
	jz	5f
	decl	%r13d
	jnz	2b
5:	popq	%rbp
	ret

/* Each descriptor is closed once, whoever comes first, and as soon as it can
 * be: what forks or unshares its files meanwhile keeps a copy. Where the
 * program has put a file of its own at the number (fstat: dev, ino), it stays.
 * One that nothing is known of is closed unseen. */
.Lstub_close_fds:
	call	.Lstub_close_library
.Lstub_close_area:
	leaq	FILES+16(%rbx), %r8
	movl	$-1, %edi
	xchgl	%edi, AREA_FD(%rbx)
	jmp	1f
.Lstub_close_library:
	leaq	FILES(%rbx), %r8
	movl	$-1, %edi
	xchgl	%edi, LIBRARY_FD(%rbx)
1:	testl	%edi, %edi
	js	3f
	cmpq	$0, 8(%r8)
	je	2f
	subq	$152, %rsp			/* struct stat */
	movl	$5, %eax			/* fstat */
	movq	%rsp, %rsi
	syscall
	movq	0(%rsp), %rcx
	movq	8(%rsp), %rdx
	addq	$152, %rsp
	testl	%eax, %eax
	jnz	3f
	cmpq	%rcx, 0(%r8)
	jne	3f
	cmpq	%rdx, 8(%r8)
	jne	3f
2:	movl	$3, %eax
	syscall
3:	ret

/* The real thread. */
stub_thread:
	pushq	%rbx
	movq	%rbx, %rax
	leaq	stub_begin+4096(%rip), %rbx
	movq	%rax, SAVED+0(%rbx)
	movq	%rbp, SAVED+8(%rbx)
	movq	%r12, SAVED+16(%rbx)
	movq	%r13, SAVED+24(%rbx)
	movq	%r14, SAVED+32(%rbx)
	movq	%r15, SAVED+40(%rbx)
	movq	8(%rsp), %rax
	movq	%rax, SAVED+48(%rbx)
	movl	$14, %eax			/* rt_sigprocmask, SIG_UNBLOCK */
	movl	$1, %edi
	leaq	UNBLOCK(%rbx), %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	movq	%rsp, SAVED_SP(%rbx)
	movl	$1, %eax
	movl	$2, %ecx
	lock cmpxchgl %ecx, STATE(%rbx)
	jne	.Lstub_return
	movq	DLOPEN(%rbx), %rax
	testq	%rax, %rax
	jz	1f
	leaq	PATH(%rbx), %rdi
	movq	DLOPEN_FLAGS(%rbx), %rsi
	call	*%rax
	movq	%rax, HANDLE(%rbx)
	testq	%rax, %rax
	jz	3f
/* glibc's handle is the link map, which begins with the load bias. */
	movq	(%rax), %rdx
	movq	%rdx, BASE(%rbx)
	addq	ENTRY_OFFSET(%rbx), %rdx
	movq	%rdx, FUNCTION(%rbx)
	movabsq	$0x7473657567656473, %rcx
	cmpq	%rcx, -16(%rdx)
	jne	2f
/* Its second word is the name: whoever opens it now would open what they have
 * at that number (gdb: a pipe, and hangs). The loader forgets the old one. */
	movq	BASE(%rbx), %rdx
	addq	NAME_OFFSET(%rbx), %rdx
	movq	%rdx, 8(%rax)
1:	call	.Lstub_close_library
	movl	$2, %eax
	movl	$3, %ecx
	lock cmpxchgl %ecx, STATE(%rbx)
	jne	.Lstub_return
	movq	ARGS+0(%rbx), %rdi
	movq	ARGS+8(%rbx), %rsi
	movq	ARGS+16(%rbx), %rdx
	movq	ARGS+24(%rbx), %rcx
	movq	ARGS+32(%rbx), %r8
	movq	ARGS+40(%rbx), %r9
	xorl	%eax, %eax
	call	*FUNCTION(%rbx)
	movq	%rax, RESULT(%rbx)
	testq	%rax, %rax
	jnz	6f
	call	.Lstub_close_area
	movq	THEN(%rbx), %rdi
	testq	%rdi, %rdi
	jz	6f
	movq	ARGS+8(%rbx), %rsi
	xorl	%eax, %eax
	call	*FUNCTION(%rbx)
	movq	%rax, RESULT(%rbx)
6:	movl	$4, STATE(%rbx)
.Lstub_return:
	call	.Lstub_close_fds
	xorl	%eax, %eax
	popq	%rbx
	ret
2:	movl	$6, STATE(%rbx)
	jmp	.Lstub_return

/* The text of dlerror dies with the thread: copy it. */
3:	movq	DLERROR(%rbx), %rax
	testq	%rax, %rax
	jz	5f
	call	*%rax
	testq	%rax, %rax
	jz	5f
	xorl	%ecx, %ecx
4:	movb	(%rax,%rcx), %dl
	movb	%dl, ERROR(%rbx,%rcx)
	testb	%dl, %dl
	jz	5f
	incl	%ecx
	cmpl	$255, %ecx
	jb	4b
5:	movl	$5, STATE(%rbx)
	jmp	.Lstub_return

/* The tracer brings the thread here when the called function faulted, or what
 * libc does at a thread's end: it goes on behind that, since libc takes off its
 * lists what it is about to do. Of the stack both words may be others now. */
stub_fault:
	cld
	leaq	stub_begin+4096(%rip), %rbx
	movq	SAVED_SP(%rbx), %rsp
	movq	SAVED+0(%rbx), %rax
	movq	%rax, (%rsp)
	movq	SAVED+48(%rbx), %rax
	movq	%rax, 8(%rsp)
	movq	SAVED+8(%rbx), %rbp
	movq	SAVED+16(%rbx), %r12
	movq	SAVED+24(%rbx), %r13
	movq	SAVED+32(%rbx), %r14
	movq	SAVED+40(%rbx), %r15
	jmp	.Lstub_return

/* What the thread calls that is a debugger's for a while: it is stopped in this
 * system call, and goes on from there when nobody needs it any more. */
stub_park:
	movl	$110, %eax			/* getppid */
	movl	$0x736e6470, %edi
	syscall
	ret
stub_end:
	.section .note.GNU-stack,"",@progbits
