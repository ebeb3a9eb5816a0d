/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of a target, as /proc lists them: a thread may be born while we
 * list, so it is listed until nobody new is found.
 */
#include "hazard.h"
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { LISTINGS_MAX = 64 };

static int
compare_tids(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* One listing, sorted. The count, or -1 with errno. */
static ssize_t
list_once(struct target *t, pid_t **tids, size_t *cap)
{
	const int fd = openat(t->proc_fd, "task",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t len = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (;;) {
		errno = 0;

		const struct dirent *entry = readdir(dir);
		long long tid;

		if (!entry)
			break;
		if (!str_number(entry->d_name, 1, INT32_MAX, &tid))
			continue;
		*tids = xgrow(*tids, cap, len + 1, sizeof **tids);
		(*tids)[len++] = (pid_t)tid;
	}

	const int error = errno;

	closedir(dir);
	errno = error ? error : ESRCH;
	if (error || !len)
		return -1;
	qsort(*tids, len, sizeof **tids, compare_tids);
	return (ssize_t)len;
}

static bool
all_known(const pid_t *tids, ssize_t n, const pid_t *known, ssize_t known_n)
{
	ssize_t k = 0;

	for (ssize_t i = 0; i < n; i++) {
		while (k < known_n && known[k] < tids[i])
			k++;
		if (k == known_n || known[k] != tids[i])
			return false;
	}
	return true;
}

/*
 * A thread may clone while we read the directory, and one reading can miss
 * the child (and more, when the thread it stood at ends). A target that makes
 * threads without rest gets the last listing.
 */
ssize_t
target_threads(struct target *t, pid_t **tids, size_t *cap)
{
	pid_t *before = NULL;
	size_t before_cap = 0;
	ssize_t n = list_once(t, tids, cap), before_n = -1;

	for (int i = 0; n >= 0 && i < LISTINGS_MAX; i++) {
		if (before_n >= 0 && all_known(*tids, n, before, before_n))
			break;

		pid_t *const other = before;
		const size_t other_cap = before_cap;

		before = *tids;
		before_cap = *cap;
		before_n = n;
		*tids = other;
		*cap = other_cap;
		n = list_once(t, tids, cap);
	}
	free(before);
	if (n >= 0)
		return n;
	if (t->gone || errno == ESRCH || errno == ENOENT)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)t->pid);
	return fail_errno("list the threads of %d", (int)t->pid);
}

pid_t
target_live_thread(struct target *t)
{
	pid_t *tids = NULL;
	size_t cap = 0;

	if (!handled(HAZARD_LEADER_ENDED) ||
	    state_alive(proc_thread_state(t, t->live_tid)))
		return t->live_tid;
	if (state_alive(proc_thread_state(t, t->pid)))
		return t->live_tid = t->pid;

	const ssize_t n = target_threads(t, &tids, &cap);
	pid_t found = -1;

	for (ssize_t i = 0; i < n && found < 0; i++)
		if (state_alive(proc_thread_state(t, tids[i])))
			found = tids[i];
	free(tids);
	if (found < 0)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)t->pid);
	return t->live_tid = found;
}
