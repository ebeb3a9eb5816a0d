/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that our two threads run inside the target; x86-64. It is copied
 * to the first page of the scratch memory, so it reaches everything relative
 * to itself: the block stands one page further.
 *
 *	helper (raw clone):  ctype_init, pthread_create(thread), wait until
 *	                     the kernel has cleared the thread's tid, say so
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
#include "private.h"

#define S_(x) #x
#define S(x) S_(x)

#define STATE		0
#define CREATE_ERROR	4
#define LIBRARY_FD	8
#define AREA_FD		12
#define CTYPE_INIT	16
#define ATTR_INIT	24
#define ATTR_SETSTACK	32
#define ATTR_SETDETACH	40
#define PTHREAD_CREATE	48
#define STACK		56
#define STACK_SIZE	64
#define DLOPEN		72
#define DLOPEN_FLAGS	80
#define DLERROR		88
#define HANDLE		96
#define BASE		104
#define ENTRY_OFFSET	112
#define FUNCTION	120
#define RESULT		128
#define SAVED_SP	136
#define PTHREAD		144
#define TID_OFFSET	152
#define LEAVE		160
#define AREA		168
#define AREA_SIZE	176
#define ARGS		184
#define ATTR		232
#define ERROR		296
#define PATH		552
#define SPECIFIC_OFFSET	680
#define THREAD_KEYS	688
#define CALL_TLS_DTORS	696
#define THEN		704
#define NAME_OFFSET	712
#define UNBLOCK		728
#define FILES		736

#define CHECK(field, offset) \
	_Static_assert(offsetof(struct block, field) == offset, "stub.c")
CHECK(state, STATE);
CHECK(create_error, CREATE_ERROR);
CHECK(library_fd, LIBRARY_FD);
CHECK(area_fd, AREA_FD);
CHECK(ctype_init, CTYPE_INIT);
CHECK(attr_init, ATTR_INIT);
CHECK(attr_setstack, ATTR_SETSTACK);
CHECK(attr_setdetach, ATTR_SETDETACH);
CHECK(pthread_create, PTHREAD_CREATE);
CHECK(stack, STACK);
CHECK(stack_size, STACK_SIZE);
CHECK(dlopen, DLOPEN);
CHECK(dlopen_flags, DLOPEN_FLAGS);
CHECK(dlerror, DLERROR);
CHECK(handle, HANDLE);
CHECK(base, BASE);
CHECK(entry_offset, ENTRY_OFFSET);
CHECK(function, FUNCTION);
CHECK(result, RESULT);
CHECK(saved_sp, SAVED_SP);
CHECK(pthread, PTHREAD);
CHECK(tid_offset, TID_OFFSET);
CHECK(leave, LEAVE);
CHECK(area, AREA);
CHECK(area_size, AREA_SIZE);
CHECK(args, ARGS);
CHECK(attr, ATTR);
CHECK(error, ERROR);
CHECK(path, PATH);
CHECK(specific_offset, SPECIFIC_OFFSET);
CHECK(thread_keys, THREAD_KEYS);
CHECK(call_tls_dtors, CALL_TLS_DTORS);
CHECK(then, THEN);
CHECK(name_offset, NAME_OFFSET);
CHECK(unblock, UNBLOCK);
CHECK(files, FILES);
_Static_assert(BLOCK_STARTED == 1 && BLOCK_LOADING == 2 &&
	       BLOCK_CALLING == 3 && BLOCK_DONE == 4 &&
	       BLOCK_NOT_LOADED == 5 && BLOCK_WRONG_LIBRARY == 6 &&
	       BLOCK_NO_THREAD == 8 && BLOCK_FAULTED == 9, "stub.c");
_Static_assert(STUB_BLOCK == 4096 && STUB_NOTIFY == 0x736e6465, "stub.c");
_Static_assert(COLLECTOR_MAGIC == 0x7473657567656473, "stub.c");

#define F(field) S(field) "(%rbx)"

