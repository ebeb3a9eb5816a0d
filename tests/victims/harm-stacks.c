/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * harm-stacks: a program whose handlers run on alternate stacks, each right
 * above a page that nobody may touch. How much the kernel puts there is found
 * first, on a large one: a handler has so much room, in bytes, as is wanted.
 * At each mark some have little, as on a stack of MINSIGSTKSZ, and some have
 * enough; and a coroutine, on a stack from the heap, has calls as well. With an
 * argument all have little, there is no coroutine, and a filter ends the
 * program should it ask for an alternate stack, or which one it has.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "victim.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { PAGE = 4096, LARGE = 128 << 10, TIMES = 100, COROUTINE = 32 << 10,
       CALLS = 4, LITTLE = 700 };

static char *guarded;		/* a page of nobody's, then LARGE bytes */
static uintptr_t top;		/* of the stack by now */
static size_t taken;		/* of it, when a handler begins */
static volatile bool little;
static bool confined;
static int null, zero;
static uint64_t wrong, little_calls;
static ucontext_t outside, inside;

static void
on_measure(int signal)
{
	(void)signal;
	taken = top - (uintptr_t)__builtin_frame_address(0);
}

static void
use(void *p)
{
	*(volatile char *)p = 1;
	free(p);
}

NOINLINE static void
little_alloc(void)
{
	use(malloc(40));
}

NOINLINE static void
enough_alloc(void)
{
	use(malloc(40));
}

static void
on_signal(int signal)
{
	char c = 1;

	(void)signal;
	wrong += write(null, "", 1) != 1;
	wrong += read(zero, &c, 1) != 1 || c;
	if (little)
		little_alloc();
	else
		enough_alloc();
}

static void
raise_on(size_t bytes, void (*handler)(int))
{
	const stack_t s = { .ss_sp = guarded + PAGE, .ss_size = bytes };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_ONSTACK };

	if ((!confined && sigaltstack(&s, NULL) < 0) ||
	    sigaction(SIGUSR1, &action, NULL) < 0)
		exit(99);
	top = (uintptr_t)s.ss_sp + bytes;
	raise(SIGUSR1);
}

static void
confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof code[0], code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		exit(77);
	confined = true;
}

static void
handle(size_t room, bool is_little)
{
	little = is_little;
	for (int i = 0; i < TIMES; i++)
		raise_on((taken + room + 15) / 16 * 16, on_signal);
	little_calls += is_little ? TIMES * CALLS : 0;
}

NOINLINE static void
coroutine_alloc(void)
{
	use(malloc(40));
}

static void
work(void)
{
	for (;;) {
		coroutine_alloc();
		swapcontext(&inside, &outside);
	}
}

static void
have_coroutine(void)
{
	static char *stack;

	if (!stack) {
		stack = malloc(COROUTINE);
		if (!stack || getcontext(&inside) < 0)
			exit(99);
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = COROUTINE;
		makecontext(&inside, work, 0);
	}
	for (int i = 0; i < TIMES; i++)
		swapcontext(&outside, &inside);
}

static void
mark(void)
{
	handle(LITTLE, true);
	if (!confined) {
		handle(1500, true);
		handle(2900, false);
		handle(64 << 10, false);
		have_coroutine();
	}
	victim_say("right", wrong == 0);
	victim_say("little", little_calls);
}

int
main(int argc, char **argv)
{
	(void)argv;
	victim_init();
	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	guarded = mmap(NULL, PAGE + LARGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (null < 0 || zero < 0 || guarded == MAP_FAILED ||
	    mprotect(guarded, PAGE, PROT_NONE) < 0)
		return 99;
	raise_on(LARGE, on_measure);
	if (argc > 1) {
		handle(LITTLE, true);
		little_calls = 0;
		confine();
	}
	victim_ready();
	victim_serve(mark);
	return victim_end(wrong == 0);
}
