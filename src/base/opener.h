/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside base: what is done with files that others chose, by a process that can
 * be given up (opener.c).
 */
#ifndef SONDE_BASE_OPENER_H
#define SONDE_BASE_OPENER_H

#include "base.h"

#include <limits.h>
#include <sys/stat.h>

enum opener_work { OPENER_OPEN, OPENER_STAT, OPENER_MAPPED, OPENER_TEXT };

struct opener_request {
	enum opener_work work;
	uint64_t most;			/* bytes; 0: any number */
	int flags;			/* AT_SYMLINK_NOFOLLOW or 0 */
	bool of_user;			/* OPEN: with the rights of ... */
	uid_t uid;
	gid_t gid;
	struct mapped mapped;		/* MAPPED; path is in name */
	char path[PATH_MAX];		/* MAPPED: the process's directory */
	char name[PATH_MAX];
};

struct opener_answer {
	int error;			/* EINPROGRESS: it goes on */
	struct stat st;
	char path[PATH_MAX];		/* "": none */
};

/* The work itself; a descriptor for OPEN and TEXT, else 0; -1 with errno. */
int opener_work(int dir_fd, const struct opener_request *q,
		struct opener_answer *a, void (*goes_on)(void *arg), void *arg);

/* Its files are files: none waits, none acts on being read. */
struct statfs;
bool opener_keeps_files(const struct statfs *fs);

/* mapped.c */
char *mapped_file_here(int dir_fd, const char *proc, const struct mapped *m);

#endif
