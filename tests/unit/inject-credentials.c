/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program some of whose threads have become another user, by a system call
 * that libc does not spread. They wait where a stop does the least harm, and
 * yet none of them works for us: it is the leader, in each of many visits.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

enum { OTHERS = 6, NOBODY = 65534, VISITS = 12, SKIPPED = 77 };

static pthread_barrier_t all_there;

static void *
as_nobody(void *arg)
{
	if (syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) < 0)
		_exit(98);
	pthread_barrier_wait(&all_there);
	for (;;)
		(void)pause();
	return arg;
}

static int
run_program(const char *number)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct victim_page *page = victim_page_of(number);
	pthread_t thread;

	pthread_barrier_init(&all_there, NULL, OTHERS + 1);
	for (int i = 0; i < OTHERS; i++)
		if (pthread_create(&thread, NULL, as_nobody, NULL) != 0)
			_exit(99);
	pthread_barrier_wait(&all_there);
	page->ready = 1;
	while (!page->stop)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL);
	_exit(geteuid() == 0 ? 0 : 97);
}

static int
visit(struct target *t, pid_t leader)
{
	const struct guest_options opt = {
		.windows = 8, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 65536, .interval_ns = 10000000,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &opt, &report);
	pid_t donor = report.donor;

	if (!g) {
		printf("FAILED: %s\n", fail_last()->reason);
		return -1;
	}
	if (donor == leader && guest_stop(g, &report) < 0) {
		printf("FAILED: stop: %s\n", fail_last()->reason);
		donor = 0;
	} else if (donor != leader) {
		printf("FAILED: thread %d worked for us, not the leader %d\n",
		       (int)donor, (int)leader);
		(void)guest_stop(g, &report);
	}
	guest_close(g);
	return donor == leader ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct victim_page *page;
	struct target *t;
	int status = -1, failed = 0;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	if (geteuid() != 0)
		return SKIPPED;
	pid = victim_start("others", (void **)&page);
	t = pid > 0 ? target_open(pid) : NULL;
	if (!t)
		return 99;
	for (int i = 0; i < VISITS && !failed; i++)
		failed = visit(t, pid) < 0;
	page->stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	if (status != 0)
		printf("FAILED: the program ended with %#x\n",
		       (unsigned)status);
	return failed || status != 0;
}
