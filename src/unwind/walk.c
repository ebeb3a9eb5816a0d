/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole stacks. The table steps; where it cannot, the second engine steps
 * once and the table goes on:
 *
 *	ok -------------> next frame
 *	outermost ------> UNWIND_COMPLETE
 *	cut ------------> another window, if memory can be read; else
 *			  UNWIND_TRUNCATED
 *	anything else --> second engine: its answer counts, by the same table;
 *			  if it fails too, UNWIND_FAILED
 *
 * The table follows pc, sp and fp only. A row that needs more (another
 * register as CFA) makes the second engine walk again from the leaf, where
 * all registers are known; from then on it keeps its place, and catches up
 * when it is needed again.
 */
#include <stdlib.h>

#include "base.h"
#include "full.h"
#include "space.h"
#include "step_climb.h"

enum {
	PAGE = 4096,
	MORE_FIRST = 16 * 1024,		/* sizes of further windows */
	MORE_MAX = 4 * 1024 * 1024,
};

struct walk {
	struct unwind_space *space;
	const struct arch_regs *leaf;
	struct full_source source;
	struct step_stack stack;	/* the window in use */
	struct step_stack more;		/* read by us; data is ours */
	unsigned char *buffer;
	size_t buffer_cap;
	struct step_regs regs;
	struct full_walk full;
	bool full_follows;		/* full stands at or below regs */
	bool full_strayed;		/* it cannot get here from the leaf */
	bool skips;			/* a caller has been left out */
	bool vouched;			/* a caller's row, or a frame pointer
					 * that led on, has told what fp is */
	struct unwind_trace *trace;
};

static void
push(struct unwind_trace *trace, uint64_t pc)
{
	if (trace->len == trace->cap)
		trace->pcs = xgrow(trace->pcs, &trace->cap, trace->len + 1,
				   sizeof *trace->pcs);
	trace->pcs[trace->len++] = pc;
}

/* Read [addr, addr + size), as much as there is from its beginning. */
static size_t
read_pages(const struct walk *w, uint64_t addr, unsigned char *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t n = PAGE - ((addr + done) & (PAGE - 1));

		if (n > size - done)
			n = size - done;
		if (w->source.memory(w->source.arg, addr + done, buf + done, n))
			break;
		done += n;
	}
	return done;
}

/* A window from sp on, bigger than the last one that began there. */
static bool
read_more(struct walk *w)
{
	const uint64_t base = w->regs.sp & -8ull;
	size_t size = MORE_FIRST, got;

	if (!w->source.memory)
		return false;
	if (w->stack.base == base)
		while (size <= w->stack.size)
			size *= 4;
	if (size > MORE_MAX)
		return false;
	w->buffer = xgrow(w->buffer, &w->buffer_cap, size, 1);
	got = read_pages(w, base, w->buffer, size);
	if (got == 0 || (w->stack.base == base && got <= w->stack.size))
		return false;
	w->more = (struct step_stack){
		.data = w->buffer, .base = base, .size = got,
	};
	w->stack = w->more;
	return true;
}

/* A thread on its first instructions, in the call that made it, which has no
 * unwind data there: it got 0, and a new stack. */
static bool
is_born(const struct walk *w)
{
	enum { RESULT = 0 };		/* rax */

	return w->regs.depth == 0 && w->leaf->reg[RESULT] == 0 &&
		guess_makes_thread(w->space, w->regs.pc);
}

static enum step_result
table_step(struct walk *w, struct step_row row)
{
	struct step_regs caller = w->regs;
	const bool guesses = row.kind == STEP_NONE && w->regs.exact;

	if (guesses && guess_leaf(w->space, &w->stack, &w->regs, &caller)) {
		w->regs = caller;
		return STEP_OK;
	}

	const enum step_result result = step_apply(row, &w->stack, &caller);

	if (result != STEP_OK)
		return result;
	w->skips |= guesses && guess_skips(w->space, w->regs.pc, caller.pc);
	w->vouched |= row.kind == STEP_NONE || !w->regs.exact;
	/* a frame pointer is only a guess; a return into data refutes it */
	if (row.kind == STEP_NONE && space_index(w->space, caller.pc - 1) < 0)
		return STEP_NO_ROW;
	if (row.kind == STEP_SP && w->regs.exact &&
	    space_index(w->space, caller.pc - 1) < 0 &&
	    !guess_caller(w->space, &w->stack, &w->regs, &caller) &&
	    is_born(w))
		return STEP_OUTERMOST;
	w->regs = caller;
	return STEP_OK;
}

