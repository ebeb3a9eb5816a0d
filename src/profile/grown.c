/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has an experiment grown since it was read?
 */
#include "private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a descriptor, which it closes. Like the reader it follows no link, and
 * goes no deeper than an experiment does. */
static uint64_t
mark_of(int fd, bool deep)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t mark = 0;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		if (fstatat(dirfd(dir), e->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			mark += hash_bytes(e->d_name, strlen(e->d_name),
					   (uint64_t)st.st_size);
		else if (deep && e->d_name[0] == '_' && S_ISDIR(st.st_mode))
			mark += mark_of(openat(dirfd(dir), e->d_name, O_RDONLY |
					       O_DIRECTORY | O_NOFOLLOW |
					       O_CLOEXEC), false);
	}
	closedir(dir);
	return mark;
}

/*
 * A number that changes when any file of the directory changes. Files only
 * grow, so their sizes say enough.
 */
uint64_t
profile_mark(const char *path)
{
	return mark_of(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), true);
}

void
profile_watch(struct profile *prof, const char *path, uint64_t mark)
{
	prof->watches = xgrow(prof->watches, &prof->watches_cap,
			      prof->watches_len + 1, sizeof *prof->watches);
	prof->watches[prof->watches_len++] = (struct watch){ xstrdup(path),
							     mark };
}

bool
profile_grown(const struct profile *prof)
{
	for (size_t i = 0; i < prof->watches_len; i++)
		if (profile_mark(prof->watches[i].path) !=
		    prof->watches[i].mark)
			return true;
	return false;
}
