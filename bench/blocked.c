/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that sleep deep in their stacks: what `dump` and its peers print.
 *
 *     blocked THREADS DEPTH
 *
 * `ready` is said when every one of them sleeps; end of file ends.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "../tests/victims/victim.h"

enum { THREADS_MAX = 1024, LIMIT_S = 600 };

static pthread_t handles[THREADS_MAX];
static _Atomic pid_t tids[THREADS_MAX];
static int gate[2];
static int depth;

static void
stop(const char *what)
{
	fprintf(stderr, "blocked: %s\n", what);
	exit(99);
}

/* Without something to keep, the compiler makes a loop of it. */
__attribute__((noinline)) static int
descend(int n)
{
	volatile int keep = n;
	char byte;

	if (n > 0)
		return descend(n - 1) + keep;
	return (int)read(gate[0], &byte, 1);
}

static void *
sleeper(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	return (void *)(intptr_t)descend(depth);
}

static bool
sleeps(pid_t tid)
{
	char path[64], text[128] = "";
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(text, sizeof text, file))
		text[0] = '\0';
	fclose(file);
	return strtol(text, NULL, 10) == SYS_read && text[0] == '0';
}

int
main(int argc, char **argv)
{
	const struct timespec moment = { 0, 1000000 };
	const int n = argc == 3 ? atoi(argv[1]) : 0;

	depth = argc == 3 ? atoi(argv[2]) : 0;
	if (n < 1 || n > THREADS_MAX || depth < 1)
		stop("usage: blocked THREADS DEPTH");
	alarm(LIMIT_S);
	if (pipe(gate) < 0)
		stop("no pipe");
	for (int i = 0; i < n; i++)
		if (pthread_create(&handles[i], NULL, sleeper, &tids[i]) != 0)
			stop("no thread");
	for (int i = 0; i < n; i++)
		while (!tids[i] || !sleeps(tids[i]))
			nanosleep(&moment, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	close(gate[1]);
	for (int i = 0; i < n; i++)
		pthread_join(handles[i], NULL);
	return 0;
}
