/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the victim io does beside its work: signals, cancellation, children.
 */
#ifndef IO_ROUGH_H
#define IO_ROUGH_H

#include "crew.h"
#include "io-calls.h"

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "io: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static int told[2];

static void
on_signal(int signal)
{
	const int kept = errno;

	(void)signal;
	if (do_write(told[1], "s", 1) != 1 && errno != EAGAIN)
		_exit(99);
	errno = kept;
}

/* A read that a signal ends, and one that a cancellation does. */
static _Atomic int cleaned;

static void
clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *
blocked(void *fd)
{
	char c;

	pthread_cleanup_push(clean, NULL);
	(void)do_read((int)(uintptr_t)fd, &c, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void
cancelled(void)
{
	const int before = cleaned;
	pthread_t thread;
	void *result;
	int fds[2];

	must(pipe(fds) == 0, "pipe");
	if (pthread_create(&thread, NULL, blocked,
			   (void *)(uintptr_t)fds[0]) != 0)
		_exit(99);
	usleep(1000);
	must(pthread_cancel(thread) == 0 &&
	     pthread_join(thread, &result) == 0 &&
	     result == PTHREAD_CANCELED && cleaned > before, "cancel");
	must(close(fds[0]) == 0 && close(fds[1]) == 0, "close");
}

/* A read that a signal ends. */
static void
on_nothing(int signal)
{
	(void)signal;
}

struct reader {
	int fd;
	atomic_bool over;
};

static void *
until_signalled(void *arg)
{
	struct reader *r = arg;
	char c;

	must(do_read(r->fd, &c, 1) == -1 && errno == EINTR, "EINTR");
	atomic_store(&r->over, true);
	return NULL;
}

static void
interrupted(void)
{
	struct reader r = { .over = false };
	pthread_t thread;
	int fds[2];

	must(pipe(fds) == 0, "pipe");
	r.fd = fds[0];
	if (pthread_create(&thread, NULL, until_signalled, &r) != 0)
		_exit(99);
	while (!atomic_load(&r.over)) {
		pthread_kill(thread, SIGUSR1);
		usleep(500);
	}
	must(pthread_join(thread, NULL) == 0, "join");
	must(close(fds[0]) == 0 && close(fds[1]) == 0, "close");
}

/* A child of vfork runs in our memory, a child of fork in its own: what they
 * do with descriptors is their own. */
NOINLINE static void
children(void)
{
	int fds[2], status;
	char c;

	must(pipe(fds) == 0, "pipe");
	for (int i = 0; i < 2; i++) {
		const pid_t pid = i ? fork() : vfork();

		if (pid == 0) {
			const int fd = open("/dev/null", O_RDWR);

			(void)dup2(fd, 300);
			if (write(300, "child", 5) != 5 ||
			    read(fd, &c, 1) != 0)
				_exit(8);
			(void)close(fds[0]);
			(void)close(fds[1]);
			(void)close(fd);
			_exit(7);
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid &&
		     status == 7 << 8, "child");
	}
	must(write(fds[1], "", 1) == 1 && read(fds[0], &c, 1) == 1, "pipe");
	must(close(fds[0]) == 0 && close(fds[1]) == 0, "close");
}

#endif
