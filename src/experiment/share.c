/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments of one visit to many processes of one program: equal copies in
 * their archives become one file with many names. Only what is equal byte by
 * byte, in directories of ours, reached over no link; where a file system has
 * no hard links, each keeps its copy.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "experiment.h"

static int
open_ours(int at, const char *name)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			      O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid()))
		return fd;
	close(fd);
	return -1;
}

static int
open_archives(const char *experiment)
{
	const int dir = open_ours(AT_FDCWD, experiment);
	const int fd = dir < 0 ? -1 : open_ours(dir, "archives");

	if (dir >= 0)
		close(dir);
	return fd;
}

static bool
have_equal_bytes(int a, int b)
{
	enum { CHUNK = 128 << 10 };
	char *buf = xmalloc(2 * CHUNK);
	ssize_t n, m;

	do {
		n = read(a, buf, CHUNK);
		m = read(b, buf + CHUNK, CHUNK);
	} while (n > 0 && n == m &&
		 memcmp(buf, buf + CHUNK, (size_t)n) == 0);
	free(buf);
	return n == 0 && m == 0;
}

static bool
are_equal(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && S_ISREG(x.st_mode) &&
		S_ISREG(y.st_mode) && x.st_size == y.st_size &&
		x.st_dev == y.st_dev && x.st_ino != y.st_ino &&
		have_equal_bytes(a, b);
}

/* The name in `to` becomes another name of the file in `from`. */
static void
share(int from, int to, const char *name)
{
	char *temporary = xasprintf(".sharing.%d", (int)getpid());

	if (linkat(from, name, to, temporary, 0) == 0 &&
	    renameat(to, temporary, to, name) < 0)
		(void)unlinkat(to, temporary, 0);
	free(temporary);
}

static bool
share_with(int from, int to, const char *name)
{
	const int a = file_open_plain(from, name);
	const int b = a < 0 ? -1 : file_open_plain(to, name);
	const bool equal = b >= 0 && are_equal(a, b);

	if (equal)
		share(from, to, name);
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return equal;
}

static int
is_copy(const struct dirent *ent)
{
	return ent->d_name[0] != '.' && strcmp(ent->d_name, "xxh64") != 0;
}

/* What one of the first n has already. */
static void
share_all(const int *fds, size_t n, int to)
{
	struct dirent **names;
	const int count = scandirat(to, ".", &names, is_copy, NULL);

	for (int i = 0; i < count; i++) {
		for (size_t k = 0; k < n; k++)
			if (fds[k] >= 0 &&
			    share_with(fds[k], to, names[i]->d_name))
				break;
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

void
experiment_share_archives(const char *const *paths, size_t n)
{
	int *fds = xcalloc(n + 1, sizeof *fds);

	for (size_t i = 0; i < n; i++) {
		fds[i] = open_archives(paths[i]);
		if (fds[i] >= 0)
			share_all(fds, i, fds[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
}
