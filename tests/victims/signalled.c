/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signalled MODE: lives by signals in ways that a tick of ours could disturb.
 *
 *	jump	its handler of an alarm, 5000 times a second, leaves by
 *		siglongjmp whatever it interrupts
 *	wait	a thread blocks all signals and takes all that come, by
 *		sigtimedwait and a signalfd, while it burns CPU; another hears
 *	poll	a thread lets signals in only while it waits in ppoll, which
 *		must not end for them
 *	deaf	all threads block all signals
 *	full	blocks a signal with a value and sends itself as many as the
 *		queue holds; they must all be there at the end, in order
 *
 * foreign counts signals that it did not send.
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "burn.h"
#include "victim.h"

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

static void *
poll_openly(void *arg)
{
	const struct timespec soon = { 0, 2000000 };
	sigset_t none;
	uint64_t x = 1;

	(void)arg;
	block(SIG_BLOCK, 0);
	sigemptyset(&none);
	while (!atomic_load(&victim_over)) {
		for (int i = 0; i < 10; i++)
			x = signalled_work(x);
		if (ppoll(NULL, 0, &soon, &none) < 0)
			atomic_fetch_add(&foreign, 1);
	}
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
	pthread_t one, other;
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
			   strcmp(mode, "poll") == 0 ? poll_openly : hear,
			   NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	mark();
	return victim_end(queue_is_whole() && atomic_load(&foreign) == 0);
}
