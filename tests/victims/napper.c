/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * napper [alarms | restart]: two threads sleep, one waits in epoll_wait, one
 * reads what comes now and then, EACH times each; it says how often, and how
 * many of these were cut short by its alarms, of which there is one each 5 ms.
 * restart: their handler lets calls begin again. Before that all four make ten
 * threads each, at the same time.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "victim.h"

enum { EACH = 60, MS = 1000000, MADE = 10 };

static _Atomic uint64_t naps, waits, reads, cut;
static int ends[2];

static void
on_alarm(int signal)
{
	(void)signal;
}

static void
count(_Atomic uint64_t *calls, int answer)
{
	atomic_fetch_add(calls, 1);
	atomic_fetch_add(&cut, answer < 0);
}

static void *
none(void *arg)
{
	return arg;
}

static void
make_some(void)
{
	pthread_t th;

	for (int i = 0; i < MADE; i++)
		if (pthread_create(&th, NULL, none, NULL) == 0)
			pthread_join(th, NULL);
}

static void *
nap(void *arg)
{
	const struct timespec time = { .tv_nsec = 3 * MS };

	make_some();
	for (int i = 0; i < EACH; i++)
		count(&naps, nanosleep(&time, NULL));
	return arg;
}

static void *
await(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;

	make_some();
	for (int i = 0; i < EACH; i++)
		count(&waits, epoll_wait(fd, &ev, 1, 4));
	return arg;
}

static void *
take(void *arg)
{
	char c;

	make_some();
	for (int i = 0; i < EACH; i++)
		count(&reads, (int)read(ends[0], &c, 1));
	return arg;
}

int
main(int argc, char **argv)
{
	void *(*const work[])(void *) = { nap, nap, await, take };
	enum { THREADS = sizeof work / sizeof *work };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval each = { { 0, 5000 }, { 0, 5000 } };
	pthread_t th[THREADS];

	victim_init();
	sa.sa_flags = argc > 1 && strcmp(argv[1], "restart") == 0 ?
		SA_RESTART : 0;
	if (sigaction(SIGALRM, &sa, NULL) < 0 || pipe(ends) < 0)
		return 99;
	if (argc > 1)
		setitimer(ITIMER_REAL, &each, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, work[i], NULL);
	while (atomic_load(&reads) < EACH) {
		poll(NULL, 0, 2);
		if (write(ends[1], "", 1) != 1)
			return 99;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	each = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &each, NULL);
	victim_say("naps", naps);
	victim_say("waits", waits);
	victim_say("reads", reads);
	victim_say("cut", cut);
	return victim_end(true);
}