/* Generated code is in no file; what it does now is read from memory. */
static struct step_row
row_of_memory(const struct walk *w)
{
	unsigned char code[GUESS_BYTES] = { 0 };

	if (!w->source.memory ||
	    w->source.memory(w->source.arg, w->regs.pc, code + GUESS_BEFORE,
			     sizeof code - GUESS_BEFORE) != 0)
		return (struct step_row){ .kind = STEP_NONE };
	/* one by one: the code may be the first in its page */
	for (uint64_t i = 1; i <= GUESS_BEFORE; i++)
		(void)w->source.memory(w->source.arg, w->regs.pc - i,
				       code + GUESS_BEFORE - i, 1);
	return guess_row(code, sizeof code);
}

/* The second engine from here on, with the three registers we have. */
static bool
full_from_here(struct walk *w)
{
	struct arch_regs regs = { 0 };

	regs.reg[arch.reg_pc] = w->regs.pc;
	regs.reg[arch.reg_sp] = w->regs.sp;
	regs.reg[arch.reg_fp] = w->regs.fp;
	if (arch.reg_link >= 0)
		regs.reg[arch.reg_link] = w->regs.link;
	w->full_follows = false;
	return full_begin(&w->full, w->space, &w->source, &regs,
			  w->regs.exact) == 0;
}

/* The second engine brought to the frame of regs from the leaf, if it sees
 * the same frames on the way. */
static bool
full_from_leaf(struct walk *w)
{
	if (w->full_strayed)
		return false;	/* once is enough: corrupt stacks are long */
	w->full_strayed = true;
	if (!w->full_follows &&
	    full_begin(&w->full, w->space, &w->source, w->leaf, true) < 0)
		return false;
	while (w->full.regs.depth < w->regs.depth)
		if (full_step(&w->full) != STEP_OK)
			return false;
	if (w->full.regs.pc != w->regs.pc || w->full.regs.sp != w->regs.sp)
		return false;
	w->full_follows = true;
	w->full_strayed = false;
	return true;
}

static enum step_result
full_engine_step(struct walk *w, bool needs_registers)
{
	const uint32_t depth = w->regs.depth;
	enum step_result result;

	/* there no more than a frame pointer is known (step.c) */
	if (arch.reg_link >= 0 && w->regs.guessed)
		return STEP_NO_ROW;
	w->trace->full_steps++;
	if (!(needs_registers && full_from_leaf(w)) && !full_from_here(w))
		return STEP_NO_ROW;
	result = full_step(&w->full);
	if (result != STEP_OK) {
		w->full_follows = false;
		return result;
	}
	w->regs = w->full.regs;
	w->regs.depth = depth + 1;
	w->vouched = true;
	return STEP_OK;
}

/* Only the first frame has all registers, and not of who was only looked at. */
static bool
return_by_register(struct walk *w, struct step_row row)
{
	const uint64_t ret = w->leaf->reg[row.fp - 1];

	if (w->regs.depth > 0 || space_index(w->space, ret - 1) < 0)
		return false;
	w->regs.pc = ret;
	w->regs.sp += row.cfa * 8ull;
	w->regs.exact = 0;
	w->regs.depth++;
	return true;
}

static enum step_result
step_once(struct walk *w, struct step_row row)
{
	enum step_result result;

	do {
		result = table_step(w, row);
	} while (result == STEP_CUT && read_more(w));
	/* 0 ends a chain of frame pointers; who keeps none may have it there
	 * as well */
	if (result == STEP_OUTERMOST && row.kind == STEP_NONE && !w->vouched)
		return STEP_NO_ROW;
	if (result == STEP_OK || result == STEP_OUTERMOST ||
	    result == STEP_CUT)
		return result;
	if (result == STEP_NEEDS_FULL && row.fp && return_by_register(w, row))
		return STEP_OK;
	if (result != STEP_NEEDS_FULL)
		w->trace->failed_steps++;
	result = full_engine_step(w, result == STEP_NEEDS_FULL);
	/* code that says nothing of its caller has one all the same */
	if (result == STEP_OUTERMOST && row.kind == STEP_NONE &&
	    (w->regs.exact || !w->vouched))
		return STEP_NO_ROW;
	return result;
}

/* row.pc is the length of the call before a return address (space.h). */
static uint64_t
shown_pc(const struct step_regs *regs, struct step_row row)
{
	if (regs->exact)
		return regs->pc;
	/* nobody called the restorer: a handler returns to its first byte */
	if (row.kind == STEP_SIGNAL)
		return regs->pc;
	return regs->pc - (row.pc ? row.pc : 1);
}

static enum unwind_end
end_of(enum step_result result)
{
	if (result == STEP_OUTERMOST)
		return UNWIND_COMPLETE;
	return result == STEP_CUT ? UNWIND_TRUNCATED : UNWIND_FAILED;
}

