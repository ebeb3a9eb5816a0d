/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One snapshot while it is taken: snapshot.c stops and resumes,
 * snapshot_copy.c copies in between.
 */
#ifndef CONTROL_SNAPSHOT_H
#define CONTROL_SNAPSHOT_H

#include "private.h"

struct shot {
	struct target *t;
	pid_t only;
	size_t max_stack;
	struct pack *pack;
	struct snapshot *snap;
	size_t *at;		/* of each thread's stack in the arena */
	pid_t tracer;
	int result;
};

/* ---- snapshot_copy.c ---------------------------------------------------- */

/* How much of the stack above base is to be copied, at most. */
size_t shot_stack_extent(const struct shot *s, uint64_t base);
/* Registers of all, and their repair, which needs them standing. */
void shot_copy_registers(struct shot *s, bool repair);
/* Then their stacks, into the target's arena. */
void shot_copy_stacks(struct shot *s);
/* What threads wait at, for who wants to know who held it then. */
void shot_copy_words(struct shot *s);
/* When they run: out of the arena. */
void shot_keep_stacks(struct shot *s);

#endif
