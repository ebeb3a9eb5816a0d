/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To the caller by a row of the usual kinds: what step_apply makes of it, for
 * those who keep the registers in the processor's from one frame to the next.
 * The stack's addresses are counted from its window. What is not usual is
 * refused, never answered: it is step_apply's then, frame and all.
 */
#ifndef SONDE_UNWIND_STEP_CLIMB_H
#define SONDE_UNWIND_STEP_CLIMB_H

#include "step.h"

/* As step_regs; sp is within the window, or is its end. */
struct step_place {
	uint64_t pc;		/* the byte that is looked up */
	uint64_t sp, fp;	/* less the window's base */
};

/* What may be read of a stack, at least a word. */
struct step_window {
	const unsigned char *data;
	uint64_t base, last;	/* where the last word begins */
};

static inline uint64_t
window_word(const struct step_window *w, uint64_t at)
{
	uint64_t value;

	__builtin_memcpy(&value, w->data + at, sizeof value);
	return value;
}

static inline int
is_usual(struct step_row row)
{
	return row.kind == STEP_SP || row.kind == STEP_FP;
}

static inline uint64_t
row_cfa(struct step_row row, const struct step_place *p)
{
	const uint64_t size = row.cfa * 8ull;

	return row.kind == STEP_SP ? p->sp + size : p->fp + size;
}

/* Above sp, not too far, and the word below it may be read. */
static inline int
is_sound_cfa(uint64_t cfa, const struct step_window *w,
	     const struct step_place *p)
{
	return cfa - p->sp - 1 < STEP_FRAME_MAX && cfa - 8 <= w->last;
}

/* Is the caller's fp read, from `slot`? Below sp it was popped already, as
 * step.c has it. */
static inline int
has_slot(struct step_row row, uint64_t slot, const struct step_place *p)
{
	return row.fp != STEP_FP_SAME && slot >= p->sp;
}

/* By a usual row; 0: refused, and the place is as it was. */
static inline int
step_climb(struct step_row row, const struct step_window *w,
	   struct step_place *p)
{
	const uint64_t cfa = row_cfa(row, p);
	const uint64_t slot = cfa + (uint64_t)(row.fp * 8ll);
	uint64_t ret;

	if (!is_sound_cfa(cfa, w, p))
		return 0;
	ret = window_word(w, cfa - 8);
	if (ret == 0)
		return 0;
	if (has_slot(row, slot, p)) {
		if (row.fp == STEP_FP_AT_FP || slot > w->last)
			return 0;
		p->fp = window_word(w, slot) - w->base;
	}
	p->sp = cfa;
	p->pc = ret - 1;
	return 1;
}

/* After n > 0 frames. */
static inline void
step_arrive(struct step_regs *regs, const struct step_place *p,
	    const struct step_window *w, uint32_t n)
{
	regs->pc = p->pc + 1;
	regs->sp = p->sp + w->base;
	regs->fp = p->fp + w->base;
	regs->exact = 0;
	regs->depth += n;
}

#endif
