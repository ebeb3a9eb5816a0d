/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sleeper: one thread in each blocking call that a debugger's stop can end
 * early (signal(7)): epoll_wait, poll, select, nanosleep, a timed futex, a
 * timed semaphore, semop, sigtimedwait, a socket with a time-out, and a read.
 * None may return before its time or say EINTR.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>

#include "victim.h"

enum { NAP_MS = 250 };

static _Atomic uint64_t naps, early, interrupted, wrong;
static int quiet[2];		/* a socket pair nobody writes to */

static struct timespec
nap(void)
{
	return (struct timespec){ .tv_nsec = NAP_MS * 1000000L };
}

static struct timespec
nap_end(clockid_t clock)
{
	const uint64_t end = victim_clock(clock) + NAP_MS * UINT64_C(1000000);

	return (struct timespec){ .tv_sec = end / 1000000000,
				  .tv_nsec = end % 1000000000 };
}

static int
in_epoll(void)
{
	static int fd = -1;
	struct epoll_event ev = { .events = EPOLLIN };

	if (fd < 0) {
		fd = epoll_create1(EPOLL_CLOEXEC);
		if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, quiet[0], &ev) < 0)
			return -1;
	}
	return epoll_wait(fd, &ev, 1, NAP_MS);
}

static int
in_poll(void)
{
	struct pollfd fd = { .fd = quiet[0], .events = POLLIN };

	return poll(&fd, 1, NAP_MS);
}

static int
in_select(void)
{
	struct timeval t = { .tv_usec = NAP_MS * 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(quiet[0], &set);
	return select(quiet[0] + 1, &set, NULL, NULL, &t);
}

static int
in_nanosleep(void)
{
	const struct timespec t = nap();

	return nanosleep(&t, NULL);
}

static int
in_cond(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	const struct timespec end = nap_end(CLOCK_REALTIME);
	int r;

	pthread_mutex_lock(&lock);
	r = pthread_cond_timedwait(&cond, &lock, &end);
	pthread_mutex_unlock(&lock);
	return r == ETIMEDOUT ? 0 : -1;
}

static int
in_sem(void)
{
	static sem_t sem;	/* zero: nobody posts */
	const struct timespec end = nap_end(CLOCK_REALTIME);

	return sem_timedwait(&sem, &end) < 0 && errno == ETIMEDOUT ? 0 : -1;
}

static int
in_semop(void)
{
	static int id = -1;
	struct sembuf op = { .sem_op = -1 };
	const struct timespec t = nap();

	if (id < 0) {
		id = semget(IPC_PRIVATE, 1, 0600);
		if (id < 0)
			return 0;	/* none to be had here */
	}
	if (atomic_load(&victim_over))
		return semctl(id, 0, IPC_RMID);
	return semtimedop(id, &op, 1, &t) < 0 && errno == EAGAIN ? 0 : -1;
}

static int
in_sigtimedwait(void)
{
	int (*take)(const sigset_t *, siginfo_t *, const struct timespec *);
	const struct timespec t = nap();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	/* libc's, and no import: for that, ticks of timers are refused */
	*(void **)&take = dlsym(RTLD_DEFAULT, "sigtimedwait");
	return take && take(&set, NULL, &t) < 0 && errno == EAGAIN ? 0 : -1;
}

static int
in_recv(void)
{
	const struct timeval t = { .tv_usec = NAP_MS * 1000 };
	char c;

	if (setsockopt(quiet[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) < 0)
		return -1;
	return recv(quiet[0], &c, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

static int (*const calls[])(void) = {
	in_epoll, in_poll, in_select, in_nanosleep, in_cond, in_sem,
	in_semop, in_sigtimedwait, in_recv,
};
enum { CALLS = sizeof calls / sizeof *calls };

static void *
doze(void *arg)
{
	int (*const call)(void) = calls[(uintptr_t)arg];

	while (!atomic_load(&victim_over)) {
		const uint64_t start = victim_clock(CLOCK_MONOTONIC);
		const int r = call();
		const int why = errno;

		if (r < 0 && why == EINTR)
			atomic_fetch_add(&interrupted, 1);
		else if (r != 0)
			atomic_fetch_add(&wrong, 1);
		/* kernel timers of these calls never fire early; a tick of
		 * CLOCK_REALTIME may be adjusted by NTP */
		else if (victim_clock(CLOCK_MONOTONIC) - start <
			 (NAP_MS - 5) * UINT64_C(1000000) &&
			 call != in_semop)
			atomic_fetch_add(&early, 1);
		atomic_fetch_add(&naps, 1);
	}
	if (call == in_semop)
		call();
	return NULL;
}

static void
mark(void)
{
	victim_say("naps", atomic_load(&naps));
	victim_say("early", atomic_load(&early));
	victim_say("eintr", atomic_load(&interrupted));
	victim_say("wrong", atomic_load(&wrong));
}

int
main(void)
{
	pthread_t thread[CALLS];
	sigset_t set;

	victim_init();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);	/* for sigtimedwait */
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, quiet) < 0)
		return 99;
	for (uintptr_t i = 0; i < CALLS; i++)
		if (pthread_create(&thread[i], NULL, doze, (void *)i) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < CALLS; i++)
		pthread_join(thread[i], NULL);
	mark();
	return victim_end(!early && !interrupted && !wrong);
}
