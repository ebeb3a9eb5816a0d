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

static const struct place NOWHERE = {
	.parent_fd = -1, .spare_fd = -1, .old_fd = -1, .old_lock = -1,
};

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

	*pl = NOWHERE;
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
	if (pl->parent_fd < 0)
		return -1;
	pl->spare_fd = fcntl(pl->parent_fd, F_DUPFD_CLOEXEC, 0);
	return pl->spare_fd < 0 ? fail_errno("keep a descriptor") : 0;
}

static void
give_up_spare(struct place *pl)
{
	if (pl->spare_fd >= 0)
		close(pl->spare_fd);
	pl->spare_fd = -1;
}

void
place_close(struct place *pl)
{
	if (pl->old_lock >= 0)
		close(pl->old_lock);
	if (pl->old_fd >= 0)
		close(pl->old_fd);
	give_up_spare(pl);
	if (pl->parent_fd >= 0)
		close(pl->parent_fd);
	free(pl->name);
	free(pl->aside);
	*pl = NOWHERE;
}

/* Is this name, by now, that of the directory that we hold? */
static bool
is_named(int parent_fd, const char *name, int fd)
{
	struct stat named, held;

	return fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		fstat(fd, &held) == 0 &&
		named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

static int
remove_inside(int fd, int depth)
{
	DIR *dir = depth < DEPTH_MAX ? list_directory(fd, ".") : NULL;
	const struct dirent *ent;
	int res = 0;

	if (!dir)
		return -1;
	while ((ent = readdir(dir))) {
		const char *name = ent->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    unlinkat(fd, name, 0) == 0)
			continue;

		const int sub = openat(fd, name, O_RDONLY | O_DIRECTORY |
				       O_NOFOLLOW | O_CLOEXEC);

		if (sub < 0 || remove_inside(sub, depth + 1) < 0 ||
		    unlinkat(fd, name, AT_REMOVEDIR) < 0)
			res = -1;
		if (sub >= 0)
			close(sub);
	}
	closedir(dir);
	return res;
}

/*
 * The tree of a directory that we hold. Whoever owns the parent may have put
 * another one at the name meanwhile: that one stays.
 */
static int
remove_tree(int parent_fd, const char *name, int fd)
{
	int res = remove_inside(fd, 0);

	if (!is_named(parent_fd, name, fd) ||
	    unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
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

/* Takes fd, the old one. */
static int
move_aside(struct place *pl, int fd)
{
	pl->aside = xasprintf(".%s.%d", pl->name, (int)getpid());
	pl->old_fd = fd;
	if (renameat2(pl->parent_fd, pl->name, pl->parent_fd, pl->aside,
		      RENAME_NOREPLACE) < 0) {
		fail_errno("move the old %s aside", pl->name);
	} else if (!is_named(pl->parent_fd, pl->aside, fd)) {
		/* not ours to move */
		(void)renameat2(pl->parent_fd, pl->aside, pl->parent_fd,
				pl->name, RENAME_NOREPLACE);
		fail(FAIL_UNSUITABLE, "someone else put another %s there",
		     pl->name);
	} else {
		return 0;
	}
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

	if (claim_old(pl, fd) == 0)
		return move_aside(pl, fd);
	close(fd);
	return -1;
}

/* It may be another by now: made by us, it is ours and empty. Takes dir. */
static int
check_fresh(int fd, DIR *dir)
{
	const struct dirent *ent;
	struct stat st;
	int n = 0;

	while ((ent = readdir(dir)))
		n += strcmp(ent->d_name, ".") != 0 &&
			strcmp(ent->d_name, "..") != 0;
	closedir(dir);
	if (n == 0 && fstat(fd, &st) == 0 &&
	    (geteuid() != 0 || st.st_uid == 0))
		return 0;
	fail(FAIL_UNSUITABLE, "someone else put another directory there, or "
	     "it cannot be root's");
	return fail_remedy("record into a directory of your own: "
			   "-o DIR/NAME.er");
}

/* By errno. Left empty it would be in the way of the next experiment; whoever's
 * it is by now, nothing is in it. */
static int
fail_open_made(const struct place *pl)
{
	const bool lacks = errno == EMFILE || errno == ENFILE;

	fail_errno("open the new directory");
	if (!lacks)
		return -1;
	(void)unlinkat(pl->parent_fd, pl->name, AT_REMOVEDIR);
	return fail_remedy("raise ulimit -n");
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

	DIR *const dir = fd < 0 ? NULL : list_directory(fd, ".");

	if (!dir)
		fail_open_made(pl);
	else if (check_fresh(fd, dir) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int
place_commit(struct place *pl)
{
	return pl->aside ? remove_tree(pl->parent_fd, pl->aside, pl->old_fd) :
		0;
}

void
place_undo(struct place *pl, int made_fd)
{
	give_up_spare(pl);
	/* We are failing already; that reason matters more. */
	if (made_fd >= 0)
		(void)remove_tree(pl->parent_fd, pl->name, made_fd);
	if (pl->aside && is_named(pl->parent_fd, pl->aside, pl->old_fd))
		(void)!renameat2(pl->parent_fd, pl->aside, pl->parent_fd,
				 pl->name, RENAME_NOREPLACE);
}
