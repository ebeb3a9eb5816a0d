/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running CFI. The instructions of a frame description are run once; each
 * stretch of code with one state becomes one row (encode.c).
 *
 * The work is linear in the bytes: every instruction consumes at least one
 * and emits at most one row; what a CIE says is run once, for all its FDEs.
 * Instructions that we cannot read make the rest of their function STEP_FULL.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "arch.h"
#include "base.h"
#include "cfa.h"
#include "frames.h"

/* remember_state nests one or two deep in practice. */
enum { STATES_MAX = 32 };

/* DW_CFA_AARCH64_negate_ra_state: the return address is signed from here on,
 * or no more. Other machines have another instruction of that number. */
enum { AARCH64_SIGNED = 0x2d };

/* The state in which the functions of a CIE begin. */
struct start {
	struct state state;
	bool known, ok;
};

struct run {
	const struct frame_cie *cie;
	struct reader code;
	struct state now;
	const struct state *initial;
	struct state *saved;	/* STATES_MAX of them */
	unsigned depth;
	bool in_cie;
	uint64_t loc, end, base;
	struct rows *rows;
};

static void
push_row(struct rows *rows, uint64_t pc, struct step_row row)
{
	row.pc = (uint32_t)pc;
	if (rows->len) {
		struct step_row *last = &rows->row[rows->len - 1];

		if (last->kind == row.kind && last->cfa == row.cfa &&
		    last->fp == row.fp)
			return;
		if (last->pc == row.pc) {
			*last = row;
			return;
		}
	}
	if (rows->len == rows->cap)
		rows->row = xgrow(rows->row, &rows->cap, rows->len + 1,
				  sizeof *rows->row);
	rows->row[rows->len++] = row;
}

/* The state so far holds for the next delta bytes of code. */
static void
advance(struct run *run, uint64_t delta)
{
	if (run->in_cie) {
		run->code.bad = true;
		return;
	}
	if (delta == 0)
		return;
	push_row(run->rows, run->loc - run->base,
		 cfa_encode(&run->now, run->cie->signal));
	if (delta >= run->end - run->loc) {
		run->loc = run->end;
		run->code.at = run->code.end;	/* beyond the function */
		return;
	}
	run->loc += delta;
}

static void
advance_units(struct run *run, uint64_t units)
{
	uint64_t delta;

	if (__builtin_mul_overflow(units, run->cie->code_align, &delta))
		delta = UINT64_MAX;
	advance(run, delta);
}

/* Which of the registers that matter this is, or TRACKED: none. */
static unsigned
tracked(const struct run *run, uint64_t reg)
{
	if (reg == (uint64_t)arch.reg_fp)
		return TRACK_FP;
	if (reg == (uint64_t)arch.reg_sp)
		return TRACK_SP;
	if (reg == run->cie->ra)
		return TRACK_RA;
	return TRACKED;
}

static void
set_rule(struct run *run, uint64_t reg, struct rule rule)
{
	const unsigned place = tracked(run, reg);

	if (place != TRACKED)
		run->now.rule[place] = rule;
}

static void
set_offset(struct run *run, uint64_t reg, enum rule_kind kind, int64_t factored)
{
	struct rule rule = { .kind = kind };

	if (__builtin_mul_overflow(factored, run->cie->data_align,
				   &rule.offset))
		rule.kind = RULE_OTHER;
	set_rule(run, reg, rule);
}

static void
restore_rule(struct run *run, uint64_t reg)
{
	const unsigned place = tracked(run, reg);

	if (place != TRACKED)
		run->now.rule[place] = run->initial->rule[place];
}

static void
set_expression(struct run *run, enum rule_kind kind)
{
	const uint64_t reg = reader_uleb(&run->code);
	struct rule rule = { .kind = kind };

	rule.length = reader_uleb(&run->code);
	rule.expr = reader_skip(&run->code, rule.length);
	set_rule(run, reg, rule);
}

static void
set_cfa(struct run *run, uint64_t reg, int64_t offset, int64_t factor)
{
	run->now.by_expr = false;
	run->now.reg = reg;
	if (__builtin_mul_overflow(offset, factor, &run->now.offset))
		run->code.bad = true;
}

static void
set_cfa_expression(struct run *run)
{
	run->now.by_expr = true;
	run->now.length = reader_uleb(&run->code);
	run->now.expr = reader_skip(&run->code, run->now.length);
}

static void
remember(struct run *run)
{
	if (run->depth == STATES_MAX)
		run->code.bad = true;
	else
		run->saved[run->depth++] = run->now;
}

static void
recall(struct run *run)
{
	if (run->depth == 0)
		run->code.bad = true;
	else
		run->now = run->saved[--run->depth];
}

