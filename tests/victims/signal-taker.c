/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signal-taker: at each mark it sends itself SIGUSR1, three threads of it each
 * five, and says how many of SIGUSR1 and SIGUSR2 came. Then it waits in
 * epoll_wait for 300 ms at most, and says what that answered.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include "victim.h"

enum { THREADS = 3, EACH = 5, WAIT_MS = 300 };

static _Atomic uint64_t usr1, usr2, broken;

static void
take(int signal)
{
	atomic_fetch_add(signal == SIGUSR1 ? &usr1 : &usr2, 1);
}

static void *
send_some(void *arg)
{
	for (int i = 0; i < EACH; i++)
		pthread_kill(pthread_self(), SIGUSR1);
	return arg;
}

static void
mark(void)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	pthread_t th[THREADS];
	struct epoll_event ev;

	raise(SIGUSR1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, send_some, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	victim_say("usr1", atomic_load(&usr1));
	victim_say("usr2", atomic_load(&usr2));
	printf("waits\n");
	if (epoll_wait(fd, &ev, 1, WAIT_MS) < 0)
		atomic_fetch_add(&broken, 1);
	close(fd);
	victim_say("broken", atomic_load(&broken));
}

int
main(void)
{
	const struct sigaction sa = { .sa_handler = take };

	victim_init();
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
