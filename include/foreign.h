/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foreign: files whose names others chose (a line table, a map, an experiment,
 * a core). Such a name may lead to a FIFO, a terminal, a device, /proc/kmsg or
 * 40 GB, or to a file system that never answers. Part of base.
 */
#ifndef SONDE_FOREIGN_H
#define SONDE_FOREIGN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { FOREIGN_SOURCE_MAX = 64 << 20 };	/* bytes of a source file */

/* A regular file on a file system that keeps files, of at most so many bytes
 * (0: any number): a descriptor. Nothing else is opened, not even for a moment.
 * It is a copy where the file system is FUSE. -1 with errno: EINVAL not such a
 * file, EFBIG too long, ETIMEDOUT the file system does not answer. flags:
 * AT_SYMLINK_NOFOLLOW or 0. */
int foreign_open(const char *path, uint64_t most);
int foreign_open_at(int dir_fd, const char *path, uint64_t most, int flags);
/* The same with the rights of another user, where we are root. */
int foreign_open_as(const char *path, uid_t uid, gid_t gid);
/* As fstatat(2), and as strerror(3), with ETIMEDOUT as above. */
int foreign_stat(int dir_fd, const char *path, struct stat *st, int flags);
const char *foreign_error(int error);
/* As file_read_at; a text of the kernel's that is made out of a process's
 * memory (/proc/PID/cmdline), of at most 1 MB. */
char *foreign_text(int dir_fd, const char *path, size_t *size);
/* Start what does all that: at leisure, not in a stop. */
void foreign_prepare(void);
/* All of it, NUL-ended; the caller frees it. NULL with errno. */
char *foreign_read(const char *path, uint64_t most, size_t *size);

/* What n packed bytes may become. Sound ones become 10 times as much at most;
 * zlib can do 1000, xz 7000, and each byte of those fills more of memory. */
size_t inflated_most(size_t n);

#endif
