/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * asker: a thread opens all signals while it works, blocks them while it works
 * on, and asks in four ways which have come: sigtimedwait, a signalfd by
 * epoll, sigpending, and a ppoll that lets them in. foreign counts what nobody
 * sent.
 */
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <pthread.h>

#include "burn.h"
#include "victim.h"

static _Atomic uint64_t foreign, rounds;

NOINLINE static uint64_t
asker_work(uint64_t x)
{
	return burn(x, 1000000);
}

/* Each way in turn: what is pending stays until one takes it. */
static int
ask(int fd, int queue, unsigned round)
{
	const struct timespec none = { 0, 0 }, soon = { 0, 1000000 };
	struct signalfd_siginfo info;
	struct epoll_event event;
	sigset_t set;

	switch (round % 4) {
	case 0:
		sigfillset(&set);
		return sigtimedwait(&set, NULL, &none) > 0;
	case 1:
		return epoll_wait(queue, &event, 1, 0) > 0 &&
			read(fd, &info, sizeof info) == sizeof info;
	case 2:
		if (sigpending(&set) < 0)
			return 1;
		for (int i = 1; i < 32; i++)
			if (sigismember(&set, i))
				return 1;
		return 0;
	default:
		sigemptyset(&set);
		return ppoll(NULL, 0, &soon, &set) < 0 && errno == EINTR;
	}
}

static void *
open_and_shut(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int queue = epoll_create1(EPOLL_CLOEXEC);
	sigset_t all, none;
	unsigned round = 0;
	uint64_t x = 1;
	int fd;

	(void)arg;
	sigfillset(&all);
	sigemptyset(&none);
	fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0 || queue < 0 ||
	    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event) < 0)
		exit(99);
	while (!atomic_load(&victim_over)) {
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		x = asker_work(x);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
		x = asker_work(x);
		atomic_fetch_add(&foreign, (uint64_t)ask(fd, queue, round++));
		atomic_fetch_add(&rounds, 1);
	}
	close(fd);
	close(queue);
	return (void *)(uintptr_t)(x == 0);
}

static void
mark(void)
{
	victim_say("foreign", atomic_load(&foreign));
	victim_say("rounds", atomic_load(&rounds));
}

int
main(void)
{
	pthread_t thread;
	void *odd;

	victim_init();
	if (pthread_create(&thread, NULL, open_and_shut, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, &odd);
	mark();
	return victim_end(!odd && atomic_load(&foreign) == 0);
}
