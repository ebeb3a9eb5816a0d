/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compute: programs whose registers and stacks tell at once when somebody
 * was careless with them: the red zone of a leaf, vector sums, flags, jumps
 * out of handlers, faults that the program itself expects, a section that
 * the kernel must abort (rseq).
 */
#include "victim.h"

#include <fenv.h>
#include <setjmp.h>
#include <sys/syscall.h>

static void *
spin(void *arg)
{
	while (!over()) {
		uint64_t x = 1;
		int i;

		for (i = 0; i < 100000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		if (x != 0x6cfc9548ff6cbfa1u)
			WRONG(x);
		round_done();
	}
	return arg;
}

#ifdef __x86_64__
/* A leaf that keeps everything below its stack pointer. */
uint64_t red_zone(uint64_t rounds);
__asm__(".text\n.globl red_zone\n.type red_zone,@function\n"
	"red_zone:\n"
	".cfi_startproc\n"
	"	xor	%eax, %eax\n"
	"	mov	$0x1111, %rcx\n"
	"1:	mov	%rcx, -8(%rsp)\n"
	"	mov	%rdi, -64(%rsp)\n"
	"	mov	%rcx, -128(%rsp)\n"
	"	pause\n"
	"	cmp	%rcx, -8(%rsp)\n"
	"	jne	2f\n"
	"	cmp	%rdi, -64(%rsp)\n"
	"	jne	2f\n"
	"	cmp	%rcx, -128(%rsp)\n"
	"	jne	2f\n"
	"	add	$0x9e37, %rcx\n"
	"	dec	%rdi\n"
	"	jnz	1b\n"
	"	ret\n"
	"2:	inc	%rax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size red_zone, .-red_zone\n");

static void *
use_red_zone(void *arg)
{
	while (!over()) {
		if (red_zone(20000))
			WRONG(1);
		round_done();
	}
	return arg;
}

/* Strings backwards for a while: code of libc relies on the other way. */
static bool
backwards(void)
{
	uint64_t flags;

	__asm__ volatile(
		"	std\n"
		"	movl	$20000, %%ecx\n"
		"1:	pause\n"
		"	decl	%%ecx\n"
		"	jnz	1b\n"
		"	leaq	-128(%%rsp), %%rsp\n"
		"	pushfq\n"
		"	popq	%0\n"
		"	leaq	128(%%rsp), %%rsp\n"
		"	cld\n"
		: "=r"(flags) : : "rcx", "cc", "memory");
	return flags & 0x400;
}

static void *
use_backwards(void *arg)
{
	while (!over()) {
		if (!backwards())
			WRONG(0);
		round_done();
	}
	return arg;
}

/* Steps through itself, as a debugger in the program does. */
enum { STEPS = 19 };	/* 16 nops, and three that end it */

static volatile int steps;

static void
on_step(int signo)
{
	(void)signo;
	steps++;
}

static void *
use_steps(void *arg)
{
	struct sigaction sa = { .sa_handler = on_step };

	sigaction(SIGTRAP, &sa, NULL);
	while (!over()) {
		steps = 0;
		__asm__ volatile(
			"	leaq	-128(%%rsp), %%rsp\n"
			"	pushfq\n"
			"	orl	$0x100, (%%rsp)\n"
			"	popfq\n"
			"	.fill	16, 1, 0x90\n"
			"	pushfq\n"
			"	andl	$~0x100, (%%rsp)\n"
			"	popfq\n"
			"	leaq	128(%%rsp), %%rsp\n"
			: : : "cc", "memory");
		if (steps != STEPS)
			WRONG(steps);
		round_done();
	}
	return arg;
}

typedef double four __attribute__((vector_size(32)));

__attribute__((target("avx"))) static double
avx_sum(void)
{
	four a = { 1, 2, 3, 4 }, b = { 0.5, 0.25, 0.125, 1 }, sum = { 0 };
	int i;

	for (i = 0; i < 20000; i++) {
		sum += a * b;
		a += b;
		__asm__ volatile("" : "+x"(a), "+x"(b), "+x"(sum));
	}
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static void *
avx(void *arg)
{
	double first = 0;

	if (!__builtin_cpu_supports("avx")) {
		fprintf(stderr, "no AVX here\n");
		exit(99);
	}
	while (!over()) {
		const double sum = avx_sum();

		if (first == 0)
			first = sum;
		if (sum != first)
			WRONG(sum);
		round_done();
	}
	return arg;
}

/* The rounding mode and the x87 control word are the thread's own. */
static void *
rounding(void *arg)
{
	fesetround(FE_UPWARD);
	while (!over()) {
		volatile double three = 3, up = 1 / three;

		if (up * 3 <= 1 || fegetround() != FE_UPWARD)
			WRONG(fegetround());
		round_done();
	}
	return arg;
}
#else
static void *
use_red_zone(void *arg)
{
	return spin(arg);
}
#define avx use_red_zone
#define use_backwards use_red_zone
#define use_steps use_red_zone
#define rounding use_red_zone
#endif

/* ---- jumps --------------------------------------------------------------- */

static __thread sigjmp_buf out;
static __thread volatile int depth;

static void
on_fault(int signo)
{
	(void)signo;
	siglongjmp(out, 1);
}

static void
expect_signal(int signo)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(signo, &sa, NULL);
}

static void *
faults(void *arg)
{
	char *no_page = mmap(NULL, 4096, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect_signal(SIGSEGV);
	while (!over()) {
		if (sigsetjmp(out, 1) == 0) {
			*(volatile char *)no_page = 1;
			WRONG(0);
		}
		round_done();
	}
	return arg;
}

static void *
aborts(void *arg)
{
	expect_signal(SIGABRT);
	while (!over()) {
		if (sigsetjmp(out, 1) == 0) {
			raise(SIGABRT);
			WRONG(0);
		}
		round_done();
	}
	return arg;
}

__attribute__((noinline)) static void
descend(int n)
{
	volatile char pad[200];

	pad[0] = (char)n;
	depth = n;
	if (n == 0)
		siglongjmp(out, 7);
	descend(n - 1);
	pad[1] = pad[0];
}

static void *
jumps(void *arg)
{
	while (!over()) {
		const int r = sigsetjmp(out, 0);

		if (r == 0)
			descend(20);
		if (r != 7 || depth != 0)
			WRONG(r);
		round_done();
	}
	return arg;
}

/* A trap of its own: a debugger in the program. */
static volatile int traps;

static void
on_trap(int signo)
{
	(void)signo;
	traps++;
}

static void *
own_traps(void *arg)
{
	struct sigaction sa = { .sa_handler = on_trap };

	sigaction(SIGTRAP, &sa, NULL);
	while (!over()) {
		const int before = traps;

#ifdef __x86_64__
		__asm__ volatile("int3");
#else
		raise(SIGTRAP);
#endif
		if (traps != before + 1)
			WRONG(traps - before);
		round_done();
	}
	return arg;
}

/* All wait for ever but one that naps: who waits once more was stopped. */
static int never[2];

static void *
nap_for_all(void)
{
	prctl(PR_SET_NAME, "napper");
	while (!over()) {
		const struct timespec nap = { 0, 20000000 };

		if (nanosleep(&nap, NULL) < 0)
			EINTR_SEEN();
		round_done();
	}
	close(never[1]);	/* the end of file is the end */
	return NULL;
}

static void *
idle(void *arg)
{
	char c;
	ssize_t r;

	if ((uintptr_t)arg == 0)
		return nap_for_all();
	r = read(never[0], &c, 1);
	if (r < 0 && errno == EINTR)
		EINTR_SEEN();
	else if (r != 0 || !over())
		WRONG(r);
	return arg;
}

static const struct trait traits[] = {
	{ "spin", spin, 0 },
	{ "red-zone", use_red_zone, 0 },
	{ "avx", avx, 0 },
	{ "backwards", use_backwards, 0 },
	{ "stepped", use_steps, 0 },
	{ "rounding", rounding, 0 },
	{ "faults", faults, 0 },
	{ "aborts", aborts, 0 },
	{ "jumps", jumps, 0 },
	{ "traps", own_traps, 0 },
	{ "idle", idle, 0 },
	{ "idle-small-stack", idle, 16384 },
};

int
main(int argc, char **argv)
{
	if (pipe(never) < 0)
		return 99;
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
