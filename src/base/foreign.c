/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files whose names others chose: the whole of one, as text.
 */
#include "base.h"
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
foreign_open(const char *path, uint64_t most)
{
	return foreign_open_at(AT_FDCWD, path, most, 0);
}

/* It may grow meanwhile: no more than was allowed. */
static ssize_t
read_up_to(int fd, char *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const ssize_t got = read(fd, to + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

char *
foreign_read(const char *path, uint64_t most, size_t *size)
{
	const int fd = foreign_open(path, most);
	struct stat st = { 0 };

	if (fd < 0)
		return NULL;
	(void)fstat(fd, &st);	/* it answered a moment before */

	const uint64_t n = (uint64_t)st.st_size < most ?
		(uint64_t)st.st_size : most;
	char *text = xmalloc((size_t)n + 1);
	const ssize_t got = read_up_to(fd, text, (size_t)n);
	const int error = errno;

	close(fd);
	if (got < 0) {
		free(text);
		errno = error;
		return NULL;
	}
	text[got] = '\0';
	if (size)
		*size = (size_t)got;
	return text;
}

const char *
foreign_error(int error)
{
	return error == ETIMEDOUT ? "its file system does not answer" :
		error == EINVAL ? "not a regular file" : strerror(error);
}

size_t
inflated_most(size_t n)
{
	enum { RATIO = 32, FREE = 8 << 20 };

	return n > (SIZE_MAX - FREE) / RATIO ? SIZE_MAX : FREE + n * RATIO;
}
