/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * doer: at each mark three threads, one after the other, ask five times each
 * for their parent's number, sleep for 20 ms and end; two more end with the
 * program. It says what came out wrong: answers, sleeps that were cut short.
 * doer alarms: they get a signal each 8 ms meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "victim.h"

enum { THREADS = 3, EACH = 5, SLEEP_MS = 20 };

static _Atomic uint64_t asked, wrong;
static bool alarms;

static void
on_alarm(int signal)
{
	(void)signal;
}

static void
block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(how, &set, NULL);
}

static void *
ask(void *arg)
{
	struct timespec nap = { .tv_nsec = SLEEP_MS * 1000000 };
	pid_t parent;

	block(SIG_UNBLOCK);
	parent = getppid();
	for (int i = 0; i < EACH - 1; i++)
		atomic_fetch_add(&wrong, syscall(SYS_getppid) != parent);
	atomic_fetch_add(&asked, EACH);
	while (nanosleep(&nap, &nap) < 0)
		atomic_fetch_add(&wrong, !alarms || errno != EINTR);
	return arg;
}

static void *
stay(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;

	atomic_fetch_add(&wrong, epoll_wait(fd, &ev, 1, -1) < 0);
	return arg;
}

static void
mark(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t th;

		pthread_create(&th, NULL, ask, NULL);
		pthread_join(th, NULL);
	}
	victim_say("asked", atomic_load(&asked));
	victim_say("wrong", atomic_load(&wrong));
}

int
main(int argc, char **argv)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	const struct itimerval each = { { 0, 8000 }, { 0, 8000 } };
	pthread_t th;

	(void)argv;
	alarms = argc > 1;
	victim_init();
	sigaction(SIGALRM, &sa, NULL);
	block(SIG_BLOCK);
	if (alarms)
		setitimer(ITIMER_REAL, &each, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&th, NULL, stay, NULL);
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
