/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many frames up the stack: those that are most of it, whose rows are
 * remembered and count from sp or fp. Whatever else turns up is left to
 * step_frame.
 */
#include "step_climb.h"
#include "step_memo.h"

uint32_t
step_ahead(const struct step_tables *tables, const struct step_stack *stack,
	   struct step_regs *regs, uint64_t *pcs, uint32_t most)
{
	const struct step_tables t = *tables;
	const uint64_t size = stack->size -
		(regs->guessed ? stack->doubtful : 0);
	const struct step_window w = { stack->data, stack->base, size - 8 };
	struct step_place p = {
		.pc = regs->pc - !regs->exact,
		.sp = regs->sp - w.base, .fp = regs->fp - w.base,
	};
	uint32_t n = 0;

	if (size < 8 || p.sp > size)
		return 0;
	while (n < most) {
		const struct step_row row = memo_row(&t, p.pc);

		if (!is_usual(row) || !step_climb(row, &w, &p))
			break;
		pcs[n++] = p.pc + 1;
	}
	if (n > 0)
		step_arrive(regs, &p, &w, n);
	return n;
}
