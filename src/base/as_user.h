/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside base: opening a file as another user would, where we are root.
 */
#ifndef SONDE_BASE_AS_USER_H
#define SONDE_BASE_AS_USER_H

#include <sys/types.h>

/* open(2) with these flags; -1 with errno. */
int open_as_user(const char *path, int flags, uid_t uid, gid_t gid);

#endif
