/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signalled MODE: lives by signals in ways that a tick of ours could disturb.
 *
 *	jump	its handler of an alarm, 5000 times a second, leaves by
 *		siglongjmp whatever it interrupts
 *	wait	a thread blocks all signals and takes all that come, by
 *		sigtimedwait and a signalfd, while it burns CPU; another hears
 *	poll	threads let signals in only while they wait in ppoll, pselect
 *		or epoll_pwait, which must not end for them
 *	deaf	all threads block all signals
 *	full	blocks a signal with a value and sends itself as many as the
 *		queue holds; they must all be there at the end, in order
 *
 * foreign counts signals that it did not send.
 */
#include <pthread.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "burn.h"
#include "victim.h"

#if __GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 35)
#define HAVE_PWAIT2
#endif

enum { MOST = 64, KERNEL_SIGSET = 8 };

static _Atomic uint64_t foreign, rounds;
static int queued;
static sigjmp_buf back;

NOINLINE static uint64_t
signalled_work(uint64_t x)
{
	return burn(x, 100000);
}

/* What takes signals by calls of libc's is refused where the kernel does not
 * look at each tick: it must not be seen here, but nothing may come either. */
static int
take_one(const sigset_t *set, siginfo_t *info)
{
	const struct timespec none = { 0, 0 };

	return (int)syscall(SYS_rt_sigtimedwait, set, info, &none,
			    KERNEL_SIGSET);
}

static void
block(int how, int signal)
{
	sigset_t set;

	sigfillset(&set);
	if (signal) {
		sigemptyset(&set);
		sigaddset(&set, signal);
	}
	pthread_sigmask(how, &set, NULL);
}

static void *
hear(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (!atomic_load(&victim_over)) {
		x = signalled_work(x);
		atomic_fetch_add(&rounds, 1);
	}
	return (void *)(uintptr_t)(x == 0);
}

static void
on_foreign(int signal)
{
	(void)signal;
	atomic_fetch_add(&foreign, 1);
}

/* ---- jump ---------------------------------------------------------------- */

static void
on_alarm(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void *
jump(void *arg)
{
	volatile uint64_t x = 1;

	(void)arg;
	if (sigsetjmp(back, 1))
		atomic_fetch_add(&rounds, 1);
	block(SIG_UNBLOCK, SIGALRM);
	while (!atomic_load(&victim_over))
		x = signalled_work(x);
	block(SIG_BLOCK, SIGALRM);
	return (void *)(uintptr_t)(x == 0);
}

static void
begin_alarms(void)
{
	const struct itimerval every = { { 0, 200 }, { 0, 200 } };
	struct sigaction action = { .sa_handler = on_alarm };

	block(SIG_BLOCK, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &every, NULL) < 0)
		exit(99);
}

/* ---- wait ---------------------------------------------------------------- */

static void *
take_all(void *arg)
{
	struct signalfd_siginfo info;
	sigset_t all;
	uint64_t x = 1;

	(void)arg;
	block(SIG_BLOCK, 0);
	sigfillset(&all);

	const int fd = (int)syscall(SYS_signalfd4, -1, &all, KERNEL_SIGSET,
				    SFD_NONBLOCK | SFD_CLOEXEC);

	while (!atomic_load(&victim_over)) {
		x = signalled_work(x);
		if (read(fd, &info, sizeof info) == sizeof info)
			atomic_fetch_add(&foreign, 1);
		x = signalled_work(x);
		if (take_one(&all, NULL) > 0)
			atomic_fetch_add(&foreign, 1);
	}
	close(fd);
	return (void *)(uintptr_t)(x == 0);
}

/* ---- poll ---------------------------------------------------------------- */

