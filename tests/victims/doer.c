/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * doer: at each mark three threads, one after the other, ask five times each
 * for their parent's number, sleep for 20 ms and end; two more end with the
 * program. It says what came out wrong: answers, sleeps that were cut short.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#include "victim.h"

enum { THREADS = 3, EACH = 5, SLEEP_MS = 20 };

static _Atomic uint64_t asked, wrong;

static void *
ask(void *arg)
{
	const struct timespec nap = { .tv_nsec = SLEEP_MS * 1000000 };
	const pid_t parent = getppid();

	for (int i = 0; i < EACH - 1; i++)
		atomic_fetch_add(&wrong, syscall(SYS_getppid) != parent);
	atomic_fetch_add(&asked, EACH);
	atomic_fetch_add(&wrong, nanosleep(&nap, NULL) != 0);
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
main(void)
{
	pthread_t th;

	victim_init();
	for (int i = 0; i < 2; i++)
		pthread_create(&th, NULL, stay, NULL);
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
