/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making room for an experiment. Creating the directory is exclusive, so two
 * writers cannot both create it; replacing one needs the lock on its log.xml,
 * which a writer holds for as long as it lives (open file description locks:
 * they also work on network file systems and end with the process). The old
 * experiment is moved aside and removed last, so that a failure loses nothing.
 *
 * We may be root and the directory a user's: no symbolic link is followed.
 */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

enum { DEPTH_MAX = 16 };	/* of a tree that we would remove */

static struct flock
whole_file(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

int
lock_take(int fd)
{
	struct flock lock = whole_file(F_WRLCK);

	return fcntl(fd, F_OFD_SETLK, &lock);
}

bool
lock_file_is_held(int dir_fd, const char *name)
{
	const int fd = file_open_plain(dir_fd, name);

	if (fd < 0)
		return false;

	struct flock lock = whole_file(F_RDLCK);
	const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
		lock.l_type != F_UNLCK;

	close(fd);
	return held;
}

/* A stream of a directory that leaves dir_fd as it is; NULL with errno. */
static DIR *
list_directory(int dir_fd, const char *name)
{
	const int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return NULL;

	DIR *dir = fdopendir(fd);

	if (!dir)
		close(fd);
	return dir;
}

bool
lock_is_held(int dir_fd)
{
	bool held = lock_file_is_held(dir_fd, "log.xml");
	DIR *dir = list_directory(dir_fd, ".");
	const struct dirent *ent;

	if (!dir)
		return held;
	while (!held && (ent = readdir(dir))) {
		if (ent->d_name[0] != '_')
			continue;

		char *log = xasprintf("%s/log.xml", ent->d_name);

		held = lock_file_is_held(dir_fd, log);
		free(log);
	}
	closedir(dir);
	return held;
}

int
place_open(struct place *pl, const char *path)
{
	char *copy = xstrdup(path);
	size_t len = strlen(copy);

	*pl = (struct place){ .parent_fd = -1, .old_lock = -1 };
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';

	char *const slash = strrchr(copy, '/');

	pl->name = xstrdup(slash ? slash + 1 : copy);
	if (slash)
		slash[slash == copy] = '\0';	/* "/x.er": parent is "/" */

	const char *const parent = slash ? copy : ".";

	pl->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (pl->parent_fd < 0) {
		fail_errno("open the directory %s", parent);
		if (errno == ENOENT) {
			char *word = str_quoted(parent);

			fail_remedy("create it first: mkdir -p %s", word);
			free(word);
		}
	}
	free(copy);
	return pl->parent_fd < 0 ? -1 : 0;
}

void
place_close(struct place *pl)
{
	if (pl->old_lock >= 0)
		close(pl->old_lock);
	if (pl->parent_fd >= 0)
		close(pl->parent_fd);
	free(pl->name);
	free(pl->aside);
	*pl = (struct place){ .parent_fd = -1, .old_lock = -1 };
}

static int
remove_tree(int parent_fd, const char *name, int depth)
{
	DIR *dir = depth < DEPTH_MAX ? list_directory(parent_fd, name) : NULL;
	const struct dirent *ent;
	int res = 0;

	if (!dir)
		return -1;
	while ((ent = readdir(dir))) {
		if (strcmp(ent->d_name, ".") == 0 ||
		    strcmp(ent->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), ent->d_name, 0) == 0)
			continue;
		if (remove_tree(dirfd(dir), ent->d_name, depth + 1) < 0)
			res = -1;
	}
	closedir(dir);
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
		res = -1;
	return res;
}

/* Is the log.xml that we locked still the one at this name? */
static bool
is_still_there(int dir_fd, int log_fd)
{
	struct stat named, locked;

	return fstatat(dir_fd, "log.xml", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		fstat(log_fd, &locked) == 0 &&
		named.st_ino == locked.st_ino && named.st_dev == locked.st_dev;
}

/* Is what stands there an experiment that nobody writes? Locks it. */
static int
claim_old(struct place *pl, int dir_fd)
{
	pl->old_lock = openat(dir_fd, "log.xml",
			      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (pl->old_lock < 0 && errno == ENOENT) {
		fail(FAIL_USAGE, "%s has no log.xml: it is not an experiment "
		     "and will not be replaced", pl->name);
		return fail_remedy("give another name, or remove it yourself");
	}
	if (pl->old_lock < 0)
		return fail_errno("open %s/log.xml", pl->name);
	/* a creator takes its lock before it writes, so this may be one */
	if (lseek(pl->old_lock, 0, SEEK_END) == 0) {
		fail(FAIL_USAGE, "%s is being created now, or its log is "
		     "empty", pl->name);
		return fail_remedy("give another name, or remove it yourself");
	}
	if (lock_is_held(dir_fd) || lock_take(pl->old_lock) < 0 ||
	    !is_still_there(dir_fd, pl->old_lock)) {
		fail(FAIL_USAGE, "%s is being recorded now", pl->name);
		return fail_remedy("give another name, or end that recording "
				   "first");
	}
	return 0;
}

static int
move_aside(struct place *pl)
{
	pl->aside = xasprintf(".%s.%d", pl->name, (int)getpid());
	if (renameat(pl->parent_fd, pl->name, pl->parent_fd, pl->aside) == 0)
		return 0;
	fail_errno("move the old %s aside", pl->name);
	free(pl->aside);
	pl->aside = NULL;
	return -1;
}

int
place_clear(struct place *pl, bool replace)
{
	struct stat st;

	if (fstatat(pl->parent_fd, pl->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail_errno("look at %s", pl->name);
	if (!replace) {
		fail(FAIL_USAGE, "%s exists already", pl->name);
		return fail_remedy("give another name, or let record replace "
				   "it: -O instead of -o");
	}

	const int fd = openat(pl->parent_fd, pl->name, O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		fail(FAIL_USAGE, "%s is not an experiment and will not be "
		     "replaced: %s", pl->name, strerror(errno));
		return fail_remedy("give another name, or remove it yourself");
	}

	const int res = claim_old(pl, fd);

	close(fd);
	return res < 0 ? -1 : move_aside(pl);
}

int
place_make(const struct place *pl)
{
	if (mkdirat(pl->parent_fd, pl->name, 0700) < 0) {
		if (errno == EEXIST)
			return fail(FAIL_USAGE, "someone else created it just "
				    "now");
		return fail_errno("mkdir");
	}

	const int fd = openat(pl->parent_fd, pl->name, O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		fail_errno("open the new directory");
		(void)unlinkat(pl->parent_fd, pl->name, AT_REMOVEDIR);
	}
	return fd;
}

int
place_commit(struct place *pl)
{
	return pl->aside ? remove_tree(pl->parent_fd, pl->aside, 0) : 0;
}

void
place_undo(struct place *pl, bool made)
{
	/* We are failing already; that reason matters more. */
	if (made)
		(void)remove_tree(pl->parent_fd, pl->name, 0);
	if (pl->aside)
		(void)!renameat(pl->parent_fd, pl->aside, pl->parent_fd,
				pl->name);
}
