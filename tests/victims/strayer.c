/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strayer HOW: computes where a stack leads to nothing. On a stack of its own,
 * like a coroutine, in code that has no unwind data and uses the frame pointer
 * for something else: it points to where nothing is mapped. Or in a handler on
 * an alternate stack, where the interrupted one has overflowed: sp points to
 * where nothing is mapped. Whoever follows it faults.
 *
 *	gap	the stack is between the mappings and the main stack
 *	hole	it is in one mapping with the first thread's descriptor; a part
 *		in between comes and goes
 *	thread	the same of a thread whose stack has no guard
 *	main-overflows		the main stack
 *	thread-overflows	a thread's
 *
 * rounds counts how often it went there and came back.
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "victim.h"

enum {
	PAGE = 4096, STACK = 16 * PAGE, REACH = 64 * PAGE, WHOLE = 128 * PAGE,
	SPINS = 1000 * 1000, HALF_NS = 200 * 1000 * 1000,
};

static _Atomic uint64_t rounds;

/* (sp, fp, n): returns n, counted up one by one. */
uint64_t stray(void *sp, void *fp, uint64_t n);
__asm__(
"	.text\n"
"	.globl stray\n"
"	.type stray, @function\n"
"stray:\n"
"	pushq	%rbp\n"
"	movq	%rsp, %rcx\n"
"	movq	%rdi, %rsp\n"
"	movq	%rsi, %rbp\n"
"	xorl	%eax, %eax\n"
"1:	incq	%rax\n"
"	cmpq	%rdx, %rax\n"
"	jb	1b\n"
"	movq	%rcx, %rsp\n"
"	popq	%rbp\n"
"	ret\n"
"	.size stray, . - stray\n"
);

/* The bounds of the mapping of addr: true; *end is 0 if there is none. */
static void
mapping_of(uintptr_t addr, uintptr_t *start, uintptr_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	*end = 0;
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx", start, end) == 2 && addr >= *start &&
		    addr < *end)
			break;
		else
			*end = 0;
	if (maps)
		fclose(maps);
}

static char *
map_at(uintptr_t at, size_t n)
{
	char *p = mmap((void *)at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		       MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (char *)at) {
		perror("mmap");
		exit(99);
	}
	return p;
}

static bool
go_there(char *stack, uint64_t for_ns)
{
	const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID) + for_ns;
	char *sp = stack + STACK - 64;

	while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
		if (stray(sp, sp + REACH, SPINS) != SPINS)
			return false;
		atomic_fetch_add(&rounds, 1);
	}
	return true;
}

static bool
in_gap(void)
{
	uintptr_t start, end;
	char *stack;

	mapping_of((uintptr_t)&start, &start, &end);
	stack = map_at(end - ((uintptr_t)64 << 20), STACK);
	while (!atomic_load(&victim_over))
		if (!go_there(stack, HALF_NS))
			return false;
	return true;
}

/* Between the stack and the thread's descriptor, in one mapping with both.
 * Once somebody else has mapped something into the hole, it stays. */
static bool
by_hole(char *stack)
{
	char *const hole = stack + 2 * STACK;
	const size_t size = WHOLE - 3 * STACK;
	bool ours = true;

	while (!atomic_load(&victim_over)) {
		if (!go_there(stack, HALF_NS))
			return false;
		if (ours)
			munmap(hole, size);
		if (!go_there(stack, HALF_NS))
			return false;
		ours = ours && mmap(hole, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS |
				    MAP_FIXED_NOREPLACE, -1, 0) == hole;
	}
	return true;
}

/* What is mapped right below the first thread's becomes one with it. */
static char *
below_descriptor(void)
{
	const uintptr_t tp = (uintptr_t)__builtin_thread_pointer();
	uintptr_t start, end, below;
	char *stack;

	mapping_of(tp, &start, &end);
	stack = map_at(start - WHOLE, WHOLE);
	mapping_of(tp, &below, &end);
	if (below > (uintptr_t)stack) {
		fprintf(stderr, "mappings stay apart\n");
		exit(99);
	}
	return stack;
}

static void *
work(void *arg)
{
	return (void *)(uintptr_t)by_hole(arg);
}

/* A thread whose stack has no guard. */
static pthread_t
unguarded(void)
{
	char *stack = mmap(NULL, 2 * WHOLE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (stack == MAP_FAILED ||
	    pthread_attr_setstack(&attr, stack + WHOLE, WHOLE) != 0 ||
	    pthread_create(&thread, &attr, work, stack) != 0)
		exit(99);
	return thread;
}

static sigjmp_buf before;

/* Its caller is a signal. */
static void
overflowed(int signal)
{
	const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID) +
		HALF_NS / 8;

	(void)signal;
	while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	siglongjmp(before, 1);
}

/* (sp, fp): as one would fall off a stack's end that has no unwind data. */
void fall(void *sp, void *fp);
__asm__(
"	.globl fall\n"
"	.type fall, @function\n"
"fall:\n"
"	movq	%rdi, %rsp\n"
"	movq	%rsi, %rbp\n"
"	pushq	%rax\n"
"	hlt\n"
"	.size fall, . - fall\n"
);

/* The main stack does not grow so far; below a thread's is its guard. */
static char *
below_stack(bool is_main)
{
	enum { MARGIN = 1 << 20, USUAL = 8 << 20 };
	uintptr_t start, end;
	struct rlimit most;

	mapping_of((uintptr_t)&start, &start, &end);
	if (!is_main)
		return (char *)start - PAGE / 2;
	if (getrlimit(RLIMIT_STACK, &most) < 0 || most.rlim_cur > 1 << 30)
		most.rlim_cur = USUAL;
	return (char *)end - most.rlim_cur - MARGIN;
}

static void *
overflow(void *arg)
{
	const stack_t stack = { .ss_sp = malloc(STACK), .ss_size = STACK };
	const struct sigaction action = { .sa_handler = overflowed,
					  .sa_flags = SA_ONSTACK };

	char *const sp = below_stack(arg != NULL);

	if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0 ||
	    sigaction(SIGSEGV, &action, NULL) < 0)
		exit(99);
	while (!atomic_load(&victim_over)) {
		if (sigsetjmp(before, 1) == 0)
			fall(sp, sp + 8 * sizeof sp);
		atomic_fetch_add(&rounds, 1);
	}
	return (void *)1;
}

static void *
overflow_in_thread(void)
{
	pthread_t thread;
	void *ok;

	if (pthread_create(&thread, NULL, overflow, NULL) != 0)
		exit(99);
	pthread_join(thread, &ok);
	return ok;
}

static void *
serve(void *arg)
{
	(void)arg;
	victim_ready();
	victim_serve(NULL);
	return NULL;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *stack = NULL;
	pthread_t server;
	void *ok;

	victim_init();
	if (strcmp(how, "hole") == 0)
		stack = below_descriptor();
	if (pthread_create(&server, NULL, serve, NULL) != 0)
		return 99;
	if (strcmp(how, "gap") == 0)
		ok = (void *)(uintptr_t)in_gap();
	else if (strcmp(how, "main-overflows") == 0)
		ok = overflow(before);
	else if (strcmp(how, "thread-overflows") == 0)
		ok = overflow_in_thread();
	else if (stack)
		ok = (void *)(uintptr_t)by_hole(stack);
	else
		pthread_join(unguarded(), &ok);
	pthread_join(server, NULL);
	victim_say("rounds", atomic_load(&rounds));
	return victim_end(ok);
}
