/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call functions of a running program on a thread of our own (mission: X1):
 * the result comes back, a function that crashes ends alone and is told, one
 * that does not return is given up, and the program goes on through it all.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"

struct shared {
	volatile int ready, stop;
	volatile uint64_t add, crash, hang;
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
	while (!shared->stop)
		usleep(1000);
}

static void *
idle(void *arg)
{
	while (!shared->stop)
		usleep(1000);
	return arg;
}

static int
run_program(const char *threads, int fd)
{
	pthread_t th;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	shared->add = (uintptr_t)add;
	shared->crash = (uintptr_t)crash;
	shared->hang = (uintptr_t)hang;
	if (strcmp(threads, "2") == 0)
		pthread_create(&th, NULL, idle, NULL);
	shared->ready = 1;
	idle(NULL);
	if (strcmp(threads, "2") == 0)
		pthread_join(th, NULL);
	return 0;
}

static pid_t
start(const char *threads)
{
	const int fd = memfd_create("shared", 0);
	char number[16];
	pid_t pid;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return -1;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(number, sizeof number, "%d", fd);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "victim", threads, number,
		      (char *)NULL);
		_exit(99);
	}
	close(fd);
	while (pid > 0 && !shared->ready)
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return -1;
	return pid;
}

static unsigned
count_threads(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	failed++;
	printf("FAILED: %s: %s\n", what, fail_last()->reason);
}

static void
try_calls(const char *threads)
{
	const pid_t pid = start(threads);
	struct target *t = target_open(pid);
	const uint64_t args[] = { 7, 35 }, null[] = { 0 };
	const uint64_t second = 1000000000;
	struct inject_report report;
	uint64_t result = 0;
	unsigned before;
	int status = -1, i;

	if (!t)
		abort();
	before = count_threads(pid);
	for (i = 0; i < 3; i++) {
		check(inject_call(t, shared->add, args, 2, 10 * second,
				  &result, &report) == 0 && result == 7035,
		      "a call returns its result");
		check(inject_call(t, shared->crash, null, 1, 10 * second,
				  &result, &report) < 0 &&
		      strstr(fail_last()->reason, "crashed"),
		      "a crash is told");
		check(count_threads(pid) == before, "no thread is left");
	}
	check(inject_call(t, shared->hang, NULL, 0, second, &result,
			  &report) < 0 &&
	      strstr(fail_last()->reason, "did not return"),
	      "a call that does not return is given up");
	check(inject_call(t, shared->add, args, 2, 10 * second, &result,
			  &report) == 0 && result == 7035,
	      "the next call works");
	shared->stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	check(status == 0, "the program ended well");
	munmap(shared, 4096);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[1], atoi(argv[2]));
	try_calls("1");
	try_calls("2");
	return failed ? 1 : 0;
}
