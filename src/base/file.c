/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole files in, whole buffers out, and what time it is.
 */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *
file_read_at(int dir_fd, const char *path, size_t *size)
{
	const int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;

	char *data = NULL;
	size_t cap = 0, len = 0;

	for (;;) {
		data = xgrow(data, &cap, len + 4096, 1);

		const ssize_t n = read(fd, data + len, cap - len - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			const int error = errno;

			free(data);
			close(fd);
			errno = error;
			return NULL;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	data[len] = '\0';
	if (size)
		*size = len;
	return data;
}

char *
file_read(const char *path, size_t *size)
{
	return file_read_at(AT_FDCWD, path, size);
}

bool
file_is_private(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int
write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		const ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