/* DW_CFA_set_loc needs a relocated pointer; no compiler emits it. */
static void
run_extended(struct run *run, uint8_t op)
{
	struct reader *r = &run->code;
	const int64_t da = run->cie->data_align;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return;
	case DW_CFA_advance_loc1:
		advance_units(run, reader_byte(r));
		return;
	case DW_CFA_advance_loc2:
		advance_units(run, reader_fixed(r, 2));
		return;
	case DW_CFA_advance_loc4:
		advance_units(run, reader_fixed(r, 4));
		return;
	case DW_CFA_offset_extended:
		reg = reader_uleb(r);
		set_offset(run, reg, RULE_OFFSET, (int64_t)reader_uleb(r));
		return;
	case DW_CFA_offset_extended_sf:
		reg = reader_uleb(r);
		set_offset(run, reg, RULE_OFFSET, reader_sleb(r));
		return;
	case DW_CFA_GNU_negative_offset_extended:
		reg = reader_uleb(r);
		set_offset(run, reg, RULE_OFFSET, -(int64_t)reader_uleb(r));
		return;
	case DW_CFA_val_offset:
		reg = reader_uleb(r);
		set_offset(run, reg, RULE_VAL_OFFSET, (int64_t)reader_uleb(r));
		return;
	case DW_CFA_val_offset_sf:
		reg = reader_uleb(r);
		set_offset(run, reg, RULE_VAL_OFFSET, reader_sleb(r));
		return;
	case DW_CFA_restore_extended:
		restore_rule(run, reader_uleb(r));
		return;
	case DW_CFA_undefined:
		set_rule(run, reader_uleb(r),
			 (struct rule){ .kind = RULE_UNDEFINED });
		return;
	case DW_CFA_same_value:
		set_rule(run, reader_uleb(r),
			 (struct rule){ .kind = RULE_SAME });
		return;
	case DW_CFA_register:
		reg = reader_uleb(r);
		set_rule(run, reg, (struct rule){
			.kind = RULE_REGISTER,
			.offset = (int64_t)(reader_uleb(r) & INT32_MAX) });
		return;
	case DW_CFA_remember_state:
		remember(run);
		return;
	case DW_CFA_restore_state:
		recall(run);
		return;
	case DW_CFA_def_cfa:
		reg = reader_uleb(r);
		set_cfa(run, reg, (int64_t)reader_uleb(r), 1);
		return;
	case DW_CFA_def_cfa_sf:
		reg = reader_uleb(r);
		set_cfa(run, reg, reader_sleb(r), da);
		return;
	case DW_CFA_def_cfa_register:
		set_cfa(run, reader_uleb(r), run->now.offset, 1);
		return;
	case DW_CFA_def_cfa_offset:
		set_cfa(run, run->now.reg, (int64_t)reader_uleb(r), 1);
		return;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(run, run->now.reg, reader_sleb(r), da);
		return;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(run);
		return;
	case DW_CFA_expression:
		set_expression(run, RULE_EXPRESSION);
		return;
	case DW_CFA_val_expression:
		set_expression(run, RULE_OTHER);
		return;
	case DW_CFA_GNU_args_size:
		(void)reader_uleb(r);
		return;
	case AARCH64_SIGNED:
		/* a signature is taken off wherever there is one (step.c) */
		r->bad = r->bad || arch.reg_link < 0;
		return;
	default:
		r->bad = true;
	}
}

static void
run_one(struct run *run)
{
	const uint8_t op = reader_byte(&run->code);
	const uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		advance_units(run, low);
		return;
	case DW_CFA_offset:
		set_offset(run, low, RULE_OFFSET,
			   (int64_t)reader_uleb(&run->code));
		return;
	case DW_CFA_restore:
		restore_rule(run, low);
		return;
	default:
		run_extended(run, low);
	}
}

static bool
run_code(struct run *run, const uint8_t *from, const uint8_t *to)
{
	run->code = (struct reader){ .at = from, .end = to };
	while (!run->code.bad && run->code.at < run->code.end)
		run_one(run);
	return !run->code.bad;
}

/* What the CIE says, once. */
static const struct start *
start_of(struct start *starts, const struct frames *frames, uint32_t cie)
{
	struct start *start = &starts[cie];
	struct state saved[STATES_MAX];
	struct run run = {
		.cie = &frames->cies[cie], .saved = saved, .in_cie = true,
		.initial = &start->state,
	};

	if (start->known)
		return start;
	start->known = true;
	start->ok = run_code(&run, run.cie->insn, run.cie->insn_end);
	start->state = run.now;
	return start;
}

static void
compile_fde(const struct frames *frames, const struct frame_fde *fde,
	    struct start *starts, uint64_t base, struct rows *rows)
{
	if (!fde->insn) {
		push_row(rows, fde->start - base,
			 (struct step_row){ .kind = fde->fixed_kind,
					    .cfa = fde->fixed_cfa });
		return;
	}

	const struct start *start = start_of(starts, frames, fde->cie);
	struct state saved[STATES_MAX];	/* read only after it was written */
	struct run run = {
		.cie = &frames->cies[fde->cie],
		.saved = saved, .now = start->state, .initial = &start->state,
		.loc = fde->start, .end = fde->end, .base = base,
		.rows = rows,
	};
	const bool ok = start->ok && run_code(&run, fde->insn, fde->insn_end);

	if (run.loc < run.end)
		push_row(rows, run.loc - base,
			 ok ? cfa_encode(&run.now, run.cie->signal) :
			 (struct step_row){ .kind = STEP_FULL });
}

void
compile_all(const struct frames *frames, uint64_t base, struct rows *rows)
{
	const struct step_row none = { .kind = STEP_NONE };
	struct start *starts = xcalloc(frames->cie_count + 1, sizeof *starts);

	for (size_t i = 0; i < frames->count; i++) {
		const struct frame_fde *fde = &frames->fdes[i];

		compile_fde(frames, fde, starts, base, rows);
		if (i + 1 == frames->count || fde[1].start > fde->end)
			push_row(rows, fde->end - base, none);
	}
	free(starts);
}
