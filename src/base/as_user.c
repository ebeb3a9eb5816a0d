/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a file as a user would: the kernel itself decides. A thread whose
 * file system user is not root has no right to pass over modes, until that is
 * taken back. Only this thread changes; the calls of libc would change all.
 *
 * Such a change takes away the signal of the parent's death and makes the
 * process undumpable (commit_creds, all kernels): both are put back.
 */
#include "as_user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"

/* What is changed here, root may change back. */
static int
open_changed(const char *path, int flags, uid_t uid, gid_t gid)
{
	const int old_gid = setfsgid(gid), old_uid = setfsuid(uid);
	int fd = -1, error = EPERM;

	if (setfsuid((uid_t)-1) == (int)uid) {
		fd = open(path, flags);
		error = errno;
	}
	(void)setfsuid((uid_t)old_uid);
	(void)setfsgid((gid_t)old_gid);
	errno = error;
	return fd;
}

int
open_as_user(const char *path, int flags, uid_t uid, gid_t gid)
{
	int signal = 0, error;

	if (geteuid() != 0 || uid == 0)
		return open(path, flags);

	gid_t *groups = xcalloc(NGROUPS_MAX, sizeof *groups);
	const long n = syscall(SYS_getgroups, NGROUPS_MAX, groups);
	const int dumpable = prctl(PR_GET_DUMPABLE);
	int fd = -1;

	(void)prctl(PR_GET_PDEATHSIG, &signal);
	if (n >= 0 && syscall(SYS_setgroups, 1L, &gid) == 0) {
		fd = open_changed(path, flags, uid, gid);
		error = errno;
		(void)syscall(SYS_setgroups, n, groups);
		if (dumpable == 1)
			(void)prctl(PR_SET_DUMPABLE, 1);
		(void)prctl(PR_SET_PDEATHSIG, signal);
	} else {
		error = errno;
	}
	free(groups);
	errno = error;
	return fd;
}
