/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checksums of the archived copies.
 */
#ifndef SONDE_EXPERIMENT_SUMS_H
#define SONDE_EXPERIMENT_SUMS_H

#include "base.h"

/* That of a copy in archives/, which dir_fd is. -1 with errno. */
int sums_add(int dir_fd, const char *name, const struct checksum *sum);
/* Copies that were made and are gone, or no files any more, are damage. */
struct experiment_reader;
void sums_check_there(const struct experiment_reader *rd);

#endif
