/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a file with the rights of another user, where we are root.
 */
#ifndef SONDE_EXPERIMENT_AS_USER_H
#define SONDE_EXPERIMENT_AS_USER_H

#include <sys/types.h>

/* To read; -1 with errno. Nothing waits for a fifo's other side. */
int open_as_user(const char *path, uid_t uid, gid_t gid);

#endif
