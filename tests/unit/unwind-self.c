/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S1, S2, S5, S8
 *
 * This program looks at its own stack: registers by getcontext, a copy of the
 * stack, both engines, and glibc's backtrace() as a third opinion. From plain
 * calls, a libc callback, signal handlers on both stacks, a realigned frame,
 * a recursion 10,000 deep, a second thread; then with a window cut short,
 * with a depth limit, and through text that has no unwind data at all, also
 * where a signal has interrupted that.
 */
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "unwind-help.h"

enum { FRAMES_MAX = 20000, DEEP = 10000 };

/* volatile: gcc believes that raise() leaves our variables alone */
static volatile int sink;
static const char *volatile where;
static volatile size_t expected_least;
static volatile uint64_t window_limit;	/* bytes given; 0: all */
static volatile unwind_memory reader;
static void *volatile reader_arg;
static volatile enum unwind_end expected_end;
static int captures;

static void
registers_of(const ucontext_t *uc, struct arch_regs *regs)
{
	static const int order[] = {	/* DWARF's order in ucontext's names */
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11,
		REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
	};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		regs->reg[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
}

/*
 * Frame 0 is capture() itself, at another pc. Compared from the outermost
 * frame on: a sanitizer's backtrace() shows itself as one frame more.
 */
static void
compare_backtrace(struct help_space *h, const struct unwind_trace *t,
		  void **bt, size_t n)
{
	const size_t extra = n - t->len;

	CHECK(extra <= 1, "%s: %zu frames, backtrace has %zu", where, t->len,
	      n);
	for (size_t i = 1; extra <= 1 && i < t->len; i++) {
		const uint64_t pc = (uintptr_t)bt[i + extra];

		if (t->pcs[i] == pc ||
		    t->pcs[i] == unwind_call_address(h->space, pc))
			continue;
		CHECK(0, "%s: frame %zu is %llx, backtrace says %llx", where, i,
		      (unsigned long long)t->pcs[i], (unsigned long long)pc);
		return;
	}
}

__attribute__((noinline)) static void
capture(void)
{
	static void *bt[FRAMES_MAX];
	static struct help_space h;
	struct unwind_trace t = { 0 }, f = { 0 };
	struct arch_regs regs;
	struct step_stack stack = { 0 };
	uint64_t end = 0;
	ucontext_t uc;

	getcontext(&uc);
	registers_of(&uc, &regs);
	help_space_open(&h, getpid(), regs.reg[arch.reg_sp], &end);
	stack.base = regs.reg[arch.reg_sp];
	stack.size = end - stack.base;
	if (window_limit && stack.size > window_limit)
		stack.size = window_limit;

	unsigned char *copy = xmalloc(stack.size);

	/* not memcpy: a sanitizer would call it an overflow */
	CHECK(help_read((void *)(intptr_t)getpid(), stack.base, copy,
			stack.size) == 0, "%s: no copy of the stack", where);
	stack.data = copy;
	unwind_walk(h.space, &regs, &stack, reader, reader_arg, FRAMES_MAX, &t);
	unwind_walk_full(h.space, &regs, &stack, reader, reader_arg,
			 FRAMES_MAX, &f);
	CHECK(help_same(&t, &f), "%s: the engines differ", where);
	if (!help_same(&t, &f)) {
		help_print("table", &t);
		help_print("full ", &f);
	}
	CHECK(t.end == expected_end, "%s: end %d", where, (int)t.end);
	CHECK(t.len >= expected_least, "%s: %zu frames", where, t.len);
	CHECK(t.failed_steps == 0, "%s: %u failed", where, t.failed_steps);
	if (expected_end == UNWIND_COMPLETE)
		compare_backtrace(&h, &t, bt,
				  (size_t)backtrace(bt, FRAMES_MAX));
	printf("%s: %zu frames, %u by the second engine\n", where, t.len,
	       t.full_steps);
	captures++;
	free(copy);
	unwind_trace_fini(&t);
	unwind_trace_fini(&f);
	help_space_close(&h);
}

static void
look(const char *name, size_t least, enum unwind_end end)
{
	where = name;
	expected_least = least;
	expected_end = end;
	capture();
	sink++;
}

static void
on_signal(int sig)
{
	look(where, 4, expected_end);
	sink += sig;
}

/* What it interrupted is a second piece of the copy. */
static void
with_piece(int sig, siginfo_t *info, void *context)
{
	static struct help_space h;
	struct step_stack piece = { 0 };
	struct arch_regs regs;
	uint64_t end = 0;

	(void)info;
	registers_of(context, &regs);
	piece.base = regs.reg[arch.reg_sp];
	help_space_open(&h, getpid(), piece.base, &end);
	help_space_close(&h);
	piece.size = end - piece.base;

	unsigned char *copy = xmalloc(piece.size);

	CHECK(help_read(reader_arg, piece.base, copy, piece.size) == 0,
	      "no copy of the interrupted stack");
	piece.data = copy;
	reader = unwind_read_piece;
	reader_arg = &piece;
	on_signal(sig);
	reader = NULL;
	reader_arg = (void *)(intptr_t)getpid();
	free(copy);
}

static int
compare(const void *a, const void *b)
{
	if (!sink++)
		look("callback of qsort", 5, UNWIND_COMPLETE);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int
realigned(int n)
{
	volatile char vector[64] __attribute__((aligned(64)));
	volatile char *more = alloca((size_t)n);

	more[0] = vector[n & 63] = (char)n;
	look("realigned frame with alloca", 3, UNWIND_COMPLETE);
	return vector[n & 63] + more[0];
}

__attribute__((noinline)) static int
deep(int n, void (*then)(void))
{
	volatile int keep = n;

	if (n == 0)
		then();
	else
		sink += deep(n - 1, then);
	return keep;
}

static void
at_the_bottom(void)
{
	look("10,000 deep", DEEP, UNWIND_COMPLETE);
}

static void
cut_short(void)
{
	look("window of 4096 bytes", 10, UNWIND_TRUNCATED);
}

static void
cut_with_memory(void)
{
	look("window of 4096 bytes, then memory", 1000, UNWIND_COMPLETE);
}

static void *
thread(void *arg)
{
	look("second thread", 3, UNWIND_COMPLETE);
	return arg;
}

static void
signals(void)
{
	const stack_t stack = { .ss_sp = malloc(1 << 18), .ss_size = 1 << 18 };
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	where = "signal handler";
	expected_end = UNWIND_COMPLETE;
	raise(SIGUSR1);
	action.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	where = "handler on its own stack, then memory";
	reader = help_read;
	raise(SIGUSR1);
	where = "handler on its own stack, nothing else copied";
	reader = NULL;
	expected_end = UNWIND_TRUNCATED;
	raise(SIGUSR1);
	where = "handler on its own stack, both copied";
	expected_end = UNWIND_COMPLETE;
	action.sa_flags |= SA_SIGINFO;
	action.sa_sigaction = with_piece;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	free(stack.ss_sp);
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret: as a JIT would */
static const unsigned char jit_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
};

static void
below_jit(void)
{
	static struct help_space h;
	struct unwind_trace t = { 0 };
	struct arch_regs regs;
	uint64_t end = 0;
	ucontext_t uc;

	getcontext(&uc);
	registers_of(&uc, &regs);
	help_space_open(&h, getpid(), regs.reg[arch.reg_sp], &end);

	const uint64_t sp = regs.reg[arch.reg_sp];
	const struct step_stack stack = {
		.data = (const unsigned char *)(uintptr_t)sp, .base = sp,
		.size = end - sp,
	};

	unwind_walk(h.space, &regs, &stack, NULL, NULL, 100, &t);
	printf("generated code: %zu frames, end %d\n", t.len, (int)t.end);
	CHECK(t.end == UNWIND_COMPLETE && t.len >= 4,
	      "generated code: end %d after %zu frames", (int)t.end, t.len);
	unwind_walk(h.space, &regs, &stack, NULL, NULL, 3, &t);
	CHECK(t.end == UNWIND_TOO_DEEP && t.len == 3,
	      "limit of 3: end %d after %zu frames", (int)t.end, t.len);
	captures++;
	unwind_trace_fini(&t);
	help_space_close(&h);
}

/* int3 where the call was; the handler looks by both engines */
static const unsigned char interrupted_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xcc, 0x90, 0x5d, 0xc3,
};

static void
run_generated(const unsigned char *bytes, size_t n, void (*then)(void))
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return;
	memcpy(code, bytes, n);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0)
		((void (*)(void (*)(void)))(uintptr_t)code)(then);
	munmap(code, 4096);
}

static void
generated_code(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	run_generated(jit_code, sizeof jit_code, below_jit);
	sigaction(SIGTRAP, &action, NULL);
	where = "signal in generated code";
	expected_end = UNWIND_COMPLETE;
	run_generated(interrupted_code, sizeof interrupted_code, NULL);
}

int
main(void)
{
	int values[] = { 3, 1, 2 };
	void *warm[4];
	pthread_t id;

	reader_arg = (void *)(intptr_t)getpid();

	/* the first call loads libgcc: not in a signal handler */
	(void)backtrace(warm, ARRAY_LEN(warm));
	qsort(values, ARRAY_LEN(values), sizeof values[0], compare);
	look("plain calls", 3, UNWIND_COMPLETE);
	realigned(sink + 100);
	deep(DEEP, at_the_bottom);
	signals();
	if (pthread_create(&id, NULL, thread, NULL) != 0)
		return 99;
	pthread_join(id, NULL);
	window_limit = 4096;
	deep(1000, cut_short);
	reader = help_read;
	deep(1000, cut_with_memory);
	generated_code();
	CHECK(captures == 13, "%d captures", captures);
	return failures ? 1 : 0;
}
