/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May a library of others open this name? Some open what a file tells them to,
 * and wait for ever where that is a fifo, or a file system that does not
 * answer. A look at the name beforehand proves nothing where another user can
 * change a directory or a link on its way: so nobody but root, this user, and
 * the user who called sudo may.
 */
#include "base.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };	/* as the kernel follows, at most */

struct walk {
	int dir;		/* where it has come to */
	bool sticky;		/* others may put new names there */
	char *rest;		/* of the path */
	int links;
};

static bool
enter(struct walk *w, const char *name)
{
	const int fd = openat(w->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
			      O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return false;
	if (w->dir >= 0)
		close(w->dir);
	w->dir = fd;
	/* links of /proc lead elsewhere than they say */
	if (fstat(fd, &st) < 0 || !trust_owner(&st) || fstatfs(fd, &fs) < 0 ||
	    !opener_keeps_files(&fs))
		return false;
	w->sticky = st.st_mode & (S_IWGRP | S_IWOTH);
	return !w->sticky || st.st_mode & S_ISVTX;
}

static bool
go_by_link(struct walk *w, const char *name)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(w->dir, name, target, sizeof target - 1);
	char *rest;

	if (n <= 0 || ++w->links > LINKS_MAX)
		return false;
	target[n] = '\0';
	rest = xasprintf("%s/%s", target, w->rest);
	free(w->rest);
	w->rest = rest;
	return *target != '/' || enter(w, "/");
}

/* The next name is taken off the rest: 1 there, 0 not there, nor can another
 * put it there, -1. */
static int
step(struct walk *w)
{
	const size_t n = strcspn(w->rest, "/");
	char *name = xstrndup(w->rest, n);
	struct stat st;
	int r = -1;

	memmove(w->rest, w->rest + n, strlen(w->rest + n) + 1);
	while (*w->rest == '/')
		memmove(w->rest, w->rest + 1, strlen(w->rest));
	if (!*name || strcmp(name, ".") == 0)
		r = 1;
	else if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		r = errno == ENOENT && !w->sticky ? 0 : -1;
	else if (w->sticky && !trust_owner(&st))
		r = -1;
	else if (S_ISLNK(st.st_mode))
		r = go_by_link(w, name) ? 1 : -1;
	else if (S_ISDIR(st.st_mode))
		r = enter(w, name) ? 1 : -1;
	else
		r = S_ISREG(st.st_mode) && !*w->rest && trust_owner(&st) &&
			!(st.st_mode & (S_IWGRP | S_IWOTH)) ? 1 : -1;
	free(name);
	return r;
}

bool
path_is_safe(const char *path)
{
	struct walk w = { .dir = -1 };
	int r;

	if (*path != '/' || strlen(path) >= PATH_MAX)
		return false;
	w.rest = xstrdup(path + 1);
	r = enter(&w, "/") ? 1 : -1;
	while (r > 0 && *w.rest)
		r = step(&w);
	if (w.dir >= 0)
		close(w.dir);
	free(w.rest);
	return r >= 0;
}
