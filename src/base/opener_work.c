/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that others chose, looked at where waiting does no harm. The path is
 * looked up without opening what is there (some devices act on being opened);
 * what was found is then opened, and nobody can put something else there
 * between. A file of FUSE, whose every read may wait, is copied.
 */
#include "as_user.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { CHUNK = 64 << 10, TEXT_MAX = 1 << 20 };
static const uint64_t COPY_MAX = 512 << 20;

/* Their files are regular by name; some wait, some act on being read. */
bool
opener_keeps_files(const struct statfs *fs)
{
	static const long GENERATED[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
		BPF_FS_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,
	};

	for (size_t i = 0; i < ARRAY_LEN(GENERATED); i++)
		if ((long)fs->f_type == GENERATED[i])
			return false;
	return true;
}

enum longer { LONGER_FAILS, LONGER_IS_CUT };

/* Up to most bytes; closes from. A descriptor of nameless memory. */
static int
copy_of(int from, uint64_t most, enum longer longer,
	void (*goes_on)(void *arg), void *arg)
{
	const int to = memfd_create("copy", MFD_CLOEXEC);
	char *chunk = xmalloc(CHUNK);
	uint64_t done = 0;
	ssize_t n = 0;
	int error = to < 0 ? errno : 0;

	while (!error && !(longer == LONGER_IS_CUT && done >= most) &&
	       (n = read(from, chunk, CHUNK)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		done += n > 0 ? (uint64_t)n : 0;
		if (n < 0 || (done > most && longer == LONGER_FAILS))
			error = n < 0 ? errno : EFBIG;
		else if (write_all(to, chunk, (size_t)n) < 0)
			error = errno;
		if (goes_on)
			goes_on(arg);
	}
	free(chunk);
	close(from);
	if (!error && lseek(to, 0, SEEK_SET) == 0)
		return to;
	if (to >= 0)
		close(to);
	errno = error;
	return -1;
}

static int
open_as(const struct opener_request *q, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	return q->of_user ? open_as_user(path, flags, q->uid, q->gid) :
		open(path, flags);
}

static int
open_found(const struct opener_request *q, int found,
	   void (*goes_on)(void *arg), void *arg)
{
	const uint64_t most = q->most ? q->most : UINT64_MAX;
	struct statfs fs;
	struct stat st;
	char path[64];
	int fd;

	if (fstat(found, &st) < 0 || fstatfs(found, &fs) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || !opener_keeps_files(&fs)) {
		errno = EINVAL;
		return -1;
	}
	if ((uint64_t)st.st_size > most) {
		errno = EFBIG;
		return -1;
	}
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	fd = open_as(q, path);
	if (fd < 0 || (unsigned long)fs.f_type != FUSE_SUPER_MAGIC)
		return fd;
	return copy_of(fd, most < COPY_MAX ? most : COPY_MAX, LONGER_FAILS,
		       goes_on, arg);
}

/* The way there is the user's, too. */
static int
find(int dir_fd, const struct opener_request *q)
{
	const int links = q->flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0;

	if (q->of_user)
		return open_as_user(q->path, O_PATH | O_CLOEXEC, q->uid,
				    q->gid);
	return openat(dir_fd, q->path, O_PATH | O_CLOEXEC | links);
}

static int
open_it(int dir_fd, const struct opener_request *q,
	void (*goes_on)(void *arg), void *arg)
{
	const int found = find(dir_fd, q);
	const int fd = found < 0 ? -1 : open_found(q, found, goes_on, arg);
	const int error = errno;

	if (found >= 0)
		close(found);
	errno = error;
	return fd;
}

static int
read_text(int dir_fd, const struct opener_request *q)
{
	const int fd = openat(dir_fd, q->path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : copy_of(fd, TEXT_MAX, LONGER_IS_CUT, NULL,
				     NULL);
}

static int
find_mapped(int dir_fd, const struct opener_request *q,
	    struct opener_answer *a)
{
	struct mapped m = q->mapped;
	char *found;

	m.path = q->name;
	found = mapped_file_here(dir_fd, q->path, &m);
	if (!found || strlen(found) >= sizeof a->path) {
		free(found);
		errno = ENOENT;
		return -1;
	}
	memcpy(a->path, found, strlen(found) + 1);
	free(found);
	return 0;
}

int
opener_work(int dir_fd, const struct opener_request *q,
	    struct opener_answer *a, void (*goes_on)(void *arg), void *arg)
{
	*a = (struct opener_answer){ 0 };
	switch (q->work) {
	case OPENER_OPEN:
		return open_it(dir_fd, q, goes_on, arg);
	case OPENER_STAT:
		return fstatat(dir_fd, q->path, &a->st, q->flags);
	case OPENER_MAPPED:
		return find_mapped(dir_fd, q, a);
	case OPENER_TEXT:
		return read_text(dir_fd, q);
	}
	errno = EINVAL;
	return -1;
}
