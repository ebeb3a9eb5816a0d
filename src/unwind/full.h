/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The second engine: libunwind-ptrace over copied memory. It knows all
 * registers and all of DWARF; it costs fifty table steps.
 */
#ifndef SONDE_UNWIND_FULL_H
#define SONDE_UNWIND_FULL_H

#include <libunwind-ptrace.h>

#include "unwind.h"

struct full;

/* What a walk may read besides images: two windows (the second one may be
 * empty), then memory. */
struct full_source {
	const struct step_stack *stack, *more;
	unwind_memory memory;
	void *arg;
};

/* One walk under way. */
struct full_walk {
	struct unwind_space *space;
	struct full *full;
	struct full_source source;
	struct arch_regs start;
	unw_cursor_t cursor;
	struct step_regs regs;	/* of the frame it stands at */
	unsigned budget;	/* words it may still read in this step */
	bool cut;		/* it wanted stack beyond the window */
	bool blind;		/* it had no unwind data */
};

void full_free(struct full *full);
/* The map changed: forget what was cached by pc. full may be NULL. */
void full_flush(struct full *full);

/* Stand at the frame of regs; exact: its pc is the next instruction. -1:
 * libunwind refuses. */
int full_begin(struct full_walk *walk, struct unwind_space *space,
	       const struct full_source *source, const struct arch_regs *regs,
	       bool exact);
/* Go to the caller; walk->regs are its registers on STEP_OK. */
enum step_result full_step(struct full_walk *walk);

#endif
