/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stumbler [own] [blocked] [confined]: functions that do not come back as they
 * should, to be called on a thread of their own while the program computes.
 * "own": it handles faults itself (and counts them: none is to be its).
 * "blocked": every thread blocks all signals. "confined": a seccomp filter
 * ends it for one system call that it never makes.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "burn.h"
#include "victim.h"

enum { UNIT = 1000, THREADS = 2, STACK = 64 << 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf way_out;
static volatile long faults, handled, answers, jumped;
static ucontext_t back;
static volatile int zero;

/* ---- functions to be called ---------------------------------------------- */

int
add(int a, int b)
{
	answers++;
	return a + b;
}

VICTIM_OWN int
crash(int *p)
{
	*p = 1;
	return 0;
}

VICTIM_OWN long
length(const char *s)
{
	return (long)strlen(s) + 1;
}

void
give_up(void)
{
	abort();
}

VICTIM_OWN int
divide(int n)
{
	return n / zero;
}

void
illegal(void)
{
	__builtin_trap();
}

/* Beyond the end of a file that is mapped. */
int
beyond(void)
{
	FILE *f = tmpfile();
	volatile char *at = f ? mmap(NULL, 4096, PROT_READ, MAP_SHARED,
				     fileno(f), 0) : MAP_FAILED;

	return at == MAP_FAILED ? -1 : *at;
}

int
raise_one(int signal)
{
	return raise(signal);
}

/* All of any stack. */
VICTIM_OWN int
deep(int n)
{
	volatile char room[4096];

	room[0] = (char)n;
	return zero ? 0 : deep(n + 1) + room[0];
}

static void
on_another_stack(void)
{
	crash((int *)8 + zero);
}

int
switch_stack(void)
{
	static char stack[STACK];
	ucontext_t there;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof stack;
	there.uc_link = &back;
	makecontext(&there, on_another_stack, 0);
	return swapcontext(&back, &there);
}

static void
crash_there(int signal)
{
	(void)signal;
	crash((int *)8 + zero);
}

/* In a handler, on the alternate stack. */
int
handle_badly(void)
{
	static char stack[STACK];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	sigset_t usr2;

	sigaltstack(&alternate, NULL);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
	return pthread_kill(pthread_self(), SIGUSR2);
}

void
jump_out(void)
{
	longjmp(way_out, 1);
}

int
jump_within(void)
{
	jmp_buf here;

	if (setjmp(here))
		return 7;
	longjmp(here, 1);
}

void
leave(void)
{
	pthread_exit(NULL);
}

/* It never returns. */
void
spin_on(void)
{
	for (;;)
		burn(1, UNIT);
}

int
rest(int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
	return ms;
}

/* It takes and gives memory, and never returns. */
void
allocate_on(void)
{
	for (;;) {
		void *p[16];

		for (int i = 0; i < 16; i++)
			p[i] = malloc(64 + (size_t)i * 512);
		for (int i = 0; i < 16; i++)
			free(p[i]);
	}
}

/* libc finds out while it holds the lock of its heap, and the end of the thread
 * wants that, too. */
VICTIM_OWN void
free_twice(void)
{
	void *volatile p = malloc(3000);
	void *volatile q = malloc(3000);

	free(p);
	free(p);
	free(q);
}

static void
crash_at_end(void *arg)
{
	crash(arg);
}

/* What is to be done when its thread ends faults. */
int
end_badly(void)
{
	pthread_key_t key;

	return pthread_key_create(&key, crash_at_end) == 0 &&
		pthread_setspecific(key, (void *)8) == 0;
}

static void *
answer(void *arg)
{
	return arg;
}

long
by_another(long n)
{
	pthread_t th;
	void *result = NULL;

	if (pthread_create(&th, NULL, answer, (void *)n) != 0)
		return -1;
	pthread_join(th, &result);
	return (long)result;
}

int
by_child(int n)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(n);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

int
take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 5;
}

void
end_all(int status)
{
	exit(status);
}

/* Without libc's knowledge. */
void
end_bare(void)
{
	syscall(SYS_exit, 0);
}

/* Each thread must have heard of it before it returns. */
int
change_user(void)
{
	return setuid(getuid());
}

void
begin_another(void)
{
	execl("/bin/sleep", "sleep", "600", NULL);
}

/* ---- the program --------------------------------------------------------- */

static void
on_fault(int signal)
{
	(void)signal;
	faults++;
	signal = SIGKILL;
	raise(signal);		/* it would only fault again */
}

static void
on_signal(int signal)
{
	(void)signal;
	handled++;
}

/* Ends the process for getsid. */
static int
confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof code / sizeof *code, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 :
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void
handle_faults(void)
{
	static const int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	const struct sigaction act = { .sa_handler = on_fault };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		sigaction(all[i], &act, NULL);
}

static void *
compute(void *arg)
{
	uint64_t x = 1, i = 0;

	for (; !atomic_load(&victim_over); i++) {
		void *p = malloc(100 + i % 1000);

		pthread_mutex_lock(&lock);
		x = burn(x, UNIT);
		pthread_mutex_unlock(&lock);
		memset(p, 1, 100);
		free(p);
		usleep(100);
	}
	(void)arg;
	return (void *)(uintptr_t)(x == leap(1, i * UNIT));
}

static void
mark(void)
{
	victim_say("answers", (uint64_t)answers);
	victim_say("faults", (uint64_t)faults);
	victim_say("handled", (uint64_t)handled);
	victim_say("jumped", (uint64_t)jumped);
}

static bool
has(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return true;
	return false;
}

/* The frame that the jump would lead to. */
VICTIM_OWN static void
serve(void)
{
	if (setjmp(way_out))
		jumped++;
	victim_serve(mark);
}

int
main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = on_signal,
				       .sa_flags = SA_RESTART };
	const struct sigaction bad = { .sa_handler = crash_there,
				       .sa_flags = SA_ONSTACK };
	pthread_t threads[THREADS];
	sigset_t all;
	bool ok = true;

	victim_init();
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &bad, NULL);
	if (has(argc, argv, "own"))
		handle_faults();
	sigfillset(&all);
	if (has(argc, argv, "blocked"))
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (has(argc, argv, "confined") && confine() < 0)
		return 99;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, compute, NULL);
	victim_ready();
	serve();
	atomic_store(&victim_over, true);
	for (int i = 0; i < THREADS; i++) {
		void *right = NULL;

		pthread_join(threads[i], &right);
		ok = ok && right;
	}
	mark();
	return victim_end(ok && !faults && !jumped);
}
