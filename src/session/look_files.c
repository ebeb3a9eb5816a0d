/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which descriptors of the target are files of ours. A thread may have its
 * own ones (unshare), with copies of what was open when it took them: so each
 * table of the process is looked at, by the first thread that has it.
 */
#include "look_back.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS_NS	UINT64_C(300000000)	/* for asking them all */

enum {
	FDS_MAX = 65536,
	TABLES_MAX = 16,	/* in one process */
};

/* Of one thread; it counts as tid's. false: they cannot be seen. */
static bool
look_at_table(struct target *t, pid_t of, pid_t tid, look_found *found,
	      void *arg)
{
	char path[64];
	int fd;
	DIR *dir;
	const struct dirent *entry;
	unsigned left = FDS_MAX;

	snprintf(path, sizeof path, "task/%d/fd", (int)of);
	fd = openat(target_proc(t), path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0)
		close(fd);
	if (!dir)
		return false;
	while ((entry = readdir(dir)) && left-- > 0) {
		if (inject_owns_descriptor(t, of, entry->d_name))
			found(arg, (uint64_t)tid << 32 |
			      strtoul(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return true;
}

/* Has nobody of these the same ones? 1, 0, or -1 with errno: it cannot be
 * known. */
static int
is_new_table(const pid_t *seen, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++) {
		const int same = inject_share_descriptors(seen[i], tid);

		if (same != 0)
			return same < 0 && errno != ESRCH ? -1 : 0;
	}
	return 1;
}

int
look_at_files(struct target *t, look_found *found, void *arg)
{
	const uint64_t end = now_ns() + THREADS_NS;
	pid_t seen[TABLES_MAX] = { target_live_thread(t) };
	pid_t *tids = NULL;
	size_t cap = 0, n = 1;
	ssize_t count;
	int error = 0;

	if (!look_at_table(t, seen[0], 0, found, arg))
		return -1;
	count = target_threads(t, &tids, &cap);
	for (ssize_t i = 0; i < count && !error && n < TABLES_MAX &&
	     now_ns() < end; i++) {
		const int new = is_new_table(seen, n, tids[i]);

		error = new < 0 ? errno : 0;
		if (new > 0 && look_at_table(t, tids[i], tids[i], found, arg))
			seen[n++] = tids[i];
	}
	free(tids);
	errno = error;
	return error != 0;
}
