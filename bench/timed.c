/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run a program and write when it began (CLOCK_MONOTONIC, right before its
 * exec) and what it took, in nanoseconds:
 *
 *     timed FILE [--until FILE2] PROGRAM ARGUMENTS...
 *
 * `start`, `wall`, `cpu` (its own and that of children it waited for), and
 * `memory`, the most that was resident, in bytes.
 * With --until also `visible`: when FILE2 came to hold something.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../tests/victims/victim.h"

static void
stop(const char *what)
{
	fprintf(stderr, "timed: %s: %s\n", what, strerror(errno));
	exit(99);
}

static uint64_t
of_timeval(struct timeval t)
{
	return t.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)t.tv_usec * UINT64_C(1000);
}

/* Polls: a directory that does not exist yet cannot be watched. */
static uint64_t
wait_for_bytes(const char *path, pid_t child)
{
	const struct timespec moment = { 0, 200000 };
	siginfo_t si = { 0 };
	struct stat st;

	while (si.si_pid == 0) {
		if (stat(path, &st) == 0 && st.st_size > 0)
			return victim_clock(CLOCK_MONOTONIC);
		nanosleep(&moment, NULL);
		if (waitid(P_PID, (id_t)child, &si,
			   WEXITED | WNOHANG | WNOWAIT) < 0)
			stop("waitid");
	}
	return 0;
}

static void
run(char **argv)
{
	execvp(argv[0], argv);
	stop(argv[0]);
}

int
main(int argc, char **argv)
{
	const bool until = argc > 4 && strcmp(argv[2], "--until") == 0;
	char **program = argv + (until ? 4 : 2);
	uint64_t visible = 0;
	struct rusage use;
	int status;

	if (argc < 3) {
		fputs("usage: timed FILE [--until FILE2] PROGRAM...\n", stderr);
		return 99;
	}

	const uint64_t from = victim_clock(CLOCK_MONOTONIC);
	const pid_t child = fork();

	if (child < 0)
		stop("fork");
	if (child == 0)
		run(program);
	if (until)
		visible = wait_for_bytes(argv[3], child);
	if (waitpid(child, &status, 0) < 0)
		stop("waitpid");

	const uint64_t to = victim_clock(CLOCK_MONOTONIC);

	if (getrusage(RUSAGE_CHILDREN, &use) < 0)
		stop("getrusage");
	if (!freopen(argv[1], "w", stdout))
		stop(argv[1]);
	victim_say("start", from);
	victim_say("wall", to - from);
	victim_say("cpu", of_timeval(use.ru_utime) + of_timeval(use.ru_stime));
	victim_say("memory", (uint64_t)use.ru_maxrss * 1024);
	if (visible)
		victim_say("visible", visible);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
