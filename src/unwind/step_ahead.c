/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many frames up the stack: those that are most of it, whose rows are
 * remembered and count from sp or fp. The registers stay in the processor's
 * from one to the next, and the stack's addresses are counted from its window.
 * Whatever else turns up is left to step_frame, frame and all: so this file
 * refuses, and never answers, what that one would refuse.
 */
#include "step_memo.h"

/* As step_regs, counted from the window where they are addresses of it. */
struct place {
	uint64_t pc;		/* the byte that is looked up */
	uint64_t sp, fp;
};

/* The window of those who may read so far, less the last word. */
struct window {
	const unsigned char *data;
	uint64_t base, last;
};

static inline uint64_t
word(const struct window *w, uint64_t at)
{
	uint64_t value;

	__builtin_memcpy(&value, w->data + at, sizeof value);
	return value;
}

/* To the caller, by a row of kind STEP_SP or STEP_FP; 0: not by this way. */
static inline int
climb(struct step_row row, const struct window *w, struct place *p)
{
	const uint64_t size = row.cfa * 8ull;
	const uint64_t cfa = row.kind == STEP_SP ? p->sp + size : p->fp + size;
	const uint64_t slot = cfa + (uint64_t)(row.fp * 8ll);
	uint64_t ret;

	if (cfa - p->sp - 1 >= STEP_FRAME_MAX || cfa - 8 > w->last)
		return 0;
	ret = word(w, cfa - 8);
	if (ret == 0)
		return 0;
	/* below sp it was popped already, as step.c has it */
	if (row.fp != STEP_FP_SAME && slot >= p->sp) {
		if (row.fp == STEP_FP_AT_FP || slot > w->last)
			return 0;
		p->fp = word(w, slot) - w->base;
	}
	p->sp = cfa;
	p->pc = ret - 1;
	return 1;
}

uint32_t
step_ahead(const struct step_tables *tables, const struct step_stack *stack,
	   struct step_regs *regs, uint64_t *pcs, uint32_t most)
{
	const struct step_tables t = *tables;
	const uint64_t size = stack->size -
		(regs->guessed ? stack->doubtful : 0);
	const struct window w = { stack->data, stack->base, size - 8 };
	struct place p = {
		.pc = regs->pc - !regs->exact,
		.sp = regs->sp - w.base, .fp = regs->fp - w.base,
	};
	uint32_t n = 0;

	if (size < 8 || p.sp > size)
		return 0;
	while (n < most) {
		const struct step_row row = memo_row(&t, p.pc);

		if ((row.kind != STEP_SP && row.kind != STEP_FP) ||
		    !climb(row, &w, &p))
			break;
		pcs[n++] = p.pc + 1;
	}
	if (n == 0)
		return 0;
	regs->pc = p.pc + 1;
	regs->sp = p.sp + w.base;
	regs->fp = p.fp + w.base;
	regs->exact = 0;
	regs->depth += n;
	return n;
}
