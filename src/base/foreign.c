/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one way to a file whose name others chose. The path is looked up without
 * opening what is there (some devices act on being opened); what was found is
 * then opened, and nobody can put something else there between.
 */
#include "base.h"
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Their files are regular by name; some wait, some act on being read. */
static bool
keeps_files(int fd)
{
	static const long GENERATED[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
		BPF_FS_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof GENERATED / sizeof *GENERATED; i++)
		if ((long)fs.f_type == GENERATED[i])
			return false;
	return true;
}

static int
reopen(int found)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int
foreign_open(const char *path, uint64_t most)
{
	const int found = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	int fd = -1, error;

	if (found < 0)
		return -1;
	if (fstat(found, &st) < 0)
		error = errno;
	else if (!S_ISREG(st.st_mode) || !keeps_files(found))
		error = EINVAL;
	else if ((uint64_t)st.st_size > most)
		error = EFBIG;
	else
		error = (fd = reopen(found)) < 0 ? errno : 0;
	close(found);
	errno = error;
	return fd;
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

size_t
inflated_most(size_t n)
{
	enum { RATIO = 32, FREE = 8 << 20 };

	return n > (SIZE_MAX - FREE) / RATIO ? SIZE_MAX : FREE + n * RATIO;
}
