/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file is behind a mapping of a process. What /proc/PID/maps calls it is
 * a path as the reader would see it, and may be no file's: of a memfd, of a
 * file that was deleted or replaced, of another mount namespace. So whatever is
 * found by a name must prove to be that file:
 *
 *	map_files/START-END	the kernel's link to the very file; needs
 *				CAP_CHECKPOINT_RESTORE to be followed
 *	exe			the same of the program, and needs nothing
 *	root/PATH		as the process sees it: other mount namespaces
 *	PATH			as we see it: a process in a chroot of ours
 *	map_files of another	part of the file, where this one was split,
 *				or copied to other memory
 *
 * The proof is the inode number, of stat or of fdinfo: overlay file systems
 * show in maps the number that fdinfo has. Their device numbers are no proof,
 * nor are those of btrfs. A link of the kernel's that has the same name is one,
 * too.
 */
#include "opener.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The inode number of the file system that the descriptor was opened on. */
static bool
has_inode(int fd, uint64_t inode)
{
	char path[64];
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (!inode || st.st_ino == inode)
		return true;
	(void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);

	char *text = file_read(path, NULL);
	const char *at = text ? strstr(text, "ino:\t") : NULL;
	const bool same = at &&
		strtoull(at + strlen("ino:\t"), NULL, 10) == inode;

	free(text);
	return same;
}

/* Never opens what would block or act on being opened. */
static int
open_regular(int dir_fd, const char *path)
{
	struct stat st;
	const int fd = openat(dir_fd, path,
			      O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Takes path; NULL unless it is that file's. */
static char *
proved(int dir_fd, char *path, uint64_t inode)
{
	const int fd = open_regular(dir_fd, path);
	const bool good = fd >= 0 && has_inode(fd, inode);

	if (fd >= 0)
		close(fd);
	if (good)
		return path;
	free(path);
	return NULL;
}

static bool
links_to(int dir_fd, const char *link, const char *path)
{
	static const char mark[] = " (deleted)";
	const size_t want = strlen(path);
	char to[PATH_MAX + sizeof mark];
	const ssize_t n = readlinkat(dir_fd, link, to, sizeof to - 1);

	to[n > 0 ? n : 0] = '\0';
	return want && strncmp(to, path, want) == 0 &&
		(!to[want] || strcmp(to + want, mark) == 0);
}

/* Takes link, one of the kernel's to a file. */
static char *
proved_link(int dir_fd, char *link, const struct mapped *m)
{
	int fd;

	if (!links_to(dir_fd, link, m->path))
		return proved(dir_fd, link, m->inode);
	fd = open_regular(dir_fd, link);
	if (fd >= 0) {
		close(fd);
		return link;
	}
	free(link);
	return NULL;
}

static char *
range_link(const char *proc, uint64_t start, uint64_t end)
{
	return xasprintf("%s/map_files/%llx-%llx", proc,
			 (unsigned long long)start, (unsigned long long)end);
}

/* Is that line of maps about the same file? */
static bool
is_of_file(const char *line, const struct mapped *m, uint64_t *start,
	   uint64_t *end)
{
	unsigned long long from, to, inode;
	unsigned major, minor;
	int path = 0;

	if (sscanf(line, "%llx-%llx %*s %*s %x:%x %llu %n", &from, &to, &major,
		   &minor, &inode, &path) < 5)
		return false;
	*start = from;
	*end = to;
	if (m->inode)
		return inode == m->inode &&
			makedev(major, minor) == m->device;

	const size_t n = strlen(m->path);

	return inode && strncmp(line + path, m->path, n) == 0 &&
		(line[path + n] == '\n' || line[path + n] == ' ');
}

/* By another mapping of the same file. */
static char *
by_sibling(int dir_fd, const char *proc, const struct mapped *m)
{
	char *maps = xasprintf("%s/maps", proc);
	char *text = file_read_at(dir_fd, maps, NULL), *found = NULL;
	uint64_t start, end;

	for (const char *line = text; line && *line && !found;) {
		const char *next = strchr(line, '\n');

		if (is_of_file(line, m, &start, &end) && start != m->start)
			found = proved_link(dir_fd,
					    range_link(proc, start, end), m);
		line = next ? next + 1 : NULL;
	}
	free(text);
	free(maps);
	return found;
}

static char *
by_name(int dir_fd, const char *proc, const struct mapped *m)
{
	char *found = NULL;

	if (m->path[0] != '/' || str_starts(m->path, "//"))
		return NULL;
	if (m->inode)
		found = proved(dir_fd, xasprintf("%s/root%s", proc, m->path),
			       m->inode);
	if (!found && m->inode)
		found = proved(dir_fd, xstrdup(m->path), m->inode);
	return found;
}

/* Without the inode nothing but the name of the kernel's link proves it. */
static char *
by_exe(int dir_fd, const char *proc, const struct mapped *m)
{
	char *exe = xasprintf("%s/exe", proc);

	if (m->inode || links_to(dir_fd, exe, m->path))
		return proved_link(dir_fd, exe, m);
	free(exe);
	return NULL;
}

static char *
by_range(int dir_fd, const char *proc, const struct mapped *m)
{
	char *link = range_link(proc, m->start, m->end);

	if (m->inode || links_to(dir_fd, link, m->path))
		return proved_link(dir_fd, link, m);
	free(link);
	return NULL;
}

char *
mapped_file_here(int dir_fd, const char *proc, const struct mapped *m)
{
	char *found = by_range(dir_fd, proc, m);

	if (!found)
		found = by_exe(dir_fd, proc, m);
	if (!found)
		found = by_name(dir_fd, proc, m);
	if (!found)
		found = by_sibling(dir_fd, proc, m);
	return found;
}
