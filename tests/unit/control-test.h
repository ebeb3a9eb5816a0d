/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tests of control share: victims are forked, tell their state in a
 * shared page, and know themselves whether anything went wrong with them. A
 * body is run as we are and, when we are root, as an ordinary user too.
 */
#ifndef CONTROL_TEST_H
#define CONTROL_TEST_H

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tools/watches.h"
#include "base.h"
#include "control.h"

enum {
	SKIPPED = 77,
	ORDINARY_USER = 65534,
	MS = 1000 * 1000,
	SECOND_MS = 1000,
};

static int failures;

static inline void __attribute__((format(printf, 2, 3)))
check(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return;
	failures++;
	va_start(ap, fmt);
	printf("FAIL: ");
	vprintf(fmt, ap);
	printf(" (last failure: %s)\n", fail_last()->reason);
	va_end(ap);
	(void)fflush(stdout);
}

/* Why breakpoints are traps: because perf is refused to this test? */
static inline bool
only_traps_here(const char *why)
{
	return why && (strstr(why, "permitted") || strstr(why, "register") ||
		       strstr(why, "perf cannot"));
}

static inline pid_t
own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static inline void
rest_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * MS };

	(void)nanosleep(&ts, NULL);
}

/* Give up after ten seconds; true: the fact came. */
static inline bool
await(bool (*fact)(void *arg), void *arg)
{
	for (int i = 0; i < 10000; i++) {
		if (fact(arg))
			return true;
		rest_ms(1);
	}
	return false;
}

static inline void *
shared_page(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	return p;
}

/* The victim dies with the test, whatever happens to that. */
static inline pid_t
fork_victim(void (*body)(void *arg), void *arg)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(99);
	}
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(99);
	alarm(300);
	body(arg);
	_exit(0);
}

static inline int
status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static inline bool
ended_well(pid_t pid)
{
	const int status = status_of(pid);

	if (status)
		printf("victim %d: wait status %#x\n", (int)pid, status);
	return status == 0;
}

/*
 * A thread in a call that does not stop (state D: on a busy machine any may
 * be) when all are let go is let go when it does.
 */
static inline void
serve_to_end(struct target *t, pid_t pid)
{
	siginfo_t end = { 0 };
	struct event ev;

	while (!target_gone(t) && waitid(P_PID, (id_t)pid, &end, WEXITED |
					 WNOHANG | WNOWAIT) == 0 &&
	       !end.si_pid) {
		target_let_go_late(t);
		while (target_next_event(t, &ev))
			;
		rest_ms(1);
	}
}

/* The same when the tracer, who is the parent too, may have seen the end. */
static inline bool
target_ended_well(struct target *t, pid_t pid)
{
	if (!target_gone(t))
		return ended_well(pid);
	if (strcmp(target_how_ended(t), "exited with status 0") == 0)
		return true;
	printf("victim %d %s\n", (int)pid, target_how_ended(t));
	return false;
}

/* A thread blocked in system call nr? */
struct blocked {
	struct target *t;
	pid_t tid;
	long nr;
};

static inline bool
is_blocked(void *arg)
{
	const struct blocked *b = arg;
	struct thread_facts f;

	return target_thread_facts(b->t, b->tid, &f) == 0 &&
		f.state == 'S' && f.syscall == b->nr;
}

static inline bool
await_blocked(struct target *t, pid_t tid, long nr)
{
	struct blocked b = { t, tid, nr };

	return await(is_blocked, &b);
}

static inline int
run_as(bool ordinary, void (*body)(void), unsigned seconds)
{
	const pid_t pid = fork();

	if (pid == 0) {
		(void)setvbuf(stdout, NULL, _IOLBF, 0);
		if (ordinary && (setgroups(0, NULL) < 0 ||
				 setgid(ORDINARY_USER) < 0 ||
				 setuid(ORDINARY_USER) < 0 ||
				 prctl(PR_SET_DUMPABLE, 1) < 0)) {
			perror("become an ordinary user");
			_exit(99);
		}
		alarm(seconds);
		body();
		(void)fflush(stdout);
		_exit(failures ? 1 : 0);
	}

	const int status = status_of(pid);

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	printf("FAIL: %s: ended by signal %d\n",
	       ordinary ? "as an ordinary user" : "as we are",
	       WTERMSIG(status));
	return 1;
}

static inline int
run_both(void (*body)(void), unsigned seconds)
{
	const int mine = run_as(false, body, seconds);

	if (mine || geteuid() != 0)
		return mine;
	return run_as(true, body, seconds);
}

/* Of a test about breakpoints that the processor keeps. */
static inline int
run_both_if_watched(void (*body)(void), unsigned seconds)
{
	if (processor_watches())
		return run_both(body, seconds);
	printf("the debug registers of this machine have no effect\n");
	return SKIPPED;
}

#endif
