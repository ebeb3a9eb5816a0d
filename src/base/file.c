/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole files in, whole buffers out, and what time it is.
 */
#include "base.h"
#include "foreign.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int
file_open_plain(int dir_fd, const char *name)
{
	const int links = handled(HAZARD_PLANTED_LINK) ? O_NOFOLLOW : 0;
	/* a fifo of that name must not block us */
	const int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
			      O_NOCTTY | links);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* Up to its end, but no more than most. Closes fd, which may be -1. */
static char *
read_whole(int fd, size_t most, size_t *size)
{
	enum { STEP = 4096 };

	if (fd < 0)
		return NULL;

	char *data = NULL;
	size_t cap = 0, len = 0;

	for (;;) {
		data = xgrow(data, &cap, len + STEP, 1);

		const size_t room = cap - len - 1, left = most - len;
		const ssize_t n = read(fd, data + len, left < room ? left :
				       room);

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
file_read_at(int dir_fd, const char *path, size_t *size)
{
	return read_whole(openat(dir_fd, path, O_RDONLY | O_CLOEXEC), SIZE_MAX,
			  size);
}

bool
file_is_hollow(int fd)
{
	enum { BLOCK = 512 };		/* of st_blocks, everywhere */
	struct stat st;

	return fstat(fd, &st) < 0 || (uint64_t)st.st_size >
		inflated_most((size_t)st.st_blocks * BLOCK);
}

char *
file_read_plain(int dir_fd, const char *name, size_t *size)
{
	const int fd = file_open_plain(dir_fd, name);
	struct stat st = { 0 };

	if (fd < 0)
		return NULL;
	/* the size before the holes: it may grow in between */
	if (fstat(fd, &st) < 0 || file_is_hollow(fd)) {
		(void)close(fd);
		errno = EFBIG;
		return NULL;
	}
	return read_whole(fd, (size_t)st.st_size, size);
}

char *
file_read(const char *path, size_t *size)
{
	return file_read_at(AT_FDCWD, path, size);
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

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);	/* every kernel has these clocks */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
