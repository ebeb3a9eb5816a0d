/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame up the stack, by table. Nothing here allocates, locks or calls;
 * the only memory read besides the tables is the stack window, and every read
 * of it is checked. The only memory written is the memo. So the same file
 * serves the tracer, over copied stacks, and the guest, in a signal handler.
 */
#include <stddef.h>

#include "step_memo.h"

/* STEP_FRAME_MAX where no row vouches for it. */
enum { FALLBACK_FRAME_MAX = 1 << 20 };

static int
read_word(const struct step_stack *stack, uint64_t addr, uint64_t *value)
{
	const uint64_t at = addr - stack->base;

	if (stack->size < sizeof *value || at > stack->size - sizeof *value)
		return 0;
	__builtin_memcpy(value, stack->data + at, sizeof *value);
	return 1;
}

static uint64_t
code_address(uint64_t signed_pc)
{
	return signed_pc & (UINT64_MAX >> (64 - STEP_ADDRESS_BITS));
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

/* ---- rows ---------------------------------------------------------------- */

/* The last one that starts at or before pc. */
static const struct step_row *
search(const struct step_tables *tables, const struct step_range *range,
       uint64_t pc)
{
	const struct step_row *rows = rows_of(tables, range);
	const uint64_t at = pc - range->base;
	uint32_t low = 0, high = range->count;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (rows[mid].pc <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low == 0 || at > UINT32_MAX ? NULL : &rows[low - 1];
}

struct step_row
step_row_find(const struct step_tables *tables, const struct step_range *range,
	      uint64_t pc)
{
	const struct step_row *row = search(tables, range, pc);

	if (!row)
		return (struct step_row){ .kind = STEP_NONE };
	if (tables->memo)
		memo_keep(tables, range, row, pc);
	return *row;
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
	regs->pc = code_address(ret);
	regs->sp = fp + 16;
	regs->fp = caller_fp;
	regs->exact = 0;
	regs->guessed = 1;
	regs->depth++;
	return STEP_OK;
}

/* The handler may have run on another stack: sp may go either way. */
static enum step_result
apply_signal(const struct step_stack *stack, struct step_regs *regs)
{
	uint64_t fp, sp, pc, link = 0;

	if (!read_word(stack, regs->sp + STEP_SIGNAL_FP, &fp) ||
	    !read_word(stack, regs->sp + STEP_SIGNAL_SP, &sp) ||
	    !read_word(stack, regs->sp + STEP_SIGNAL_PC, &pc) ||
	    (STEP_SIGNAL_LINK != 0 &&
	     !read_word(stack, regs->sp + STEP_SIGNAL_LINK, &link)))
		return STEP_CUT;
	regs->pc = pc;
	regs->link = link;
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

	if (cfa - regs->sp - 1 >= STEP_FRAME_MAX)	/* not above sp, or too far */
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

/*
 * Where the CFA and what is saved stand in a frame of a machine with a link
 * register. Behind a guess sp is only a lower bound: there a frame record
 * lies at the bottom of its frame, and the frame pointer points to it.
 */
static int
linked_places(struct step_row row, const struct step_regs *regs, uint64_t *cfa,
	      uint64_t *slot)
{
	const int by_fp = row.kind & STEP_LINK_FP;
	const uint64_t base = by_fp ? regs->fp : regs->sp;

	if (regs->guessed && !by_fp) {
		*slot = regs->fp;
		*cfa = *slot - row.fp * 8ll + (row.fp < 0 ? 0 : row.cfa * 8ll);
		return row.kind & STEP_LINK_PAIR;
	}
	*cfa = base + row.cfa * 8ull;
	*slot = (row.fp < 0 ? *cfa : base) + row.fp * 8ll;
	return 1;
}

/* Nothing was called yet, or no more, by who has its return address still in
 * the register: known where that was interrupted only. */
static enum step_result
apply_linked(struct step_row row, const struct step_stack *stack,
	     struct step_regs *regs)
{
	const int pair = row.kind & STEP_LINK_PAIR;
	const int saved = pair || row.kind & STEP_LINK_ALONE;
	uint64_t cfa, slot, ret = regs->link, fp = regs->fp;

	if (!linked_places(row, regs, &cfa, &slot) ||
	    (!saved && (!regs->exact || !ret)))
		return STEP_NO_ROW;
	if (cfa - regs->sp - saved >= STEP_FRAME_MAX)
		return STEP_WILD;
	if (saved && !read_word(stack, slot + (pair ? 8 : 0), &ret))
		return STEP_CUT;
	if (ret == 0)
		return STEP_OUTERMOST;
	if (pair && !read_word(stack, slot, &fp))
		return STEP_CUT;
	regs->pc = code_address(ret);
	regs->sp = cfa;
	regs->fp = fp;
	regs->exact = 0;
	regs->depth++;
	return STEP_OK;
}

static inline enum step_result
apply(struct step_row row, const struct step_stack *stack,
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
	if (row.kind >= STEP_LINKED)
		return apply_linked(row, stack, regs);
	return STEP_NEEDS_FULL;
}

enum step_result
step_apply(struct step_row row, const struct step_stack *stack,
	   struct step_regs *regs)
{
	return apply(row, stack, regs);
}

/* A frame pointer is only a guess; a return into data refutes it. */
static enum step_result
step_guessed(const struct step_tables *tables, struct step_row row,
	     const struct step_stack *stack, struct step_regs *regs)
{
	struct step_regs caller = *regs;
	const enum step_result result = step_apply(row, stack, &caller);

	if (result != STEP_OK)
		return result;
	if (!step_range_find(tables, caller.pc - 1))
		return STEP_NO_ROW;
	*regs = caller;
	return STEP_OK;
}

struct step_row
step_row_of(const struct step_tables *tables, const struct step_regs *regs)
{
	const uint64_t pc = regs->pc - !regs->exact;
	const struct step_row known = memo_row(tables, pc);
	const struct step_range *range;

	if (known.kind != STEP_NONE)
		return known;
	range = step_range_find(tables, pc);
	if (!range)
		return (struct step_row){ .kind = STEP_NONE };
	return regs->exact ? step_row_find(tables, range, pc) :
		step_row_returned(tables, range, regs->pc);
}

enum step_result
step_frame(const struct step_tables *tables, const struct step_stack *stack,
	   struct step_regs *regs)
{
	const struct step_row row = step_row_of(tables, regs);
	struct step_stack sure;
	enum step_result result;
	uint32_t guessed;

	guessed = regs->guessed | (row.kind == STEP_NONE);
	if (guessed && stack->doubtful) {
		sure = *stack;
		sure.size -= sure.doubtful;
		stack = &sure;
	}
	/* no copy of regs for a row: copies took half of the time */
	result = row.kind == STEP_NONE ?
		step_guessed(tables, row, stack, regs) :
		apply(row, stack, regs);
	if (result == STEP_OK)
		regs->guessed = guessed;
	return result;
}