/* epoll_pwait; compilers may put any argument behind the call's number. */
static long
open_by_hand(int fd, struct epoll_event *event, int ms, const uint64_t *set)
{
	long r;

	__asm__ volatile("movq	%4, %%r8\n"
			 "	movl	%6, %%eax\n"
			 "	movl	%5, %%r9d\n"
			 "	movl	%3, %%r10d\n"
			 "	movl	$1, %%edx\n"
			 "	leaq	(%2), %%rsi\n"
			 "	movl	%1, %%edi\n"
			 "	syscall"
			 : "=&a"(r)
			 : "m"(fd), "b"(event), "m"(ms), "m"(set),
			   "i"(KERNEL_SIGSET), "i"(SYS_epoll_pwait)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			   "r11", "memory");
	return r;
}

enum { WAYS = 5, NAP_MS = 2 };

/* Does it end before its time? */
static bool
is_ended(int way, int fd)
{
	const struct timespec soon = { 0, NAP_MS * 1000000 };
	const uint64_t open = 0;
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	switch (way) {
	case 0:
		return ppoll(NULL, 0, &soon, &none) != 0;
	case 1:
		return pselect(0, NULL, NULL, NULL, &soon, &none) != 0;
	case 2:
		return epoll_pwait(fd, &event, 1, NAP_MS, &none) != 0;
#ifdef HAVE_PWAIT2
	case 3:
		return epoll_pwait2(fd, &event, 1, &soon, &none) != 0;
#endif
	default:
		return open_by_hand(fd, &event, NAP_MS, &open) != 0;
	}
}

static void *
poll_openly(void *arg)
{
	const int way = (int)(intptr_t)arg;
	uint64_t x = 1;

	block(SIG_BLOCK, 0);

	const int fd = epoll_create1(EPOLL_CLOEXEC);

	while (!atomic_load(&victim_over)) {
		for (int i = 0; i < 10; i++)
			x = signalled_work(x);
		if (is_ended(way, fd))
			atomic_fetch_add(&foreign, 1);
	}
	close(fd);
	return (void *)(uintptr_t)(x == 0);
}

/* ---- full ---------------------------------------------------------------- */

static void
fill_queue(void)
{
	const struct rlimit few = { MOST, MOST };
	struct sigaction action = { .sa_handler = on_foreign };
	union sigval value = { .sival_int = 0 };

	block(SIG_BLOCK, SIGRTMIN);
	if (sigaction(SIGIO, &action, NULL) < 0 ||
	    setrlimit(RLIMIT_SIGPENDING, &few) < 0)
		exit(99);
	while (sigqueue(getpid(), SIGRTMIN, value) == 0)
		value.sival_int = ++queued;
}

static bool
queue_is_whole(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	for (int i = 0; i < queued; i++)
		if (take_one(&set, &info) != SIGRTMIN ||
		    info.si_value.sival_int != i)
			return false;
	return take_one(&set, &info) < 0;
}

static void
mark(void)
{
	victim_say("foreign", atomic_load(&foreign));
	victim_say("rounds", atomic_load(&rounds));
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "wait";
	const int nways = strcmp(mode, "poll") == 0 ? WAYS : 0;
	pthread_t one, other, ways[WAYS];
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };

	victim_init();
	if (strcmp(mode, "jump") == 0)
		begin_alarms();
	if (strcmp(mode, "deaf") == 0)
		block(SIG_BLOCK, 0);
	if (strcmp(mode, "full") == 0)
		fill_queue();
	if (pthread_create(&one, NULL, strcmp(mode, "jump") == 0 ? jump : hear,
			   NULL) != 0 ||
	    pthread_create(&other, NULL, strcmp(mode, "wait") == 0 ? take_all :
			   hear, NULL) != 0)
		return 99;
	for (int i = 0; i < nways; i++)
		if (pthread_create(&ways[i], NULL, poll_openly,
				   (void *)(intptr_t)i) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	for (int i = 0; i < nways; i++)
		pthread_join(ways[i], NULL);
	mark();
	return victim_end(queue_is_whole() && atomic_load(&foreign) == 0);
}
