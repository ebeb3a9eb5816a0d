/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which call a thread is blocked in, by /proc/PID/task/TID/syscall: "running",
 * "-1 SP PC" where it waits outside of any call, or "202 ARGUMENT... SP PC"
 * with six of them. The kernel tells all of it in one moment.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 6 };

int
call_open(const struct target *t, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/syscall", (int)tid);
	return openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Who looks often wants no arguments: then they are only skipped. */
static char *
take_arguments(char *at, uint64_t args[6])
{
	for (int i = 0; i < ARGUMENTS; i++) {
		if (args)
			args[i] = strtoull(at, &at, 16);
		else
			at = strchrnul(at + (*at == ' '), ' ');
	}
	return at;
}

static int
parse_call(char *text, struct task_call *c, uint64_t args[6])
{
	char *at, *end;
	const long nr = strtol(text, &at, 10);

	if (at == text)
		return 0;
	if (nr >= 0)
		at = take_arguments(at, args);
	c->nr = nr;
	c->sp = strtoull(at, &at, 16);
	c->pc = strtoull(at, &end, 16);
	if (end > at)
		return 1;
	errno = EINVAL;
	return -1;
}

int
task_call_at(int fd, struct task_call *c, uint64_t args[6])
{
	char text[256];
	ssize_t n;

	if (fd < 0) {
		errno = EBADF;
		return -1;
	}
	errno = ENODATA;		/* should nothing come */
	n = pread(fd, text, sizeof text - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return parse_call(text, c, args);
}

int
target_thread_call(const struct target *t, pid_t tid, struct task_call *c,
		   uint64_t args[6])
{
	const int fd = call_open(t, tid);
	const int r = fd < 0 ? -1 : task_call_at(fd, c, args);

	if (fd >= 0)
		close(fd);
	return r;
}
