/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program is stopped while a thread of it is in our handler, and we go
 * (mission: C5): the record memory is in use and stays, all else goes; the
 * next try says the same, and when the program has run on that goes, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "control.h"
#include "inject.h"
#include "inject-workers.h"

enum { WORKERS = 2, STEPS = 20 };

static int failed;

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	failed++;
	printf("FAILED: %s (%s)\n", what, fail_last()->reason);
}

static void
count(void)
{
	usleep(100);
}

static int
run_program(const char *page)
{
	static worker_job *const jobs[WORKERS] = { count, count };
	pthread_t th[WORKERS];

	shared = victim_page_of(page);
	workers_start(th, jobs, WORKERS);
	while (!shared->at.stop)
		;
	return workers_join(th, WORKERS);
}

static bool
has_records(struct target *t)
{
	char *maps = target_maps(t);
	const bool has = maps && strstr(maps, "memfd:sonde-records");

	free(maps);
	return has;
}

/* A tick like ours, and so many instructions of its handler. */
static void
step_into_handler(struct target *t, int signo)
{
	const pid_t tid = target_pid(t);
	int status = 0, i;

	check(syscall(SYS_tgkill, tid, tid, signo) == 0 &&
	      ptrace(PTRACE_CONT, tid, 0, 0) == 0 &&
	      waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) &&
	      WSTOPSIG(status) == signo, "its signal is about to come");
	for (i = 0; i < STEPS; i++)
		check(ptrace(PTRACE_SINGLESTEP, tid, 0, i ? 0 : signo) == 0 &&
		      waitpid(tid, &status, __WALL) == tid &&
		      WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP,
		      "a step");
	/* to a stop as its holder left it */
	check(ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 &&
	      ptrace(PTRACE_CONT, tid, 0, 0) == 0 &&
	      waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) &&
	      status >> 16 == PTRACE_EVENT_STOP, "a plain stop");
}

static void
visit(struct target *t)
{
	const struct guest_options opt = {
		.windows = 8, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 4096, .interval_ns = 10000000,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &opt, &report);

	check(g && guest_start(g, GUEST_POSIX_TIMER) == 0, "enter");
	check(target_hold_all(t) == 0, "hold");
	if (failed)
		exit(1);
	step_into_handler(t, guest_signal(g));
	check(guest_stop(g, &report) < 0 && guest_is_parting(g),
	      "its memory is in use");
	check(guest_stop(g, &report) < 0 && guest_is_parting(g),
	      "still in use");
	check(has_records(t), "so it is there");
	check(target_release_all(t) == 0, "let go");
	fail_clear();
	check(inject_tidy(t, &report) == 0 && !has_records(t), "it goes");
	check(guest_stop(g, &report) == 0 || !has_records(t), "nothing left");
	guest_close(g);
}

int
main(int argc, char **argv)
{
	struct target *t;
	int status = -1;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	pid = victim_start("victim", (void **)&shared);
	if (pid < 0 || !(t = target_open(pid)))
		return 99;
	visit(t);
	visit(t);
	check(workers_live_on(pid, WORKERS), "it goes on");
	shared->at.stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	check(status == 0, "it ends well");
	printf("status %x\n", status);
	return failed ? 1 : 0;
}
