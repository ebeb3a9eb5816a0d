/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files are fit to be obeyed, and which directories to be written into.
 *
 * Whoever may write a directory may put any file there under any name, also a
 * file of ours that means something else. So the file alone proves nothing:
 * the directory that holds it, and each one above that, must be root's or
 * ours and writable by nobody else. Above the first one a sticky directory
 * (/tmp) is good enough: others cannot rename what is ours in it. The right of
 * an ACL to write shows in the bits of the group, since they are its mask.
 */
#include "base.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVELS_MAX = 256 };	/* of directories, one in another */

static bool
is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Who is root by sudo works for this user, and in this user's directories;
 * nobody else can set the variable of a root. */
static bool
is_of_sudo(const struct stat *st)
{
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	long long uid;

	return text && str_number(text, 1, UINT32_MAX - 1, &uid) &&
	       st->st_uid == (uid_t)uid;
}

bool
trust_owner(const struct stat *st)
{
	return is_ours(st) || is_of_sudo(st);
}

static bool
others_may_write(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

/* Closes fd. */
static int
parent_of(int fd)
{
	const int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	close(fd);
	return up;
}

/* Of a directory, and of all above it. Closes fd. EPERM: another may. */
static int
check_climb(int fd, enum trust_for what)
{
	struct stat st, below = { 0 };

	for (int level = 0; level < LEVELS_MAX; level++) {
		if (fd < 0 || fstat(fd, &st) < 0)
			break;
		if (level && st.st_dev == below.st_dev &&
		    st.st_ino == below.st_ino) {
			close(fd);
			return 0;
		}

		const bool sticky = (st.st_mode & S_ISVTX) &&
			(level > 0 || what == TRUST_TO_WRITE);

		if (!(is_ours(&st) ||
		      (what == TRUST_TO_WRITE && is_of_sudo(&st))) ||
		    (others_may_write(&st) && !sticky)) {
			errno = EPERM;
			break;
		}
		below = st;
		fd = parent_of(fd);
	}

	const int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

int
directory_trust(int dir_fd, const char *path, enum trust_for what)
{
	return check_climb(openat(dir_fd, path, O_PATH | O_DIRECTORY |
				  O_CLOEXEC), what);
}

/* What was opened is what is looked at: nobody can change it between. */
static FILE *
open_ours(int dir_fd, const char *name)
{
	const int fd = file_open_plain(dir_fd, name);
	struct stat st;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (!handled(HAZARD_RC_FILE) ||
	    (fstat(fd, &st) == 0 && is_ours(&st) && !others_may_write(&st) &&
	     directory_trust(dir_fd, ".", TRUST_TO_OBEY) == 0))
		file = fdopen(fd, "r");
	else
		errno = EPERM;
	if (!file)
		close(fd);
	return file;
}

static FILE *
open_in(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		slash = path - 1;
	else
		*slash = '\0';

	const int dir_fd = open(slash < path ? "." : *path ? path : "/",
				O_PATH | O_DIRECTORY | O_CLOEXEC);
	FILE *file = dir_fd < 0 ? NULL : open_ours(dir_fd, slash + 1);
	const int error = errno;

	if (dir_fd >= 0)
		close(dir_fd);
	errno = error;
	return file;
}

FILE *
file_open_private(const char *path)
{
	char *copy = xstrdup(path);
	FILE *file = open_in(copy);

	free(copy);
	return file;
}

FILE *
file_open_own(const char *path)
{
	char *copy = xstrdup(path), *real = realpath(path, NULL);
	char *slash = strrchr(copy, '/');
	FILE *file = NULL;

	if (slash)
		*slash = '\0';
	/* where the link is, and where the file is that it names */
	if (real && directory_trust(AT_FDCWD, !slash ? "." : *copy ? copy : "/",
				    TRUST_TO_OBEY) == 0)
		file = open_in(real);

	const int error = errno;

	free(copy);
	free(real);
	errno = error;
	return file;
}

bool
path_is_within(const char *path, const char *list)
{
	char *real = realpath(path, NULL);
	bool within = false;

	while (real && !within && *list) {
		const size_t n = strcspn(list, ":");
		char *word = xstrndup(list, n);
		char *dir = n ? realpath(word, NULL) : NULL;
		const size_t len = dir && strcmp(dir, "/") ? strlen(dir) : 0;

		within = dir && strncmp(real, dir, len) == 0 &&
			(!real[len] || real[len] == '/');
		free(dir);
		free(word);
		list += n + (list[n] == ':');
	}
	free(real);
	return within;
}
