/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How we were started: what a program that we start must find as if whoever
 * started us had started it.
 *
 *	signals		which are ignored, blocked, and wait
 *	descriptors	0, 1 and 2 may be closed
 *	limits		open files, which we raise for ourselves
 *	parent		the signal that its end sends
 *
 * For ourselves a sound state is made of it: nothing is blocked; SIGCHLD is not
 * ignored, or the kernel would tell nobody how a child ended; and what we open
 * never gets a number that somebody writes messages to. An exec closes the
 * stand-ins, and they refuse what the closed ones would have refused.
 */
#include "base.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool kept;
	sigset_t ignored, blocked, pending;
	struct rlimit files;
	int parents_end;
} origin;

static bool
is_ignored(int signal)
{
	struct sigaction now;

	return sigaction(signal, NULL, &now) == 0 &&
		!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN;
}

static void
keep_signals(void)
{
	const struct timespec now = { 0 };
	sigset_t none;

	sigemptyset(&none);
	sigemptyset(&origin.ignored);
	for (int s = 1; s <= SIGRTMAX; s++)
		if (is_ignored(s))
			sigaddset(&origin.ignored, s);
	(void)sigprocmask(SIG_BLOCK, NULL, &origin.blocked);
	(void)sigpending(&origin.pending);
	/* they are not ours, and would end us */
	while (sigtimedwait(&origin.pending, NULL, &now) > 0)
		;
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
fill_descriptors(void)
{
	static const int refuses[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			/* the lowest number that is free: this one */
			(void)open("/dev/null", refuses[fd] | O_CLOEXEC);
}

void
origin_keep(void)
{
	keep_signals();
	fill_descriptors();
	if (getrlimit(RLIMIT_NOFILE, &origin.files) < 0 ||
	    prctl(PR_GET_PDEATHSIG, &origin.parents_end, 0, 0, 0) < 0)
		origin.parents_end = 0;
	origin.kept = true;
}

bool
origin_ignores(int signal)
{
	return origin.kept && sigismember(&origin.ignored, signal) == 1;
}

/* Blocked first: what waited then waits now. Where nothing was kept, nothing
 * is blocked and nothing ignored. */
static void
restore_signals(void)
{
	(void)sigprocmask(SIG_SETMASK, &origin.blocked, NULL);
	for (int s = 1; s <= SIGRTMAX; s++)
		(void)signal(s, sigismember(&origin.ignored, s) == 1 ?
			     SIG_IGN : SIG_DFL);
	for (int s = 1; s <= SIGRTMAX; s++)
		if (sigismember(&origin.pending, s) == 1)
			(void)kill(getpid(), s);
}

void
origin_restore(void)
{
	if (origin.files.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &origin.files);
	if (origin.parents_end)
		(void)prctl(PR_SET_PDEATHSIG, origin.parents_end, 0, 0, 0);
	restore_signals();
}
