/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The place in the file system where an experiment goes, what stood there
 * before, and the lock that keeps a second writer out.
 */
#ifndef SONDE_EXPERIMENT_PLACE_H
#define SONDE_EXPERIMENT_PLACE_H

#include <stdbool.h>

struct place {
	int parent_fd;
	int spare_fd;		/* given up for place_undo: it has to list */
	char *name;		/* last component */
	char *aside;		/* the old experiment's new name, or NULL */
	int old_fd;		/* the old one, when it is aside; -1 */
	int old_lock;		/* held meanwhile; -1 */
};

/* Find the parent directory; nothing is changed. */
int place_open(struct place *pl, const char *path);
void place_close(struct place *pl);
/* With replace, an old experiment is moved aside; without, its existence is
 * a failure. */
int place_clear(struct place *pl, bool replace);
/* Make the directory; its descriptor or -1. */
int place_make(const struct place *pl);
/* It worked: remove the old one. -1: some of it stays, at pl->aside. */
int place_commit(struct place *pl);
/* It did not: remove ours, if made (not -1), and put the old one back. */
void place_undo(struct place *pl, int made_fd);

/* Take the writers' lock on an open log.xml. Kept until fd is closed. */
int lock_take(int fd);
/* Does another hold the lock of this log.xml? */
bool lock_file_is_held(int dir_fd, const char *name);
/* Does a writer hold the lock of this experiment, or of a descendant? */
bool lock_is_held(int dir_fd);

#endif
