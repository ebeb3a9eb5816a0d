/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A visit by a child of the test, which is traced and killed when it is about
 * to make a system call that the test chooses.
 */
#ifndef INJECTOR_H
#define INJECTOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "control.h"
#include "inject.h"

struct injector {
	pid_t pid;		/* whom it visits */
	bool stands;		/* ... and stops first */
	unsigned seed;		/* of the donor; 0: the best one */
	bool from_borrow;	/* calls count from when it has the donor */
};

static inline void
injector_visit(const struct injector *in)
{
	const struct guest_options opt = {
		.windows = 4, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 4096, .interval_ns = 10000000,
		.donor_seed = in->seed,
	};
	struct target *t = target_open(in->pid);
	struct inject_report report;
	struct guest *g;

	if (!t || guard_start() < 0)
		_exit(2);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(3);
	raise(SIGSTOP);
	if (in->stands && target_hold_all(t) < 0)
		_exit(4);
	g = guest_open(t, &opt, &report);
	if (!g || guest_stop(g, &report) < 0) {
		printf("    %s\n", fail_last()->reason);
		fflush(stdout);
		_exit(1);
	}
	if (in->stands && target_release_all(t) < 0)
		_exit(5);
	_exit(0);
}

/* To where its next call begins. false: it has ended, with *status. */
static inline bool
injector_call(pid_t injector, bool *within, int *status)
{
	do {
		if (ptrace(PTRACE_SYSCALL, injector, 0, 0) < 0 ||
		    waitpid(injector, status, 0) != injector)
			abort();
		if (!WIFSTOPPED(*status))
			return false;
		*within = !*within;
	} while (!*within);
	return true;
}

/* It blocks the donor's signals, whose registers are ours by then. */
static inline bool
injector_has_donor(pid_t injector)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, injector, 0, &r) < 0)
		abort();
	return r.orig_rax == SYS_ptrace && r.rdi == PTRACE_SETSIGMASK;
}

/* true: it was killed before its nth call; false: it came to its end before,
 * with *status. */
static inline bool
injector_kill(const struct injector *in, unsigned n, int *status)
{
	bool counts = !in->from_borrow, within = false;
	pid_t injector;

	fflush(stdout);
	injector = fork();
	if (injector == 0)
		injector_visit(in);
	if (waitpid(injector, status, 0) != injector || !WIFSTOPPED(*status))
		abort();
	while (n > 0) {
		if (!injector_call(injector, &within, status))
			return false;
		counts = counts || injector_has_donor(injector);
		n -= counts;
	}
	kill(injector, SIGKILL);
	waitpid(injector, status, 0);
	return true;
}

#endif
