/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwind data in the form libunwind wants to find in memory.
 *
 * For each function asked for, one small .eh_frame is made; so .debug_frame,
 * images without tables and text known by heart all look alike, and damaged
 * entries have been checked before libunwind sees a byte of them. A piece
 * stays where it is until pieces_fini, because libunwind keeps the addresses
 * of expressions in its cache.
 */
#ifndef SONDE_UNWIND_PIECES_H
#define SONDE_UNWIND_PIECES_H

#include "base.h"
#include "frames.h"

struct pieces {
	unsigned char *bytes;
	size_t len, cap;
	struct map known;	/* run-time address of a function -> offset */
};

/* The offset of the piece of fde, made if need be: 8 bytes of table, then
 * CIE and FDE. -1: libunwind could not use it. */
int pieces_find(struct pieces *p, const struct frames *frames,
		const struct frame_fde *fde, uint64_t bias, uint64_t *offset);
/* Forget all; p is empty again. */
void pieces_fini(struct pieces *p);

#endif
