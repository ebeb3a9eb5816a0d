/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One state of the CFI machine to one 8-byte row (include/step.h). Three
 * registers matter to a table walk: frame pointer, stack pointer and return
 * address. What a row cannot say exactly becomes STEP_FULL, never a near miss.
 */
#include <dwarf.h>
#include <string.h>

#include "arch.h"
#include "cfa.h"
#include "frames.h"

/* Is expr `reg + offset`, or with deref `*(reg + offset)`, and no more? */
static bool
match_breg(const uint8_t *expr, uint64_t length, int reg, bool deref,
	   int64_t *offset)
{
	struct reader r = { .at = expr, .end = expr + length };

	if (reader_byte(&r) != DW_OP_breg0 + (unsigned)reg)
		return false;
	*offset = reader_sleb(&r);
	if (deref && reader_byte(&r) != DW_OP_deref)
		return false;
	return !r.bad && r.at == r.end;
}

static bool
match_rule(const struct rule *rule, int reg, int64_t want)
{
	int64_t offset;

	return rule->kind == RULE_EXPRESSION &&
	       match_breg(rule->expr, rule->length, reg, false, &offset) &&
	       offset == want;
}

/* The one expression that the GNU linkers write for lazy PLT entries:
 * sp + 8 + ((pc & 15) >= K) * 8. */
static bool
match_plt(const struct state *s, struct step_row *row)
{
	static const uint8_t head[] = {
		DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
	}, tail[] = {
		DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus,
	};
	const uint8_t *lit = s->expr + sizeof head;

	if (s->length != sizeof head + 1 + sizeof tail ||
	    memcmp(s->expr, head, sizeof head) != 0 ||
	    memcmp(lit + 1, tail, sizeof tail) != 0 ||
	    *lit < DW_OP_lit0 || *lit > DW_OP_lit15)
		return false;
	row->kind = STEP_PLT;
	row->cfa = *lit - DW_OP_lit0;
	return true;
}

static bool
match_drap(const struct state *s, struct step_row *row)
{
	int64_t offset;

	if (!match_breg(s->expr, s->length, arch.reg_fp, true, &offset) ||
	    offset < INT16_MIN || offset > INT16_MAX)
		return false;
	row->kind = STEP_DRAP;
	row->cfa = (uint16_t)(int16_t)offset;
	return true;
}

/* What glibc's __restore_rt says, and step.c knows by heart. */
static bool
match_signal(const struct state *s)
{
	int64_t offset;

	return s->by_expr &&
	       match_breg(s->expr, s->length, arch.reg_sp, true, &offset) &&
	       offset == STEP_SIGNAL_SP &&
	       match_rule(&s->rule[TRACK_FP], arch.reg_sp,
			  STEP_SIGNAL_FP) &&
	       match_rule(&s->rule[TRACK_RA], arch.reg_sp,
			  STEP_SIGNAL_PC);
}

static bool
encode_cfa(const struct state *s, struct step_row *row)
{
	if (s->by_expr)
		return match_plt(s, row) || match_drap(s, row);
	if (s->offset < 0 || s->offset & 7 || s->offset / 8 > UINT16_MAX)
		return false;
	row->cfa = (uint16_t)(s->offset / 8);
	if (s->reg == (uint64_t)arch.reg_sp)
		row->kind = STEP_SP;
	else if (s->reg == (uint64_t)arch.reg_fp)
		row->kind = STEP_FP;
	else
		return false;
	return true;
}

static bool
encode_fp(const struct rule *fp, struct step_row *row)
{
	int64_t slot = fp->offset / 8;

	row->fp = STEP_FP_SAME;
	if (fp->kind == RULE_SAME || fp->kind == RULE_UNDEFINED)
		return true;
	if (match_rule(fp, arch.reg_fp, 0)) {
		row->fp = STEP_FP_AT_FP;
		return true;
	}
	if (fp->kind != RULE_OFFSET || fp->offset & 7 || slot < INT8_MIN ||
	    slot >= STEP_FP_AT_FP || slot == STEP_FP_SAME)
		return false;
	row->fp = (int8_t)slot;
	return true;
}

/*
 * The return address is in a register, as in libc's vfork, where parents stand
 * for long: only the walk's first frame has all registers (step.h).
 */
static struct step_row
encode_register(const struct state *s, uint64_t reg)
{
	struct step_row row = { .kind = STEP_FULL };

	if (s->by_expr || s->reg != (uint64_t)arch.reg_sp || s->offset < 0 ||
	    s->offset & 7 || s->offset / 8 > UINT16_MAX ||
	    reg >= (uint64_t)arch.reg_count || s->rule[TRACK_FP].kind !=
	    RULE_SAME)
		return row;
	row.cfa = (uint16_t)(s->offset / 8);
	row.fp = (int8_t)(reg + 1);
	return row;
}

struct step_row
cfa_encode(const struct state *s, bool signal)
{
	const struct rule *ra = &s->rule[TRACK_RA], *sp = &s->rule[TRACK_SP];
	struct step_row row = { .kind = STEP_FULL }, out = { .kind = STEP_FULL };

	if (arch.reg_link >= 0)
		return cfa_encode_linked(s, signal);
	if (signal) {
		if (match_signal(s))
			row.kind = STEP_SIGNAL;
		return row;
	}
	if (ra->kind == RULE_UNDEFINED)
		return (struct step_row){ .kind = STEP_END };
	if (ra->kind == RULE_REGISTER)
		return encode_register(s, (uint64_t)ra->offset);
	if (ra->kind != RULE_OFFSET || ra->offset != -8)
		return row;
	if (sp->kind != RULE_SAME &&
	    (sp->kind != RULE_VAL_OFFSET || sp->offset != 0))
		return row;
	if (!encode_cfa(s, &out) || !encode_fp(&s->rule[TRACK_FP], &out))
		return row;
	/*
	 * gcc does not say that `leave` ends a realigned frame: at its `ret`
	 * the frame pointer is the caller's again, and not saved at itself.
	 */
	if (out.kind == STEP_SP && out.fp == STEP_FP_AT_FP)
		out.fp = STEP_FP_SAME;
	return out;
}
