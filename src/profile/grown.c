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

/*
 * A number that changes when any file of the directory changes. Files only
 * grow, so their sizes say enough.
 */
uint64_t
profile_mark(const char *path)
{
	DIR *dir = opendir(path);
	uint64_t mark = 0;
	struct stat st;

	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		if (fstatat(dirfd(dir), e->d_name, &st, 0) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			mark += hash_bytes(e->d_name, strlen(e->d_name),
					   (uint64_t)st.st_size);
		else if (e->d_name[0] == '_' && S_ISDIR(st.st_mode)) {
			char *child = xasprintf("%s/%s", path, e->d_name);

			mark += profile_mark(child);
			free(child);
		}
	}
	closedir(dir);
	return mark;
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
