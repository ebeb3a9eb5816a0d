/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program becomes another while we come: between what we have read of it
 * and the hold of its thread. Every address we know is then a wild one, and
 * nothing of ours may run there. An injector that is traced waits when it is
 * about to seize a thread, and when it is about to interrupt it, until the
 * program has called exec; then it goes on. The visit fails or begins anew;
 * the program lives.
 *
 * hazard: EXEC
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

enum { MOMENTS = 2, AWAIT_MS = 100, GIVE_UP_S = 60 };

struct shared {
	struct victim_page at;
	volatile unsigned asked, done;	/* execs */
	volatile unsigned long rounds;
};

static struct shared *shared;

/* ---- the program --------------------------------------------------------- */

static int
run_program(const char *page)
{
	const int keep = dup(atoi(page));
	char number[16];

	snprintf(number, sizeof number, "%d", keep);
	shared = victim_page_of(page);
	shared->done = shared->asked;
	shared->at.ready = 1;
	while (!shared->at.stop) {
		shared->rounds++;
		if (shared->done != shared->asked)
			execl("/proc/self/exe", "victim", "victim", number,
			      (char *)NULL);
	}
	return 0;
}

/* ---- the injector -------------------------------------------------------- */

static void
visit(pid_t pid)
{
	const struct guest_options opt = {
		.windows = 4, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 4096, .interval_ns = 10000000,
	};
	struct target *t = target_open(pid);
	struct inject_report report;
	struct guest *g;

	if (!t || ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(3);
	raise(SIGSTOP);
	g = guest_open(t, &opt, &report);
	if (!g || guest_stop(g, &report) < 0) {
		printf("    refused: %s\n", fail_last()->reason);
		fflush(stdout);
		/* a wild call was made, though its fault was caught */
		_exit(strstr(fail_last()->reason, "signal") ? 2 : 1);
	}
	_exit(0);
}

static bool
holds_next(pid_t injector)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, injector, sizeof info,
		      &info) > 0 &&
		info.op == PTRACE_SYSCALL_INFO_ENTRY &&
		info.entry.nr == SYS_ptrace &&
		(info.entry.args[0] == PTRACE_SEIZE ||
		 info.entry.args[0] == PTRACE_INTERRUPT);
}

/* A thread that stands calls exec later, when it is let go. */
static void
become_another(void)
{
	shared->asked++;
	for (int i = 0; i < AWAIT_MS && shared->done != shared->asked; i++)
		usleep(1000);
}

/* A visit, with an exec at its nth hold: its exit status, or -1. *met: there
 * were so many. */
static int
visit_with_exec(pid_t pid, unsigned n, bool *met)
{
	unsigned holds = 0;
	pid_t injector;
	int status;

	*met = false;
	fflush(stdout);
	injector = fork();
	if (injector == 0)
		visit(pid);
	while (waitpid(injector, &status, 0) == injector &&
	       WIFSTOPPED(status)) {
		if (!*met && holds_next(injector) && ++holds == n) {
			*met = true;
			become_another();
		}
		if (ptrace(PTRACE_SETOPTIONS, injector, 0,
			   PTRACE_O_TRACESYSGOOD) < 0 ||
		    ptrace(PTRACE_SYSCALL, injector, 0, 0) < 0)
			abort();
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
lives_on(pid_t pid)
{
	const unsigned long from = shared->rounds;

	for (int i = 0; i < GIVE_UP_S * 1000; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return false;
		if (shared->done == shared->asked && shared->rounds != from &&
		    count_threads(pid) == 1)
			return true;
		usleep(1000);
	}
	return false;
}

static bool
survives_all(pid_t pid)
{
	bool met;

	for (unsigned n = 1; n <= MOMENTS; n++) {
		const int status = visit_with_exec(pid, n, &met);

		if (!met || status < 0 || status > 1 || !lives_on(pid)) {
			printf("    exec at hold %u: status %d; the program "
			       "ended or stands\n", n, status);
			return false;
		}
	}
	return true;
}

int
main(int argc, char **argv)
{
	int status = -1;
	bool well;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	pid = victim_start("victim", (void **)&shared);
	if (pid < 0)
		return 99;
	well = survives_all(pid);
	shared->at.stop = 1;
	if (!well)
		kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	printf("%u execs; the program ended with %x\n", shared->asked, status);
	return well && status == 0 ? 0 : 1;
}
