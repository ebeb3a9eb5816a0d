/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that the user names for output. What stands there may be a link that
 * another user planted, perhaps to a file that only this user may write: it is
 * not followed. Links of root's and of the user's own, in directories that are
 * theirs, are.
 */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };	/* as the kernel follows, at most */

enum link { LINK_FOLLOWED, LINK_OF_KERNEL, LINK_OF_OTHERS, LINK_GONE };

/* Nobody else can put a link there. */
static bool
is_directory_ours(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) :
		xstrdup(".");
	struct stat st;
	const bool ours = stat(dir, &st) == 0 && trust_owner(&st) &&
		(!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);

	free(dir);
	return ours;
}

/* The link *path, held by fd, leads elsewhere by a path, which takes its place;
 * one of /proc leads to what is open already. */
static enum link
follow(int fd, char **path)
{
	const char *slash = strrchr(*path, '/');
	char text[PATH_MAX], *next;
	struct statfs fs;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return LINK_GONE;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return LINK_OF_KERNEL;
	if (!trust_owner(&st) || !is_directory_ours(*path))
		return LINK_OF_OTHERS;
	n = readlinkat(fd, "", text, sizeof text - 1);
	if (n <= 0)
		return LINK_GONE;
	text[n] = '\0';
	next = *text == '/' || !slash ? xstrdup(text) :
		xasprintf("%.*s/%s", (int)(slash - *path), *path, text);
	free(*path);
	*path = next;
	return LINK_FOLLOWED;
}

static int
open_along(char **path, int flags, enum link *last)
{
	*last = LINK_FOLLOWED;
	for (int links = 0; links <= LINKS_MAX; links++) {
		int fd = open(*path, flags | O_NOFOLLOW, 0666);

		if (fd >= 0 || errno != ELOOP)
			return fd;
		fd = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -1;
		*last = follow(fd, path);
		close(fd);
		if (*last == LINK_OF_KERNEL)
			return open(*path, flags, 0666);
		if (*last != LINK_FOLLOWED)
			break;
	}
	errno = ELOOP;
	return -1;
}

int
file_open_out(const char *path, bool append)
{
	char *at = xstrdup(path);
	enum link last;
	const int fd = open_along(&at, O_WRONLY | O_CREAT | O_CLOEXEC |
				  O_NOCTTY | (append ? O_APPEND : O_TRUNC),
				  &last);
	const int error = errno;

	free(at);
	errno = error;
	if (fd >= 0)
		return fd;
	if (last != LINK_OF_OTHERS)
		return fail_errno("open %s", path);
	fail(FAIL_DENIED, "cannot write %s: it is a symbolic link that another "
	     "user can have created", path);
	return fail_remedy("name the file that the link leads to, or another "
			   "file");
}

FILE *
file_out(const char *path, bool append)
{
	const int fd = file_open_out(path, append);
	FILE *file = fd < 0 ? NULL : fdopen(fd, append ? "a" : "w");

	if (fd >= 0 && !file) {
		(void)fail_errno("open %s", path);
		close(fd);
	}
	return file;
}
