/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S1, S2, S4, S5
 *
 * A child is stepped instruction by instruction: prologues, epilogues, PLT
 * entries and their lazy resolution, a libc callback, the vdso, a signal
 * handler on the normal and on an alternate stack, a realigned frame. At each
 * instruction the table and the second engine must see the same stack, and it
 * must reach the outermost frame.
 */
#include <alloca.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "unwind-help.h"

enum { STEPS_MAX = 60000, COPY_MAX = 1 << 16 };

/* Of a sanitizer, whose wrappers make millions of steps out of thousands. */
extern void __asan_init(void) __attribute__((weak));

static volatile sig_atomic_t handled;
static volatile int sink;

static void
handler(int sig)
{
	handled += sig;
}

static int
compare(const void *a, const void *b)
{
	sink++;
	return *(const int *)a - *(const int *)b;
}

/* A frame that the compiler must realign, of a size it cannot know. */
__attribute__((noinline)) static int
realigned(int n)
{
	volatile char vector[64] __attribute__((aligned(64)));
	volatile char *more = alloca((size_t)n);

	more[0] = vector[n & 63] = (char)n;
	sink += strnlen((const char *)more, 1);
	return vector[n & 63] + more[0];
}

__attribute__((noinline)) static int
recurse(int n)
{
	if (n == 0)
		return realigned(sink & 31 ? 40 : 200);
	return recurse(n - 1) + n;
}

static void
send_signal(int flags, void (*how)(int))
{
	struct sigaction action = { .sa_handler = how, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

__attribute__((noinline)) static void
victim(void)
{
	static char alternate[65536];
	const stack_t stack = { .ss_sp = alternate,
				.ss_size = sizeof alternate };
	int values[] = { 4, 2, 9, 1, 7 };
	char text[32];
	time_t now;

	qsort(values, ARRAY_LEN(values), sizeof values[0], compare);
	sink += recurse(5);
	/* In the vdso. clock_gettime begins again there whenever a tick came,
	 * and stepped on a busy machine it does not come to its end. */
	now = time(NULL);
	snprintf(text, sizeof text, "%d %ld", sink, (long)now);
	sink += atoi(text);
	send_signal(0, handler);
	sigaltstack(&stack, NULL);
	send_signal(SA_ONSTACK, handler);
	/* a function of libc that nobody has called yet: resolved lazily */
	sink += (int)strtoul(text, NULL, 10) + (int)labs(sink);
}

static void
child(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	victim();
	_exit(handled == 2 * SIGUSR1 ? 0 : 9);
}

struct stats {
	unsigned long steps, frames, full, failed, bad, incomplete;
};

static void
compare_here(struct help_space *h, pid_t pid, uint64_t stack_end,
	     struct unwind_trace *t, struct unwind_trace *f, struct stats *st)
{
	static unsigned char copy[COPY_MAX];
	struct user_regs_struct user;
	struct iovec io = { &user, sizeof user };
	struct arch_regs regs;

	if (ptrace(PTRACE_GETREGSET, pid, 1 /* NT_PRSTATUS */, &io) < 0)
		return;
	arch.from_ptrace(&user, &regs);

	struct step_stack stack = {
		.data = copy, .base = regs.reg[arch.reg_sp] & -8ull,
	};

	stack.size = stack_end - stack.base;
	if (stack.base >= stack_end || stack.size > sizeof copy)
		stack.size = 1024;	/* the alternate stack */
	if (help_read((void *)(intptr_t)pid, stack.base, copy,
		      stack.size) < 0)
		return;
	unwind_walk(h->space, &regs, &stack, help_read,
		    (void *)(intptr_t)pid, 256, t);
	unwind_walk_full(h->space, &regs, &stack, help_read,
			 (void *)(intptr_t)pid, 256, f);
	st->steps++;
	st->frames += t->len;
	st->full += t->full_steps;
	st->failed += t->failed_steps;
	st->incomplete += t->end != UNWIND_COMPLETE;
	if (help_same(t, f) && t->end == UNWIND_COMPLETE)
		return;
	if (st->bad++ < 5) {
		help_print("table", t);
		help_print("full ", f);
	}
}

int
main(void)
{
	struct help_space h;
	struct unwind_trace t = { 0 }, f = { 0 };
	struct stats st = { 0 };
	uint64_t stack_end = 0;
	int status = 0, sig;
	pid_t pid;

	if (__asan_init) {
		puts("too many steps under a sanitizer");
		return 77;
	}
	pid = fork();
	if (pid == 0)
		child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return 99;
	}
	if (!WIFSTOPPED(status)) {
		puts("this place allows no ptrace");
		return 77;
	}
	help_space_open(&h, pid, (uintptr_t)&h, &stack_end);
	for (long i = 0; i < STEPS_MAX && WIFSTOPPED(status); i++) {
		compare_here(&h, pid, stack_end, &t, &f, &st);
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP || sig == SIGSTOP)
			sig = 0;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, sig) < 0 ||
		    waitpid(pid, &status, 0) != pid)
			break;
	}
	printf("%lu steps, %lu frames, %lu full steps, %lu failed, "
	       "%lu incomplete, %lu stacks differ\n", st.steps, st.frames,
	       st.full, st.failed, st.incomplete, st.bad);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	      "the child did not finish: status %#x", status);
	CHECK(st.steps > 2000, "only %lu steps", st.steps);
	CHECK(st.bad == 0, "%lu stacks differ or are incomplete", st.bad);
	unwind_trace_fini(&t);
	unwind_trace_fini(&f);
	help_space_close(&h);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return failures ? 1 : 0;
}
