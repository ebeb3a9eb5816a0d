/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * walk.c: one thread goes on, by lines or instructions.
 */
#ifndef SONDE_SHELL_WALK_H
#define SONDE_SHELL_WALK_H

#include "private.h"

struct walk {
	struct shell *sh;
	pid_t tid;		/* 0: it has ended */
	bool over;		/* calls */
	bool entered;		/* it has gone into one */
	bool landed;		/* it was left by an exception, a jump */
	struct place from, now;
	bool ended;		/* by something else: a stop, the end */
};

/* Each -1: it failed; else see now and ended. */
int walk_line(struct walk *w);
int walk_instruction(struct walk *w);
/* Out of the function, to where it was called. */
int walk_out(struct walk *w);

#endif
