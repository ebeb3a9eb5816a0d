/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call functions of a running program on a thread of our own (mission: X1):
 * the result comes back, a function that crashes or aborts ends alone and is
 * told, one that does not return, or that nobody waits for, is given up; the
 * program goes on through it all, and when the function ends it, we say how.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

struct shared {
	struct victim_page at;
	volatile uint64_t add, crash, hang, leave, abort, plain;
	uint64_t scheduled[6];	/* the program, by sched_getattr */
};

static struct shared *shared;
static int failed;

static long
add(long a, long b)
{
	return a * 1000 + b;
}

static long
crash(const volatile long *at)
{
	return *at;
}

static void
hang(void)
{
	while (!shared->at.stop)
		usleep(1000);
}

/* Threads that it might make would be scheduled as it is, for ever. */
static long
plain(void)
{
	uint64_t own[6];

	return syscall(SYS_sched_getattr, 0, own, sizeof own, 0) == 0 &&
		memcmp(own, shared->scheduled, sizeof own) == 0;
}

static void *
idle(void *arg)
{
	while (!shared->at.stop)
		usleep(1000);
	return arg;
}

static int
run_program(const char *threads, const char *page)
{
	pthread_t th;

	shared = victim_page_of(page);
	shared->add = (uintptr_t)add;
	shared->crash = (uintptr_t)crash;
	shared->hang = (uintptr_t)hang;
	shared->leave = (uintptr_t)exit;
	shared->abort = (uintptr_t)abort;
	shared->plain = (uintptr_t)plain;
	(void)syscall(SYS_sched_getattr, 0, shared->scheduled,
		      sizeof shared->scheduled, 0);
	if (strcmp(threads, "2") == 0)
		pthread_create(&th, NULL, idle, NULL);
	shared->at.ready = 1;
	idle(NULL);
	if (strcmp(threads, "2") == 0)
		pthread_join(th, NULL);
	return 0;
}

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	failed++;
	printf("FAILED: %s: %s\n", what, fail_last()->reason);
}

static bool
no_longer(void *asked)
{
	return ++*(unsigned *)asked >= 300;
}

/* exit(): the program's end, and how it ended. */
static void
try_end(const char *threads, const char *how)
{
	const pid_t pid = victim_start(threads, (void **)&shared);
	struct target *t = target_open(pid);
	const uint64_t args[] = { 4 };
	const struct inject_limits limits = { .own_ns = 10000000000 };
	uint64_t result;

	if (!t)
		abort();
	check(inject_call(t, shared->leave, args, 1, &limits, &result,
			  NULL) < 0 &&
	      fail_last()->kind == FAIL_ENDED &&
	      strcmp(fail_last()->reason, how) == 0, how);
	/* its parent may have it at once */
	target_close(t);
	(void)waitpid(pid, NULL, 0);	/* if we have not waited as its tracer */
	munmap(shared, VICTIM_PAGE_SIZE);
}

static void
try_calls(const char *threads)
{
	const pid_t pid = victim_start(threads, (void **)&shared);
	struct target *t = target_open(pid);
	const uint64_t args[] = { 7, 35 }, null[] = { 0 };
	const uint64_t second = 1000000000;
	const struct inject_limits patient = { .own_ns = 10 * second };
	const struct inject_limits hasty = { .own_ns = second };
	const struct inject_limits busy = {
		.own_ns = 1000 * second, .wall_ns = second / 10,
	};
	unsigned asked = 0;
	const struct inject_limits unwanted = {
		.own_ns = 1000 * second, .cancelled = no_longer,
		.arg = &asked,
	};
	struct inject_report report;
	uint64_t result = 0;
	unsigned before;
	int status = -1, i;

	if (!t)
		abort();
	before = count_threads(pid);
	for (i = 0; i < 3; i++) {
		check(inject_call(t, shared->add, args, 2, &patient,
				  &result, &report) == 0 && result == 7035,
		      "a call returns its result");
		check(inject_call(t, shared->crash, null, 1, &patient,
				  &result, &report) < 0 &&
		      strstr(fail_last()->reason, "crashed"),
		      "a crash is told");
		check(report.met.why == INJECT_FAULTED &&
		      report.met.signal == SIGSEGV &&
		      report.met.frame_count > 0 &&
		      report.met.frames[0] - shared->crash < 64,
		      "and where it was");
		check(inject_call(t, shared->abort, NULL, 0, &patient,
				  &result, &report) < 0 &&
		      report.met.why == INJECT_FAULTED &&
		      report.met.signal == SIGABRT, "an abort is told");
		check(inject_call(t, shared->plain, NULL, 0, &patient,
				  &result, &report) == 0 && result == 1,
		      "a called function is scheduled as its program");
		check(count_threads(pid) == before, "no thread is left");
	}
	check(inject_call(t, shared->hang, NULL, 0, &hasty, &result,
			  &report) < 0 &&
	      strstr(fail_last()->reason, "did not return"),
	      "a call that does not return is given up");
	check(inject_call(t, shared->hang, NULL, 0, &busy, &result,
			  &report) < 0 &&
	      strstr(fail_last()->reason, "busy machine"),
	      "also when it gets no processor");
	check(inject_call(t, shared->hang, NULL, 0, &unwanted, &result,
			  &report) < 0 &&
	      strstr(fail_last()->reason, "cancelled") &&
	      strstr(fail_last()->remedy, "stays in it"),
	      "and when nobody wants it any more");
	check(inject_call(t, shared->add, args, 2, &patient, &result,
			  &report) == 0 && result == 7035,
	      "the next call works");
	shared->at.stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	check(status == 0, "the program ended well");
	munmap(shared, VICTIM_PAGE_SIZE);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[1], argv[2]);
	try_calls("1");
	try_calls("2");
	try_end("1", "the target exited with status 4");
	try_end("2", "the target exited with status 4");
	return failed ? 1 : 0;
}
