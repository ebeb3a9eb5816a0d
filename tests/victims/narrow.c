/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * narrow MODE: until SIGTERM, a thread that works where the frame of a signal's
 * handler has no room, beside one that is ordinary.
 *
 *	handler		its handler works on an alternate stack that has room
 *			for that one frame
 *	edge		near the end of its own stack
 *	guard		near a guard of its own within its stack, as a JVM's
 *	beside		other signals come all the time, and its alternate stack
 *			has room for one of them, or for ours
 *	coroutine	on a stack of 2 KB, between data
 *	pointer		its stack pointer goes through data
 *	signalled	the same, but its own handlers have an alternate stack
 *
 * or where there is room:
 *
 *	alternate	it has an alternate stack of MINSIGSTKSZ, above a page
 *			that nobody may touch
 *	gone		its alternate stack is there no more
 *	roomy		on an alternate stack, in its handler
 *	enough		its alternate stack has room for one frame and 1 KB
 *	untouched	in a small stack, below which no page was used yet
 *	heap		on a stack from the heap, given to pthread_create
 *	brief		each round in a new thread
 *
 * Ends by SIGTERM with status 0 and "whole" when nobody wrote into its data.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BRIEF	0.1		/* s */
#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

enum {
	PAGE = 4096, ROUND = 2000000, MINIMUM = 51 /* AT_MINSIGSTKSZ */,
	COROUTINE = 2048, DATA = 8192, WORDS = DATA / 8, EDGE = 1024,
};

static const char *mode;
static volatile sig_atomic_t over;
static volatile uint64_t sum, own;
static uint64_t data[3 * WORDS];	/* of it, the middle is worked in */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE static void
narrow_work(void)
{
	for (uint64_t i = 0; i < ROUND; i++)
		sum += (i * 7) ^ sum >> 3;
}

NOINLINE static void
ordinary_work(void)
{
	for (uint64_t i = 0; i < ROUND; i++)
		own += (i * 5) ^ own >> 3;
}

/* narrow_work with another stack pointer. */
void work_on(void *sp);
/* Adds up n words that the stack pointer goes through, so often. */
uint64_t add_by_sp(const uint64_t *at, uint64_t n, uint64_t times);
__asm__(
"	.text\n"
"	.type work_on, @function\n"
"work_on:\n"
"	pushq	%rbp\n"
"	movq	%rsp, %rbp\n"
"	movq	%rdi, %rsp\n"
"	call	narrow_work\n"
"	movq	%rbp, %rsp\n"
"	popq	%rbp\n"
"	ret\n"
"	.size work_on, . - work_on\n"
"	.type add_by_sp, @function\n"
"add_by_sp:\n"
"	movq	%rsp, %r8\n"
"	xorl	%eax, %eax\n"
"1:	movq	%rdi, %rsp\n"
"	movq	%rsi, %rcx\n"
"2:	popq	%r9\n"
"	addq	%r9, %rax\n"
"	decq	%rcx\n"
"	jnz	2b\n"
"	decq	%rdx\n"
"	jnz	1b\n"
"	movq	%r8, %rsp\n"
"	ret\n"
"	.size add_by_sp, . - add_by_sp\n"
);

static void
fill(void)
{
	for (uint64_t i = 0; i < 3 * WORDS; i++)
		data[i] = i * 3 + 1;
}

/* What the work itself wrote was in [from, to). */
static void
check(uint64_t from, uint64_t to)
{
	for (uint64_t i = 0; i < 3 * WORDS; i++)
		if ((i < from || i >= to) && data[i] != i * 3 + 1) {
			printf("word %llu was written\n",
			       (unsigned long long)i);
			exit(1);
		}
}

/* A page of nobody's, then so many bytes. */
static char *
guarded(size_t bytes)
{
	char *p = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p, PAGE, PROT_NONE) < 0)
		exit(99);
	return p + PAGE;
}

static void
on_signal(int signo)
{
	(void)signo;
	while (!over)
		narrow_work();
}

static void
have_alternate(size_t bytes)
{
	const stack_t s = { .ss_sp = guarded(bytes), .ss_size = bytes };

	if (sigaltstack(&s, NULL) < 0)
		exit(77);
}

static void
have_no_alternate(void)
{
	stack_t s;

	have_alternate(64 << 10);
	if (sigaltstack(NULL, &s) < 0 || munmap(s.ss_sp, s.ss_size) < 0)
		exit(99);
}

static void
work_in_handler(size_t bytes)
{
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = SA_ONSTACK };

	have_alternate(bytes);
	if (sigaction(SIGUSR1, &act, NULL) < 0 ||
	    syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) < 0)
		exit(99);
}

