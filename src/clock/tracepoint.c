/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The number that this kernel has given to a tracepoint. It stands in tracefs,
 * which need not be mounted anywhere: then it is mounted for us alone, at no
 * place (fsmount, Linux 5.2), and is gone with the descriptor.
 */
#include "perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const places[] = { "/sys/kernel/tracing",
				      "/sys/kernel/debug/tracing" };

static int
mount_nowhere(void)
{
	const int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd = -1;

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);

	const int error = errno;

	close(fs);
	errno = error;
	return fd;
}

static int
number_below(int dir, const char *name)
{
	char path[128], text[32];

	(void)snprintf(path, sizeof path, "events/%s/id", name);

	const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	const int error = errno;

	if (fd >= 0)
		close(fd);
	errno = n == 0 ? ENODATA : error;
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return (int)strtol(text, NULL, 10);
}

int
tracepoint_number(const char *name)
{
	int number = -1;

	for (size_t i = 0; i <= ARRAY_LEN(places) && number < 0; i++) {
		const int dir = i < ARRAY_LEN(places) ?
			open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC) :
			mount_nowhere();

		if (dir < 0)
			continue;
		number = number_below(dir, name);

		const int error = errno;

		close(dir);
		errno = error;
	}
	return number;
}
