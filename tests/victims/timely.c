/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * timely WAY: from its first word on standard input it uses CPU time, says how
 * much by its own clocks, and ends at once:
 *
 *	join	two threads do, and are joined
 *	leader	the first thread ends before the other does
 *	exit	exit_group while two others run
 *	kill	the same, by SIGKILL
 *	modes	one thread never enters the kernel, the first one is there
 *		nearly always
 *	children	three children do, one after another; it waits for the end
 *		of its input then
 *	naps	one thread sleeps for 5 ms and computes for one, again and again;
 *		it says how long it was in nap
 *	writes	one thread computes and now and then fills a pipe that a child
 *		empties; it says how long it was in write, and how many of them
 *		were cut short
 *	sleep	none: it sleeps for 2.5 s
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PART_MS = 300 };

static volatile unsigned long sink;
static volatile int over;
static double computes;

static double
now(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void
compute(int ms)
{
	const double end = now(CLOCK_THREAD_CPUTIME_ID) + ms / 1e3;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
}

static void
say(void)
{
	printf("cpu %.6f\n", now(CLOCK_PROCESS_CPUTIME_ID));
	(void)fflush(stdout);
}

static void *
part(void *arg)
{
	compute(PART_MS);
	return arg;
}

static void *
last(void *arg)
{
	(void)arg;
	compute(PART_MS);
	say();
	_exit(0);
}

static void *
endless(void *arg)
{
	for (;;)
		sink++;
	return arg;
}

static void *
user_only(void *arg)
{
	while (!over)
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i;
	computes = now(CLOCK_THREAD_CPUTIME_ID);
	return arg;
}

static void
threads(void *(*what)(void *), pthread_t *made, int n)
{
	for (int i = 0; i < n; i++)
		if (pthread_create(&made[i], NULL, what, NULL) != 0)
			_exit(99);
}

static void
modes(void)
{
	static char zeroes[1 << 20];
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	const double before = now(CLOCK_THREAD_CPUTIME_ID);
	pthread_t one;

	threads(user_only, &one, 1);
	while (now(CLOCK_THREAD_CPUTIME_ID) < before + 1.2)
		if (read(fd, zeroes, sizeof zeroes) <= 0)
			_exit(99);

	const double reads = now(CLOCK_THREAD_CPUTIME_ID) - before;

	over = 1;
	(void)pthread_join(one, NULL);
	printf("computes %.6f\nreads %.6f\n", computes, reads);
}

static void
children(void)
{
	char byte;

	for (int i = 0; i < 3; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			compute(PART_MS);
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
	}
	say();
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

__attribute__((noinline)) static void
nap(void)
{
	(void)nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	sink++;
}

__attribute__((noinline)) static void
works(void)
{
	for (int i = 0; i < 500000; i++)
		sink += (unsigned long)i;
}

static void
naps(void)
{
	const double end = now(CLOCK_MONOTONIC) + 2.5;
	double in_nap = 0, before, after = 0;

	while (after < end) {
		before = now(CLOCK_MONOTONIC);
		nap();
		after = now(CLOCK_MONOTONIC);
		in_nap += after - before;
		works();
	}
	printf("naps %.6f\n", in_nap);
}

static void
empty(int fd)
{
	static char bytes[1 << 16];

	while (read(fd, bytes, sizeof bytes) > 0)
		;
	_exit(0);
}

/* The CPU time of it; one that is cut short is counted. */
static double
fill(int fd, int *cut)
{
	static char bytes[1 << 18];
	const double before = now(CLOCK_THREAD_CPUTIME_ID);

	*cut += write(fd, bytes, sizeof bytes) < (ssize_t)sizeof bytes;
	return now(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void
writes(void)
{
	double in_writes = 0;
	int ends[2], cut = 0;

	if (pipe(ends) < 0)
		_exit(99);
	if (fork() == 0) {
		(void)close(ends[1]);
		empty(ends[0]);
	}
	for (int i = 0; i < 60; i++) {
		compute(50);
		in_writes += fill(ends[1], &cut);
	}
	printf("writes %.6f\ncut %d\n", in_writes, cut);
	say();
}

static void
end_running(int by_kill)
{
	pthread_t made[2];

	threads(endless, made, 2);
	compute(PART_MS);
	say();
	if (by_kill)
		(void)kill(getpid(), SIGKILL);
	_exit(0);
}

int
main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t made[2];
	char byte;

	printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 99;
	if (strcmp(way, "join") == 0) {
		threads(part, made, 2);
		(void)pthread_join(made[0], NULL);
		(void)pthread_join(made[1], NULL);
		say();
	} else if (strcmp(way, "leader") == 0) {
		compute(PART_MS);
		threads(last, made, 1);
		pthread_exit(NULL);
	} else if (strcmp(way, "exit") == 0 || strcmp(way, "kill") == 0) {
		end_running(way[0] == 'k');
	} else if (strcmp(way, "modes") == 0) {
		modes();
	} else if (strcmp(way, "writes") == 0) {
		writes();
	} else if (strcmp(way, "naps") == 0) {
		naps();
	} else if (strcmp(way, "children") == 0) {
		children();
	} else {
		(void)nanosleep(&(struct timespec){ 2, 500000000 }, NULL);
	}
	return 0;
}
