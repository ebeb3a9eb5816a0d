/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks of threads that stand for us, by CFI.
 */
#ifndef SONDE_INJECT_WALK_H
#define SONDE_INJECT_WALK_H

#include <sys/user.h>

#include "plan.h"

struct walker;
struct walked {
	uint64_t pc;
	bool exact;		/* else a return address */
};

/* By tables of the plan, or of what its maps say is loaded. */
struct walker *walker_open(const struct plan *p);
void walker_close(struct walker *w);
/* One that was not there when the maps were read. */
void walker_add_stack(struct walker *w, uint64_t at, size_t size);
/* From the innermost; how many. whole: up to the outermost one. */
size_t walker_walk(struct walker *w, const struct user_regs_struct *r,
		   struct walked *frames, size_t most, bool *whole);

#endif
