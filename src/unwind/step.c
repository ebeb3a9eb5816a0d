/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame up the stack, by table. Nothing here allocates, locks, calls or
 * remembers; the only memory read besides the tables is the stack window, and
 * every read of it is checked. So the same file serves the tracer, over copied
 * stacks, and the guest, inside a signal handler.
 */
#include "step.h"

#include <stddef.h>

/*
 * A bigger frame is taken for garbage in the frame pointer, not for one that
 * reaches beyond the window; sooner so where no row vouches for it.
 */
enum { FRAME_MAX = 1 << 26, FALLBACK_FRAME_MAX = 1 << 20 };

/* Offsets from sp of the saved registers in an rt_sigframe whose return
 * address is gone: struct ucontext's header (40 bytes), then its registers in
 * the kernel's order. Part of the kernel's ABI. */
enum {
	SIGFRAME_FP = 40 + 10 * 8,
	SIGFRAME_SP = 40 + 15 * 8,
	SIGFRAME_PC = 40 + 16 * 8,
};

static int
read_word(const struct step_stack *stack, uint64_t addr, uint64_t *value)
{
	const uint64_t at = addr - stack->base;

	if (stack->size < sizeof *value || at > stack->size - sizeof *value)
		return 0;
	__builtin_memcpy(value, stack->data + at, sizeof *value);
	return 1;
}

const struct step_range *
step_range_find(const struct step_tables *tables, uint64_t pc)
{
	uint32_t low = 0, high = tables->count;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct step_range *range = &tables->ranges[mid];

		if (pc < range->start)
			high = mid;
		else if (pc >= range->end)
			low = mid + 1;
		else
			return range;
	}
	return NULL;
}

struct step_row
step_row_find(const struct step_tables *tables, const struct step_range *range,
	      uint64_t pc)
{
	const struct step_row *rows = (const struct step_row *)
		((uintptr_t)tables->origin + (uintptr_t)range->rows);
	const uint64_t at = pc - range->base;
	uint32_t low = 0, high = range->count;

	/* the answer is the last row that starts at or before `at` */
	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (rows[mid].pc <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || at > UINT32_MAX)
		return (struct step_row){ .kind = STEP_NONE };
	return rows[low - 1];
}

struct step_row
step_row_returned(const struct step_tables *tables,
		  const struct step_range *range, uint64_t ret)
{
	struct step_row row = step_row_find(tables, range, ret - 1);

	if (row.kind == STEP_NONE && ret < range->end) {
		const struct step_row next = step_row_find(tables, range, ret);

		if (next.kind != STEP_NONE && next.pc == ret - range->base)
			row.kind = STEP_END;
	}
	return row;
}

/*
 * No unwind data: trust the frame pointer, if it is sound. The value it
 * points to is not judged here: a caller compiled without frame pointers may
 * keep anything in that register, and its own row will not ask.
 */
static enum step_result
apply_frame_pointer(const struct step_stack *stack, struct step_regs *regs)
{
	const uint64_t fp = regs->fp;
	uint64_t caller_fp, ret;

	if (fp == 0 && regs->depth > 0)
		return STEP_OUTERMOST;
	if (fp & 7 || fp < regs->sp || fp - regs->sp > FALLBACK_FRAME_MAX)
		return STEP_NO_ROW;
	if (!read_word(stack, fp, &caller_fp) ||
	    !read_word(stack, fp + 8, &ret))
		return STEP_CUT;
	/* of the innermost frame it may be anybody's frame pointer */
	if (ret == 0)
		return regs->depth > 0 ? STEP_OUTERMOST : STEP_NO_ROW;
	regs->pc = ret;
	regs->sp = fp + 16;
	regs->fp = caller_fp;
	regs->exact = 0;
	regs->depth++;
	return STEP_OK;
}

