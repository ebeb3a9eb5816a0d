/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * odd: restartable sequences, coroutines, cancelled threads, locked memory,
 * and more calls that wait: timerfd, futex, accept, a file's lock, a child.
 */
#include "victim.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { NAP_MS = 15, NAP_NS = NAP_MS * 1000000 };

static const struct timespec nap = { 0, NAP_NS };

/* ---- restartable sequences ----------------------------------------------- */

#if defined(__x86_64__) && defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>

enum { CPUS = 1024 };

static struct { long value; char pad[120]; } counter[CPUS];
static long added;
static int at_work;

/*
 * counter[cpu]++ by a plain load and store, with a while between them: right
 * only if whoever was taken off the processor, or stopped, begins again.
 */
static bool
increment(struct rseq *rs, unsigned cpu, long *value)
{
	int ok;

	__asm__ volatile(
		".pushsection __rseq_sections, \"aw\"\n"
		".balign 32\n"
		"3:	.long 0, 0\n"
		"	.quad 1f, 2f - 1f, 4f\n"
		".popsection\n"
		"	leaq	3b(%%rip), %%rax\n"
		"	movq	%%rax, 8(%[rs])\n"
		"1:	cmpl	%[cpu], 4(%[rs])\n"
		"	jne	4f\n"
		"	movq	(%[value]), %%rcx\n"
		"	movl	$300, %%edx\n"
		"5:	pause\n"
		"	decl	%%edx\n"
		"	jnz	5b\n"
		"	incq	%%rcx\n"
		"	movq	%%rcx, (%[value])\n"
		"2:	movl	$1, %[ok]\n"
		"	jmp	6f\n"
		"	.byte	0x0f, 0xb9, 0x3d\n"
		"	.long	0x53053053\n"
		"4:	movl	$0, %[ok]\n"
		"6:\n"
		: [ok] "=&r"(ok)
		: [rs] "r"(rs), [cpu] "r"(cpu), [value] "r"(value)
		: "rax", "rcx", "rdx", "memory", "cc");
	return ok;
}

/* By the last of the threads. */
static void
compare_counters(void)
{
	long sum = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		sum += counter[i].value;
	if (sum != added)
		WRONG(added - sum);
}

static void *
sequences(void *arg)
{
	struct rseq *rs = (void *)((char *)__builtin_thread_pointer() +
				   __rseq_offset);

	if (__rseq_size == 0) {
		fprintf(stderr, "no rseq here\n");
		exit(99);
	}
	__atomic_add_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
	while (!over()) {
		const unsigned cpu = *(volatile uint32_t *)&rs->cpu_id_start;

		if (cpu < CPUS && increment(rs, cpu, &counter[cpu].value))
			__atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
		round_done();
	}
	if (__atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST) == 0)
		compare_counters();
	return arg;
}
#else
static void *
sequences(void *arg)
{
	fprintf(stderr, "no rseq here\n");
	exit(99);
	return arg;
}
#endif

/* ---- stacks of its own --------------------------------------------------- */

enum { ROUTINES = 8, ROUTINE_STACK = 65536 };

struct routine {
	ucontext_t here, back;
	unsigned long turns;
	bool done;
};

static void
be_routine(unsigned low, unsigned high)
{
	struct routine *r = (void *)((uintptr_t)high << 32 | low);

	while (!r->done) {
		volatile char pad[500];

		memset((char *)pad, (int)r->turns, sizeof pad);
		if (swapcontext(&r->here, &r->back) < 0)
			WRONG(errno);
		if (pad[499] != (char)r->turns)
			WRONG(r->turns);
		r->turns++;
	}
}

static void *
coroutines(void *arg)
{
	struct routine *r = calloc(ROUTINES, sizeof *r);
	volatile unsigned long turns = 0;
	int i;

	for (i = 0; i < ROUTINES; i++) {
		getcontext(&r[i].here);
		r[i].here.uc_stack.ss_sp = malloc(ROUTINE_STACK);
		r[i].here.uc_stack.ss_size = ROUTINE_STACK;
		r[i].here.uc_link = &r[i].back;
		makecontext(&r[i].here, (void (*)(void))be_routine, 2,
			    (unsigned)(uintptr_t)&r[i],
			    (unsigned)((uintptr_t)&r[i] >> 32));
	}
	while (!over()) {
		for (i = 0; i < ROUTINES; i++) {
			if (swapcontext(&r[i].back, &r[i].here) < 0)
				WRONG(errno);
			if (r[i].turns != turns)
				WRONG(r[i].turns - turns);
			r[i].turns = turns;
		}
		turns++;
		round_done();
	}
	for (i = 0; i < ROUTINES; i++) {
		r[i].done = true;
		swapcontext(&r[i].back, &r[i].here);
		if (r[i].turns != turns)
			WRONG(r[i].turns);
		free(r[i].here.uc_stack.ss_sp);
	}
	free(r);
	return arg;
}

