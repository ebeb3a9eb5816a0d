/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same for machines whose calls leave the return address in a register
 * (include/step.h, enum step_link). A function that calls others saves it,
 * nearly always side by side with the frame pointer: a frame record.
 */
#include "arch.h"
#include "cfa.h"

/* A place in the frame, in words from the CFA or from the frame's bottom. */
static bool
encode_slot(const struct state *s, int64_t offset, struct step_row *row)
{
	const int64_t words = offset / 8, above = words + s->offset / 8;

	if (offset & 7 || offset >= 0 || above < 0)
		return false;
	row->fp = (int8_t)(above <= INT8_MAX ? above : words);
	return above <= INT8_MAX || words >= INT8_MIN;
}

static bool
encode_return(const struct state *s, struct step_row *row)
{
	const struct rule *ra = &s->rule[TRACK_RA], *fp = &s->rule[TRACK_FP];

	if (ra->kind == RULE_SAME)
		return fp->kind == RULE_SAME;
	if (ra->kind != RULE_OFFSET)
		return false;
	if (fp->kind == RULE_SAME) {
		row->kind |= STEP_LINK_ALONE;
		return encode_slot(s, ra->offset, row);
	}
	row->kind |= STEP_LINK_PAIR;
	return fp->kind == RULE_OFFSET && ra->offset == fp->offset + 8 &&
	       encode_slot(s, fp->offset, row);
}

/*
 * Kernels before 5.8 give their sigreturn unwind data that lead to the frame
 * record of who was interrupted, and past what that was doing; what is said
 * of it here counts for every function that a signal's frame returns to.
 */
static bool
is_signal_record(const struct state *s)
{
	const struct rule *ra = &s->rule[TRACK_RA], *fp = &s->rule[TRACK_FP];

	return !s->by_expr && s->reg == (uint64_t)arch.reg_fp &&
	       s->offset == 0 && fp->kind == RULE_OFFSET && fp->offset == 0 &&
	       ra->kind == RULE_OFFSET && ra->offset == 8;
}

struct step_row
cfa_encode_linked(const struct state *s, bool signal)
{
	const struct rule *ra = &s->rule[TRACK_RA], *sp = &s->rule[TRACK_SP];
	const struct step_row full = { .kind = STEP_FULL };
	struct step_row row = { .kind = STEP_LINKED };

	if (signal) {
		row.kind = STEP_SIGNAL;
		return is_signal_record(s) ? row : full;
	}
	if (ra->kind == RULE_UNDEFINED)
		return (struct step_row){ .kind = STEP_END };
	if (s->by_expr || s->offset < 0 || s->offset & 7 ||
	    s->offset / 8 > UINT16_MAX || sp->kind != RULE_SAME)
		return full;
	row.cfa = (uint16_t)(s->offset / 8);
	if (s->reg == (uint64_t)arch.reg_fp)
		row.kind |= STEP_LINK_FP;
	else if (s->reg != (uint64_t)arch.reg_sp)
		return full;
	return encode_return(s, &row) ? row : full;
}