/* The handler may have run on another stack: sp may go either way. */
static enum step_result
apply_signal(const struct step_stack *stack, struct step_regs *regs)
{
	uint64_t fp, sp, pc;

	if (!read_word(stack, regs->sp + SIGFRAME_FP, &fp) ||
	    !read_word(stack, regs->sp + SIGFRAME_SP, &sp) ||
	    !read_word(stack, regs->sp + SIGFRAME_PC, &pc))
		return STEP_CUT;
	regs->pc = pc;
	regs->sp = sp;
	regs->fp = fp;
	regs->exact = 1;
	regs->depth++;
	return STEP_OK;
}

/*
 * Where the caller's frame pointer is saved, read it. An address below sp was
 * popped already (we are in an epilogue, after `pop %rbp`): the register holds
 * the caller's value again.
 */
static int
caller_frame_pointer(struct step_row row, uint64_t cfa,
		     const struct step_stack *stack, uint64_t sp, uint64_t *fp)
{
	uint64_t slot;

	if (row.fp == STEP_FP_SAME)
		return 1;
	slot = row.fp == STEP_FP_AT_FP ? *fp : cfa + (uint64_t)(row.fp * 8ll);
	if (slot < sp)
		return 1;
	return read_word(stack, slot, fp);
}

/* The end of every ordinary step: the CFA is known. */
static enum step_result
apply_cfa(struct step_row row, uint64_t cfa, const struct step_stack *stack,
	  struct step_regs *regs)
{
	uint64_t fp = regs->fp, ret;

	if (cfa - regs->sp - 1 >= FRAME_MAX)	/* not above sp, or too far */
		return STEP_WILD;
	if (!read_word(stack, cfa - 8, &ret))
		return STEP_CUT;
	if (ret == 0)
		return STEP_OUTERMOST;
	if (!caller_frame_pointer(row, cfa, stack, regs->sp, &fp))
		return STEP_CUT;
	regs->pc = ret;
	regs->sp = cfa;
	regs->fp = fp;
	regs->exact = 0;
	regs->depth++;
	return STEP_OK;
}

enum step_result
step_apply(struct step_row row, const struct step_stack *stack,
	   struct step_regs *regs)
{
	const uint64_t size = row.cfa * 8ull;
	uint64_t cfa;

	if (row.kind == STEP_SP)
		return apply_cfa(row, regs->sp + size, stack, regs);
	if (row.kind == STEP_FP)
		return apply_cfa(row, regs->fp + size, stack, regs);
	if (row.kind == STEP_NONE)
		return apply_frame_pointer(stack, regs);
	if (row.kind == STEP_END)
		return STEP_OUTERMOST;
	if (row.kind == STEP_PLT) {
		cfa = regs->sp + ((regs->pc & 15) >= row.cfa ? 16 : 8);
		return apply_cfa(row, cfa, stack, regs);
	}
	if (row.kind == STEP_DRAP) {
		cfa = regs->fp + (uint64_t)(int64_t)(int16_t)row.cfa;
		if (!read_word(stack, cfa, &cfa))
			return STEP_CUT;
		return apply_cfa(row, cfa, stack, regs);
	}
	if (row.kind == STEP_SIGNAL)
		return apply_signal(stack, regs);
	return STEP_NEEDS_FULL;
}

enum step_result
step_frame(const struct step_tables *tables, const struct step_stack *stack,
	   struct step_regs *regs)
{
	const uint64_t pc = regs->pc - !regs->exact;
	const struct step_range *range = step_range_find(tables, pc);
	struct step_row row = { .kind = STEP_NONE };
	struct step_regs caller = *regs;
	struct step_stack sure;
	enum step_result result;

	if (range)
		row = regs->exact ? step_row_find(tables, range, pc) :
			step_row_returned(tables, range, regs->pc);
	caller.guessed |= row.kind == STEP_NONE;
	if (caller.guessed && stack->doubtful) {
		sure = *stack;
		sure.size -= sure.doubtful;
		stack = &sure;
	}
	result = step_apply(row, stack, &caller);
	if (result != STEP_OK)
		return result;
	/* a frame pointer is only a guess; a return into data refutes it */
	if (row.kind == STEP_NONE && !step_range_find(tables, caller.pc - 1))
		return STEP_NO_ROW;
	*regs = caller;
	return STEP_OK;
}
