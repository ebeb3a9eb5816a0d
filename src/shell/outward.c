/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What we write into directories, perhaps as root and into those of others:
 * experiments and groups. Whoever may write the directory may swap or plant
 * what stands there, so root does not write into it unless told to, and a
 * file is never reached through a link that was planted.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a path; the caller frees it. */
static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") :
		xstrndup(path, (size_t)(slash - path));
}

static int
refuse(const char *dir)
{
	char *full = realpath(dir, NULL);

	fail(FAIL_DENIED, "root does not record into %s: other users may write "
	     "it, or a directory above it", full ? full : dir);
	fail_remedy("record elsewhere: -o /DIR/NAME.er; or all the same: "
		    "record --anywhere, or dbxenv safe_path %s",
		    full ? full : "/DIR");
	free(full);
	return -1;
}

int
outward_check(const struct shell *sh, const char *name)
{
	const char *base = sh->settings.directory;
	char *path = !name || name[0] == '/' || strcmp(base, ".") == 0 ?
		xstrdup(name ? name : "") : xasprintf("%s/%s", base, name);
	char *dir = name ? directory_of(path) : xstrdup(base);
	int r = 0;

	/* what else is wrong with it, creating says */
	if (geteuid() == 0 && !sh->anywhere &&
	    directory_trust(AT_FDCWD, dir, TRUST_TO_WRITE) < 0 &&
	    errno == EPERM && !path_is_within(dir, sh->safe_path))
		r = refuse(dir);
	free(dir);
	free(path);
	return r;
}

FILE *
outward_append(const char *path, char **text)
{
	const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
		O_NONBLOCK | O_NOCTTY;
	const int fd = open(path, flags);
	struct stat st;
	FILE *file = NULL;

	*text = NULL;
	if (fd < 0) {
		const int made = errno != ENOENT ? -1 :
			open(path, flags | O_CREAT | O_EXCL, 0666);

		return made < 0 ? NULL : fdopen(made, "a");
	}
	/* another name of a file elsewhere is as good as a link */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
		errno = EINVAL;
	} else {
		char *own = xasprintf("/proc/self/fd/%d", fd);

		*text = file_read(own, NULL);
		free(own);
		file = *text ? fdopen(fd, "a") : NULL;
	}
	if (!file)
		close(fd);
	return file;
}

FILE *
outward_create(const char *path, bool replace)
{
	char *dir = directory_of(path);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int fd = -1;

	/* the name goes, not what it names */
	if (at >= 0 && replace &&
	    fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		(void)unlinkat(at, name, 0);
	if (at >= 0)
		fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
			    O_NOFOLLOW, 0666);

	const int error = errno;

	if (at >= 0)
		close(at);
	free(dir);
	errno = error;
	return fd < 0 ? NULL : fdopen(fd, "w");
}
