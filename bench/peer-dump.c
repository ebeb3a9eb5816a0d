/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a dump of one moment costs with libunwind-ptrace as it comes: seize
 * all threads, stop them, unwind, let them go.
 *
 *     peer-dump PID stock|cached|floor
 *
 * floor: nothing is read, which is what the kernel takes for itself. Prints `pause NS`, `frames N` and `threads N`.
 */
#include <dirent.h>
#include <libunwind-ptrace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { THREADS_MAX = 4096, FRAMES_MAX = 1000 };

static pid_t tids[THREADS_MAX];
static size_t count, frames;

static void
stop(const char *what)
{
	fprintf(stderr, "peer-dump: %s\n", what);
	exit(99);
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void
seize_all(const char *pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	dir = opendir(path);
	if (!dir)
		stop("no such process");
	while ((entry = readdir(dir)) && count < THREADS_MAX) {
		const pid_t tid = atoi(entry->d_name);

		if (tid > 0 && ptrace(PTRACE_SEIZE, tid, 0, 0) == 0)
			tids[count++] = tid;
	}
	closedir(dir);
}

static void
stop_all(void)
{
	int status;

	for (size_t i = 0; i < count; i++)
		ptrace(PTRACE_INTERRUPT, tids[i], 0, 0);
	for (size_t i = 0; i < count; i++)
		if (waitpid(tids[i], &status, __WALL) != tids[i] ||
		    !WIFSTOPPED(status))
			stop("a thread ended");
}

static void
unwind(unw_addr_space_t space, pid_t tid)
{
	void *accessors = _UPT_create(tid);
	unw_cursor_t cursor;

	if (unw_init_remote(&cursor, space, accessors) < 0)
		stop("unw_init_remote");
	for (int i = 0; i < FRAMES_MAX; i++) {
		frames++;
		if (unw_step(&cursor) <= 0)
			break;
	}
	_UPT_destroy(accessors);
}

int
main(int argc, char **argv)
{
	unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);

	if (argc != 3 || !space)
		stop("usage: peer-dump PID stock|cached|floor");
	if (strcmp(argv[2], "cached") == 0)
		unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
	seize_all(argv[1]);

	const uint64_t from = now();

	stop_all();
	for (size_t i = 0; i < count && strcmp(argv[2], "floor") != 0; i++)
		unwind(space, tids[i]);
	for (size_t i = 0; i < count; i++)
		ptrace(PTRACE_DETACH, tids[i], 0, 0);
	printf("pause %llu\nframes %zu\nthreads %zu\n",
	       (unsigned long long)(now() - from), frames, count);
	return 0;
}
