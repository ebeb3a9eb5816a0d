/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * harm-handlers: what handlers do to the call that they interrupt. By the
 * argument, at each mark:
 * fork: 60 handlers fork; the child returns into the call and ends well. Each
 *	is due a while after the last has returned: where a fork takes longer
 *	than the while, ticks alone would leave no time for anything else;
 * jump: 300 handlers leave the call for good;
 * clock: nothing, but the processor's clock is forbidden to its threads.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "victim.h"

enum { FORKS = 60, JUMPS = 300, EVERY_US = 700 };

static volatile sig_atomic_t is_child, happened;
static sigjmp_buf back;
static int zeros;
static uint64_t bad;

static void
on_fork(int signal)
{
	const int kept = errno;
	pid_t pid;

	(void)signal;
	/* where a fork takes longer than the timer, nothing else runs: until
	 * it is enough */
	if (is_child || happened >= FORKS)
		return;
	pid = fork();
	if (pid == 0)
		is_child = 1;
	else if (pid > 0)
		happened++;
	errno = kept;
}

static void
on_jump(int signal)
{
	(void)signal;
	happened++;
	siglongjmp(back, 1);
}

static void
due_in(long us)
{
	const struct itimerval once = { { 0, 0 }, { 0, us } };

	if (setitimer(ITIMER_REAL, &once, NULL) < 0)
		exit(99);
}

static void
tick(void (*handler)(int), long us)
{
	const struct itimerval each = { { 0, us }, { 0, us } };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_RESTART };

	if (sigaction(SIGALRM, &action, NULL) < 0 ||
	    setitimer(ITIMER_REAL, &each, NULL) < 0)
		exit(99);
}

static void
read_one(void)
{
	char c;

	if (read(zeros, &c, 1) != 1 || c)
		bad++;
}

static void
forks(void)
{
	int status, due = -1;

	happened = 0;
	tick(on_fork, 0);
	while (happened < FORKS) {
		if (due != happened) {
			due = happened;
			due_in(EVERY_US);
		}
		read_one();
		if (is_child) {
			read_one();
			_exit(bad ? 1 : 0);
		}
		while (waitpid(-1, &status, WNOHANG) > 0)
			bad += status != 0;
	}
	tick(SIG_IGN, 0);
	/* born behind the loop: it would serve our reader's words as we do */
	if (is_child)
		_exit(bad ? 1 : 0);
	while (waitpid(-1, &status, 0) > 0)
		bad += status != 0;
}

static void
jumps(void)
{
	happened = 0;
	(void)sigsetjmp(back, 1);
	tick(on_jump, EVERY_US);
	while (happened < JUMPS)
		read_one();
	tick(SIG_IGN, 0);
}

static const char *what = "";

static void
mark(void)
{
	if (*what == 'f')
		forks();
	if (*what == 'j')
		jumps();
	victim_say("right", bad == 0);
}

int
main(int argc, char **argv)
{
	what = argc > 1 ? argv[1] : "";
	victim_init();
	zeros = open("/dev/zero", O_RDONLY);
	if (zeros < 0 || (*what == 'c' &&
	    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0))
		return 99;
	victim_ready();
	victim_serve(mark);
	return victim_end(bad == 0);
}