__asm__(
"	.section .rodata\n"
"	.balign 16\n"
"	.globl stub_begin, stub_end, stub_helper, stub_thread, stub_fault\n"
"	.hidden stub_begin, stub_end, stub_helper, stub_thread, stub_fault\n"
"stub_begin:\n"

/* The helper. When we died before it was given its registers, it came here by
 * the return from clone, and its sp is not aligned. */
"stub_helper:\n"
"	movl	%eax, %r12d\n"
"	andq	$-16, %rsp\n"
"	leaq	stub_begin+4096(%rip), %rbx\n"
"	xorl	%eax, %eax\n"
"	movl	$1, %ecx\n"
"	lock cmpxchgl %ecx, " F(STATE) "\n"
"	jne	.Lstub_cancelled\n"
"	cmpq	$0, " F(PTHREAD_CREATE) "\n"
"	jne	0f\n"
"	call	stub_thread\n"
"	jmp	.Lstub_close\n"
"0:	movq	" F(CTYPE_INIT) ", %rax\n"
"	testq	%rax, %rax\n"
"	jz	1f\n"
"	call	*%rax\n"
"1:	leaq	" F(ATTR) ", %rdi\n"
"	call	*" F(ATTR_INIT) "\n"
"	leaq	" F(ATTR) ", %rdi\n"
"	movq	" F(STACK) ", %rsi\n"
"	movq	" F(STACK_SIZE) ", %rdx\n"
"	call	*" F(ATTR_SETSTACK) "\n"
"	testl	%eax, %eax\n"
"	jnz	2f\n"
"	leaq	" F(ATTR) ", %rdi\n"
"	movl	$1, %esi\n"
"	call	*" F(ATTR_SETDETACH) "\n"
"	leaq	" F(PTHREAD) ", %rdi\n"
"	leaq	" F(ATTR) ", %rsi\n"
"	leaq	stub_thread(%rip), %rdx\n"
"	movq	%rbx, %rcx\n"
"	call	*" F(PTHREAD_CREATE) "\n"
"2:	movl	%eax, " F(CREATE_ERROR) "\n"
"	testl	%eax, %eax\n"
"	jnz	4f\n"
/* The kernel clears the tid and wakes us when the thread is really gone. */
"3:	movq	" F(PTHREAD) ", %rdi\n"
"	addq	" F(TID_OFFSET) ", %rdi\n"
"	movl	(%rdi), %edx\n"
"	testl	%edx, %edx\n"
"	jz	.Lstub_close\n"
"	movl	$202, %eax\n"			/* futex, FUTEX_WAIT */
"	xorl	%esi, %esi\n"
"	xorl	%r10d, %r10d\n"
"	syscall\n"
"	jmp	3b\n"
"4:	movl	$8, " F(STATE) "\n"
"	jmp	.Lstub_close\n"
/* When we died in a call that makes a descriptor it came here by the return
 * from that, and nobody has noted the number yet. 0 is clone's. */
".Lstub_cancelled:\n"
"	cmpl	$1, %r12d\n"
"	jl	.Lstub_close\n"
"	cmpl	" F(LIBRARY_FD) ", %r12d\n"
"	je	.Lstub_close\n"
"	cmpl	" F(AREA_FD) ", %r12d\n"
"	je	.Lstub_close\n"
"	movl	%r12d, %edi\n"
"	movl	$3, %eax\n"			/* close */
"	syscall\n"
".Lstub_close:\n"
"	call	.Lstub_forget\n"
"	call	.Lstub_close_fds\n"
"	leaq	5f(%rip), %rax\n"
"	pushq	%rax\n"
"	movl	$110, %eax\n"			/* getppid: our bell */
"	movl	$0x736e6465, %edi\n"
"	syscall\n"
"	ret\n"
"5:	movq	" F(LEAVE) ", %rax\n"
"	movq	" F(AREA) ", %rdi\n"
"	movq	" F(AREA_SIZE) ", %rsi\n"
"	testq	%rax, %rax\n"
"	jz	6f\n"
"	jmp	*%rax\n"
"6:	movl	$60, %eax\n"
"	xorl	%edi, %edi\n"
"	syscall\n"
"	hlt\n"

/*
 * What libc does when a thread ends: C++ thread_local destructors, then those
 * of keys, up to four rounds (POSIX). Without it an allocator keeps the helper
 * in its lists, in memory that is about to go.
 */
".Lstub_forget:\n"
"	pushq	%rbp\n"
"	movq	" F(CALL_TLS_DTORS) ", %rax\n"
"	testq	%rax, %rax\n"
"	jz	1f\n"
"	call	*%rax\n"
"1:	movq	" F(THREAD_KEYS) ", %r12\n"
"	testq	%r12, %r12\n"
"	jz	5f\n"
"	movl	$4, %r13d\n"
"2:	xorl	%r14d, %r14d\n"		/* destructors run */
"	xorl	%r15d, %r15d\n"		/* key */
"3:	movl	%r15d, %eax\n"
"	shrl	$5, %eax\n"
"	movq	" F(SPECIFIC_OFFSET) ", %rcx\n"
"	addq	%fs:0, %rcx\n"
"	movq	(%rcx,%rax,8), %rcx\n"	/* block of 32 keys */
"	testq	%rcx, %rcx\n"
"	jz	4f\n"
"	movl	%r15d, %eax\n"
"	andl	$31, %eax\n"
"	shll	$4, %eax\n"
"	addq	%rax, %rcx\n"
"	movq	8(%rcx), %rdi\n"		/* its value */
"	testq	%rdi, %rdi\n"
"	jz	4f\n"
"	movq	$0, 8(%rcx)\n"
"	movl	%r15d, %eax\n"
"	shll	$4, %eax\n"
"	movq	(%rcx), %rdx\n"
"	cmpq	(%r12,%rax), %rdx\n"		/* the key lives still */
"	jne	4f\n"
"	movq	8(%r12,%rax), %rax\n"
"	testq	%rax, %rax\n"
"	jz	4f\n"
"	incl	%r14d\n"
"	call	*%rax\n"
"4:	incl	%r15d\n"
"	cmpl	$1024, %r15d\n"
"	jb	3b\n"
"	testl	%r14d, %r14d\n"
"	jz	5f\n"
"	decl	%r13d\n"
"	jnz	2b\n"
"5:	popq	%rbp\n"
"	ret\n"

/* Each descriptor is closed once, whoever comes first, and as soon as it can
 * be: what forks or unshares its files meanwhile keeps a copy. Where the
 * program has put a file of its own at the number (fstat: dev, ino), it stays.
 * One that nothing is known of is closed unseen. */
".Lstub_close_fds:\n"
"	call	.Lstub_close_library\n"
".Lstub_close_area:\n"
"	leaq	" S(FILES) "+16(%rbx), %r8\n"
"	movl	$-1, %edi\n"
"	xchgl	%edi, " F(AREA_FD) "\n"
"	jmp	1f\n"
".Lstub_close_library:\n"
"	leaq	" F(FILES) ", %r8\n"
"	movl	$-1, %edi\n"
"	xchgl	%edi, " F(LIBRARY_FD) "\n"
"1:	testl	%edi, %edi\n"
"	js	3f\n"
"	cmpq	$0, 8(%r8)\n"
"	je	2f\n"
"	subq	$152, %rsp\n"			/* struct stat */
"	movl	$5, %eax\n"			/* fstat */
"	movq	%rsp, %rsi\n"
"	syscall\n"
"	movq	0(%rsp), %rcx\n"
"	movq	8(%rsp), %rdx\n"
"	addq	$152, %rsp\n"
"	testl	%eax, %eax\n"
"	jnz	3f\n"
"	cmpq	%rcx, 0(%r8)\n"
"	jne	3f\n"
"	cmpq	%rdx, 8(%r8)\n"
"	jne	3f\n"
"2:	movl	$3, %eax\n"
"	syscall\n"
"3:	ret\n"

/* The real thread. */
"stub_thread:\n"
"	pushq	%rbx\n"
"	leaq	stub_begin+4096(%rip), %rbx\n"
"	movl	$14, %eax\n"			/* rt_sigprocmask, SIG_UNBLOCK */
"	movl	$1, %edi\n"
"	leaq	" F(UNBLOCK) ", %rsi\n"
"	xorl	%edx, %edx\n"
"	movl	$8, %r10d\n"
"	syscall\n"
"	movq	%rsp, " F(SAVED_SP) "\n"
"	movl	$1, %eax\n"
"	movl	$2, %ecx\n"
"	lock cmpxchgl %ecx, " F(STATE) "\n"
"	jne	.Lstub_return\n"
"	movq	" F(DLOPEN) ", %rax\n"
"	testq	%rax, %rax\n"
"	jz	1f\n"
"	leaq	" F(PATH) ", %rdi\n"
"	movq	" F(DLOPEN_FLAGS) ", %rsi\n"
"	call	*%rax\n"
"	movq	%rax, " F(HANDLE) "\n"
"	testq	%rax, %rax\n"
"	jz	3f\n"
/* glibc's handle is the link map, which begins with the load bias. */
"	movq	(%rax), %rdx\n"
"	movq	%rdx, " F(BASE) "\n"
"	addq	" F(ENTRY_OFFSET) ", %rdx\n"
"	movq	%rdx, " F(FUNCTION) "\n"
"	movabsq	$0x7473657567656473, %rcx\n"
"	cmpq	%rcx, -16(%rdx)\n"
"	jne	2f\n"
/* Its second word is the name: whoever opens it now would open what they have
 * at that number (gdb: a pipe, and hangs). The loader forgets the old one. */
"	movq	" F(BASE) ", %rdx\n"
"	addq	" F(NAME_OFFSET) ", %rdx\n"
"	movq	%rdx, 8(%rax)\n"
"1:	call	.Lstub_close_library\n"
"	movl	$2, %eax\n"
"	movl	$3, %ecx\n"
"	lock cmpxchgl %ecx, " F(STATE) "\n"
"	jne	.Lstub_return\n"
"	movq	" S(ARGS) "+0(%rbx), %rdi\n"
"	movq	" S(ARGS) "+8(%rbx), %rsi\n"
"	movq	" S(ARGS) "+16(%rbx), %rdx\n"
"	movq	" S(ARGS) "+24(%rbx), %rcx\n"
"	movq	" S(ARGS) "+32(%rbx), %r8\n"
"	movq	" S(ARGS) "+40(%rbx), %r9\n"
"	xorl	%eax, %eax\n"
"	call	*" F(FUNCTION) "\n"
"	movq	%rax, " F(RESULT) "\n"
"	testq	%rax, %rax\n"
"	jnz	6f\n"
"	call	.Lstub_close_area\n"
"	movq	" F(THEN) ", %rdi\n"
"	testq	%rdi, %rdi\n"
"	jz	6f\n"
"	movq	" S(ARGS) "+8(%rbx), %rsi\n"
"	xorl	%eax, %eax\n"
"	call	*" F(FUNCTION) "\n"
"	movq	%rax, " F(RESULT) "\n"
"6:	movl	$4, " F(STATE) "\n"
".Lstub_return:\n"
"	call	.Lstub_close_fds\n"
"	xorl	%eax, %eax\n"
"	popq	%rbx\n"
"	ret\n"
"2:	movl	$6, " F(STATE) "\n"
"	jmp	.Lstub_return\n"

/* The text of dlerror dies with the thread: copy it. */
"3:	movq	" F(DLERROR) ", %rax\n"
"	testq	%rax, %rax\n"
"	jz	5f\n"
"	call	*%rax\n"
"	testq	%rax, %rax\n"
"	jz	5f\n"
"	xorl	%ecx, %ecx\n"
"4:	movb	(%rax,%rcx), %dl\n"
"	movb	%dl, " S(ERROR) "(%rbx,%rcx)\n"
"	testb	%dl, %dl\n"
"	jz	5f\n"
"	incl	%ecx\n"
"	cmpl	$255, %ecx\n"
"	jb	4b\n"
"5:	movl	$5, " F(STATE) "\n"
"	jmp	.Lstub_return\n"

/* The tracer brings the thread here when the called function faulted. */
"stub_fault:\n"
"	cld\n"
"	leaq	stub_begin+4096(%rip), %rbx\n"
"	movq	" F(SAVED_SP) ", %rsp\n"
"	movl	$9, " F(STATE) "\n"
"	jmp	.Lstub_return\n"
"stub_end:\n"
"	.previous\n"
);
