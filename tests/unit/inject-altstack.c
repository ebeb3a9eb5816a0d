/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread that works on an alternate stack nearly all the
 * time, in a handler that has interrupted libc: mostly no donor, no good place
 * for a frame of ours, and a stack that goes on elsewhere. Our own helper,
 * which stands beside it, must not be taken for a better donor.
 *
 * hazard: SAFE_POINT
 */
#include <signal.h>
#include <stdlib.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

enum { VISITS = 5, STACK = 65536, WORK_NS = 150000000 };

static struct victim_page *shared;

/* Longer than anybody waits for it to come out of there. */
static void
on_signal(int signal)
{
	const uint64_t until = now_ns() + WORK_NS;

	(void)signal;
	while (!shared->stop && now_ns() < until)
		shared->ready = 1;
}

static int
run_program(const char *page)
{
	static char stack[STACK];
	const stack_t st = { .ss_sp = stack, .ss_size = sizeof stack };
	const struct sigaction action = { .sa_handler = on_signal,
					  .sa_flags = SA_ONSTACK };

	shared = victim_page_of(page);
	if (sigaltstack(&st, NULL) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return 99;
	while (!shared->stop)
		(void)raise(SIGUSR1);
	return 0;
}

int
main(int argc, char **argv)
{
	int status = -1, failed = 0;
	struct target *t;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	for (int i = 0; i < VISITS && !failed; i++) {
		pid = victim_start("altstack", (void **)&shared);
		t = pid > 0 ? target_open(pid) : NULL;
		if (!t)
			return 99;
		failed = victim_visit(t, 0) < 0;
		shared->stop = 1;
		target_close(t);
		waitpid(pid, &status, 0);
		if (status != 0)
			printf("FAILED: the program ended with %#x\n",
			       (unsigned)status);
		failed |= status != 0;
	}
	return failed;
}