/* ---- threads that are cancelled ------------------------------------------ */

static void *
sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *
cancels(void *arg)
{
	const struct timespec moment = { 0, 500000 };

	while (!over()) {
		void *back = NULL;
		pthread_t th;

		if (pthread_create(&th, NULL, sleep_for_ever, NULL) != 0)
			WRONG(0);
		nanosleep(&moment, NULL);
		if (pthread_cancel(th) != 0 || pthread_join(th, &back) != 0 ||
		    back != PTHREAD_CANCELED)
			WRONG(1);
		round_done();
	}
	return arg;
}

/* ---- memory that may not be paged ---------------------------------------- */

static void *
locked(void *arg)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0) {
		perror("mlockall");
		exit(99);
	}
	while (!over()) {
		char *block = malloc(10000);

		memset(block, 3, 10000);
		if (block[9999] != 3)
			WRONG(block[9999]);
		free(block);
		round_done();
	}
	return arg;
}

/* ---- calls that wait ----------------------------------------------------- */

static void *
use_timerfd(void *arg)
{
	const struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	const uint64_t since = now_ms();
	uint64_t n, sum = 0, elapsed;

	timerfd_settime(fd, 0, &each, NULL);
	while (!over()) {
		const ssize_t r = read(fd, &n, sizeof n);

		if (r < 0 && errno == EINTR)
			EINTR_SEEN();
		else if (r != sizeof n)
			WRONG(r);
		else
			sum += n;
		round_done();
	}
	elapsed = now_ms() - since;
	if (sum > elapsed + 5 || sum + 50 < elapsed)
		WRONG(sum);
	close(fd);
	return arg;
}

static void *
use_futex(void *arg)
{
	uint32_t word = 1;

	while (!over()) {
		const uint64_t since = now_ms();
		const long r = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE,
				       1, &nap, NULL, 0);

		if (r < 0 && errno == EINTR)
			EINTR_SEEN();
		else if (r != -1 || errno != ETIMEDOUT ||
			 now_ms() - since + 1 < NAP_MS)
			WRONG(r);
		round_done();
	}
	return arg;
}

static void *
use_accept(void *arg)
{
	const struct timeval tv = { 0, NAP_NS / 1000 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* a name without a file */
	snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "torture-%d-%ld",
		 (int)getpid(), (long)(uintptr_t)arg);
	if (bind(fd, (void *)&at, sizeof at) < 0 || listen(fd, 1) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) < 0)
		exit(99);
	while (!over()) {
		const uint64_t since = now_ms();
		const int r = accept(fd, NULL, NULL);

		if (r < 0 && errno == EINTR)
			EINTR_SEEN();
		else if (r != -1 || errno != EAGAIN ||
			 now_ms() - since + 1 < NAP_MS)
			WRONG(errno);
		round_done();
	}
	close(fd);
	return arg;
}

/* A child sleeps and ends with a number; nothing else ends the wait. */
static void *
use_wait(void *arg)
{
	int status;

	while (!over()) {
		const pid_t child = fork();
		pid_t r;

		if (child == 0)
			_exit(nanosleep(&nap, NULL) == 0 ? 9 : 1);
		while ((r = waitpid(child, &status, 0)) < 0 && errno == EINTR)
			EINTR_SEEN();
		if (r != child || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 9)
			WRONG(status);
		round_done();
	}
	return arg;
}

static volatile unsigned long alarms;

static void
on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

/* It ends only by a handler, and one has run each time. */
static void *
use_sigsuspend(void *arg)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	sigset_t none, block;

	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	sigaction(SIGALRM, &sa, NULL);
	sigprocmask(SIG_BLOCK, &block, NULL);
	while (!over()) {
		const struct itimerspec soon = { { 0, 0 }, { 0, NAP_NS } };
		struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
				       .sigev_signo = SIGALRM };
		const unsigned long before = alarms;
		timer_t timer;

		timer_create(CLOCK_MONOTONIC, &ev, &timer);
		timer_settime(timer, 0, &soon, NULL);
		sigsuspend(&none);
		if (alarms != before + 1)
			WRONG(alarms - before);
		timer_delete(timer);
		round_done();
	}
	return arg;
}

static const struct trait traits[] = {
	{ "sequences", sequences, 0 },
	{ "coroutines", coroutines, 0 },
	{ "cancels", cancels, 0 },
	{ "locked", locked, 0 },
	{ "timerfd", use_timerfd, 0 },
	{ "futex", use_futex, 0 },
	{ "accept", use_accept, 0 },
	{ "wait", use_wait, 0 },
	{ "sigsuspend", use_sigsuspend, 0 },
};

int
main(int argc, char **argv)
{
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