static void
work_at_edge(void)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr) != 0 ||
	    pthread_attr_getstack(&attr, &low, &size) != 0)
		exit(99);
	if (strcmp(mode, "guard") == 0) {
		if (mprotect(low, 4 * PAGE, PROT_NONE) < 0)
			exit(99);
		low = (char *)low + 4 * PAGE;
	}
	work_on((char *)low + EDGE);
}

static void
work_in_data(void)
{
	const bool moves = strcmp(mode, "pointer") == 0 ||
		strcmp(mode, "signalled") == 0;
	uint64_t got, right = 0;

	fill();
	for (uint64_t i = WORDS; i < 2 * WORDS; i++)
		right += data[i];
	if (!moves) {
		work_on(data + WORDS + COROUTINE / 8);
		check(WORDS, WORDS + COROUTINE / 8);
		return;
	}
	got = add_by_sp(data + WORDS, WORDS, 1000);
	if (got != right * 1000) {
		printf("the sum is wrong\n");
		exit(1);
	}
	check(0, 0);
}

static void *
once(void *arg)
{
	const double until = now() + BRIEF;

	(void)arg;
	while (now() < until)
		narrow_work();
	return NULL;
}

static void
work_in_new_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, once, NULL) != 0)
		exit(99);
	pthread_join(t, NULL);
}

static void
be_over(int signo)
{
	(void)signo;
	over = 1;
}

static void
on_nothing(int signo)
{
	(void)signo;
}

static void *
send_all_the_time(void *arg)
{
	const pid_t to = (pid_t)(intptr_t)arg;

	while (!over)
		(void)syscall(SYS_tgkill, getpid(), to, SIGUSR1);
	return NULL;
}

static void
get_signals(void)
{
	const struct sigaction act = { .sa_handler = on_nothing,
				       .sa_flags = SA_ONSTACK };
	pthread_t t;

	if (sigaction(SIGUSR1, &act, NULL) < 0 ||
	    pthread_create(&t, NULL, send_all_the_time,
			   (void *)(intptr_t)gettid()) != 0)
		exit(99);
	pthread_detach(t);
}

NOINLINE static void
work_deep(void)
{
	volatile char room[24 << 10];

	room[sizeof room - 1] = 1;
	narrow_work();
	room[sizeof room - 1] = 2;
}

static void *
strange(void *arg)
{
	const size_t frame = getauxval(MINIMUM);

	(void)arg;
	if (strcmp(mode, "alternate") == 0)
		have_alternate(2048);
	if (strcmp(mode, "gone") == 0)
		have_no_alternate();
	if (strcmp(mode, "signalled") == 0)
		have_alternate(64 << 10);
	if (strcmp(mode, "handler") == 0)
		work_in_handler((frame ? frame : PAGE) + 700);
	if (strcmp(mode, "roomy") == 0)
		work_in_handler(64 << 10);
	if (strcmp(mode, "enough") == 0 || strcmp(mode, "beside") == 0)
		have_alternate((frame ? frame : PAGE) + 1024 + 64);
	if (strcmp(mode, "beside") == 0)
		get_signals();
	while (!over)
		if (strcmp(mode, "edge") == 0 || strcmp(mode, "guard") == 0)
			work_at_edge();
		else if (strcmp(mode, "coroutine") == 0 ||
			 strcmp(mode, "pointer") == 0 ||
			 strcmp(mode, "signalled") == 0)
			work_in_data();
		else if (strcmp(mode, "brief") == 0)
			work_in_new_thread();
		else if (strcmp(mode, "untouched") == 0)
			work_deep();
		else
			narrow_work();
	return NULL;
}

int
main(int argc, char **argv)
{
	enum { STACK = 64 << 10 };
	pthread_attr_t attr;
	sigset_t told;
	pthread_t t;

	if (argc < 2)
		return 99;
	mode = argv[1];
	/* for main alone, whose stack is an ordinary one */
	sigemptyset(&told);
	sigaddset(&told, SIGTERM);
	signal(SIGTERM, be_over);
	sigprocmask(SIG_BLOCK, &told, NULL);
	pthread_attr_init(&attr);
	if (strcmp(mode, "heap") == 0)
		pthread_attr_setstack(&attr, malloc(STACK), STACK);
	if (strcmp(mode, "edge") == 0 || strcmp(mode, "guard") == 0 ||
	    strcmp(mode, "untouched") == 0)
		pthread_attr_setstack(&attr, guarded(STACK), STACK);
	if (pthread_create(&t, &attr, strange, NULL) != 0)
		return 99;
	sigprocmask(SIG_UNBLOCK, &told, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!over)
		ordinary_work();
	pthread_join(t, NULL);
	puts("whole");
	return 0;
}
