/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the CFI machine (DWARF 5, section 6.4), as far as a table walk
 * needs it. Expressions point into the section they came from.
 */
#ifndef SONDE_UNWIND_CFA_H
#define SONDE_UNWIND_CFA_H

#include <stdbool.h>
#include <stdint.h>

#include "step.h"

enum rule_kind {
	RULE_SAME,
	RULE_UNDEFINED,
	RULE_OFFSET,		/* saved at CFA + offset */
	RULE_VAL_OFFSET,	/* is CFA + offset */
	RULE_EXPRESSION,	/* saved at the value of expr */
	RULE_REGISTER,		/* is in the register of number offset */
	RULE_OTHER,
};

struct rule {
	enum rule_kind kind;
	int64_t offset;
	const uint8_t *expr;
	uint64_t length;
};

enum { TRACK_FP, TRACK_SP, TRACK_RA, TRACKED };

struct state {
	bool by_expr;		/* the CFA is the value of expr */
	uint64_t reg;
	int64_t offset;
	const uint8_t *expr;
	uint64_t length;
	struct rule rule[TRACKED];
};

/* The row of a state, its pc left 0; signal: the caller was interrupted. */
struct step_row cfa_encode(const struct state *s, bool signal);
/* The same where calls leave the return address in a register. */
struct step_row cfa_encode_linked(const struct state *s, bool signal);

#endif
