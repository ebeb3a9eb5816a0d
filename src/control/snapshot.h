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
	size_t *at, *under_at, places;	/* of each thread's stacks in the
					 * arena */
	size_t end;		/* of what the arena holds */
	pid_t tracer;
	bool goes_first;	/* before all who share a processor */
	int result;
};

/* ---- snapshot_copy.c ---------------------------------------------------- */

/* How much of the stack above base is to be copied, at most. */
size_t shot_stack_extent(const struct shot *s, uint64_t base);
/* Registers and stacks, these into the target's arena, of all that stand and
 * were not copied yet; and their repair, which needs them standing. */
void shot_copy(struct shot *s, bool repair);
/* Between two of these: who was copied and has ended, or is another program's
 * thread by now. */
void shot_forget_ended(struct shot *s);
/* What threads wait at, for who wants to know who held it then: when all
 * stand. */
void shot_copy_words(struct shot *s);
/* When they run: out of the arena. */
void shot_keep_stacks(struct shot *s);

#endif
