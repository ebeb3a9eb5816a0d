/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foreign: files whose names others chose (a line table, a map, an experiment,
 * a core). Such a name may lead to a FIFO, a terminal, a device, /proc/kmsg or
 * 40 GB. Part of base.
 */
#ifndef SONDE_FOREIGN_H
#define SONDE_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

enum { FOREIGN_SOURCE_MAX = 64 << 20 };	/* bytes of a source file */

/* A regular file on a file system that keeps files, of at most so many bytes:
 * a descriptor. Nothing else is opened, not even for a moment. -1 with errno:
 * EINVAL not such a file, EFBIG too long. */
int foreign_open(const char *path, uint64_t most);
/* All of it, NUL-ended; the caller frees it. NULL with errno. */
char *foreign_read(const char *path, uint64_t most, size_t *size);

/* What n packed bytes may become. Sound ones become 10 times as much at most;
 * zlib can do 1000, xz 7000, and each byte of those fills more of memory. */
size_t inflated_most(size_t n);

#endif