/*
 * The frames that are most of a stack, with the registers in the processor's.
 * For anything else, and for more room, there is the loop below.
 */
static void
walk_ahead(struct walk *w, size_t max_frames)
{
	struct unwind_trace *trace = w->trace;
	const size_t most = trace->cap < max_frames ? trace->cap : max_frames;
	const struct step_window in = {
		w->stack.data, w->stack.base, w->stack.size - 8,
	};
	struct step_place p = {
		w->regs.pc - 1, w->regs.sp - in.base, w->regs.fp - in.base,
	};
	const struct cached_row *cache = w->space->cache;
	uint64_t *pcs = trace->pcs;
	size_t n = trace->len;

	if (w->regs.exact || w->stack.size < 8 || p.sp > w->stack.size)
		return;
	while (n < most) {
		const uint64_t ret = p.pc + 1;
		const struct step_row row = known_row(cache, ret);

		if (!is_usual(row) || !step_climb(row, &in, &p))
			break;
		pcs[n++] = ret - (row.pc ? row.pc : 1);
	}
	if (n > trace->len)
		step_arrive(&w->regs, &p, &in, (uint32_t)(n - trace->len));
	trace->len = n;
}

/* No guess sent us out of the window, nor a frame pointer that nobody knows
 * (elsewhere such a one is wild). */
static bool
is_cut_above(const struct walk *w, struct step_row row)
{
	return row.kind != STEP_NONE &&
		(row.kind != STEP_DRAP || w->regs.fp >= w->regs.sp);
}

static enum unwind_end
walk_frames(struct walk *w, size_t max_frames)
{
	for (;;) {
		struct step_row row;
		enum step_result result;

		walk_ahead(w, max_frames);
		if (w->trace->len >= max_frames)
			return UNWIND_TOO_DEEP;
		row = space_row(w->space, w->regs.pc, w->regs.exact);
		push(w->trace, shown_pc(&w->regs, row));
		if (row.kind == STEP_NONE && w->regs.exact)
			row = row_of_memory(w);
		result = step_once(w, row);
		w->trace->above = result == STEP_CUT && is_cut_above(w, row);
		if (result != STEP_OK)
			return end_of(result);
	}
}

static void
start_trace(struct unwind_trace *trace)
{
	trace->len = 0;
	trace->above = false;
	trace->full_steps = trace->failed_steps = 0;
}

void
unwind_walk(struct unwind_space *space, const struct arch_regs *regs,
	    const struct step_stack *stack, unwind_memory memory, void *arg,
	    size_t max_frames, struct unwind_trace *trace)
{
	struct walk w;

	/* struct full_walk is large and mostly not needed: not cleared */
	w.space = space;
	w.leaf = regs;
	w.stack = *stack;
	w.more = (struct step_stack){ 0 };
	w.source = (struct full_source){
		.stack = stack, .more = &w.more, .memory = memory, .arg = arg,
	};
	w.buffer = NULL;
	w.buffer_cap = 0;
	w.regs = arch_step_regs(regs);
	w.full_follows = false;
	w.full_strayed = w.skips = w.vouched = false;
	w.trace = trace;
	start_trace(trace);
	space_refresh(space);
	trace->end = walk_frames(&w, max_frames);
	if (w.skips)
		trace->end = UNWIND_FAILED;
	free(w.buffer);
}

void
unwind_walk_full(struct unwind_space *space, const struct arch_regs *regs,
		 const struct step_stack *stack, unwind_memory memory,
		 void *arg, size_t max_frames, struct unwind_trace *trace)
{
	const struct step_stack none = { 0 };
	const struct full_source source = {
		.stack = stack, .more = &none, .memory = memory, .arg = arg,
	};
	struct full_walk walk;
	enum step_result result = STEP_NO_ROW;

	start_trace(trace);
	space_refresh(space);
	trace->end = UNWIND_TOO_DEEP;
	if (full_begin(&walk, space, &source, regs, true) < 0) {
		push(trace, regs->reg[arch.reg_pc]);
		trace->end = UNWIND_FAILED;
		return;
	}
	while (trace->len < max_frames) {
		push(trace, shown_pc(&walk.regs,
				     space_row(space, walk.regs.pc,
					       walk.regs.exact)));
		trace->full_steps++;
		result = full_step(&walk);
		if (result != STEP_OK) {
			trace->end = end_of(result);
			return;
		}
	}
}

bool
unwind_skips_caller(struct unwind_space *space, uint64_t pc, uint64_t ret)
{
	space_refresh(space);
	return space_row(space, pc, true).kind == STEP_NONE &&
		guess_skips(space, pc, ret);
}

void
unwind_trace_fini(struct unwind_trace *trace)
{
	free(trace->pcs);
	*trace = (struct unwind_trace){ 0 };
}
