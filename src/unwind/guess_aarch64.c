/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where unwind data are missing, what AArch64 code says of itself: before a
 * function has made its frame record, and at its return, the record that the
 * frame pointer points to is the caller's, and following it would leave the
 * caller out. Only the innermost frame, or one that a signal interrupted, is
 * asked.
 */
#include <string.h>

#include "space.h"

enum {
	WORD = 4,
	BTI_C = 0xd503245fu, PACIASP = 0xd503233fu, PACIBSP = 0xd503237fu,
	RET = 0xd65f03c0u, RETAA = 0xd65f0bffu, RETAB = 0xd65f0fffu,
	PUSH_RECORD = 0xa9807bfdu,	/* stp x29, x30, [sp, #-N]! */
	PUSH_RECORD_MASK = 0xffc07fffu,
	SET_FRAME = 0x910003fdu,	/* mov x29, sp */
};

static uint32_t
word_at(const unsigned char *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof word);
	return word;
}

static bool
makes_record(uint32_t word)
{
	return (word & PUSH_RECORD_MASK) == PUSH_RECORD;
}

struct step_row
guess_row(const unsigned char *code, size_t n)
{
	struct step_row row = { .kind = STEP_NONE };
	const unsigned char *at = code + GUESS_BEFORE;
	uint32_t word, before;

	if (n < GUESS_BEFORE + WORD)
		return row;
	word = word_at(at);
	before = word_at(at - WORD);
	if (word == BTI_C || word == PACIASP || word == PACIBSP ||
	    word == RET || word == RETAA || word == RETAB ||
	    makes_record(word)) {
		row.kind = STEP_LINKED;
	} else if (word == SET_FRAME && makes_record(before)) {
		/* N: seven bits with a sign, in words of 8, not above 0 */
		row.kind = STEP_LINKED;
		row.cfa = 128 - (before >> 15 & 127);
	}
	return row;
}

bool
guess_makes_thread(const struct unwind_space *space, uint64_t pc)
{
	(void)space, (void)pc;
	return false;		/* glibc's clone has its data here */
}

bool
guess_caller(struct unwind_space *space, const struct step_stack *stack,
	     const struct step_regs *regs, struct step_regs *caller)
{
	(void)space, (void)stack, (void)regs, (void)caller;
	return false;		/* nor does its arithmetic hide anything */
}

/* A leaf without a frame has its return address in the link register. */
bool
guess_leaf(const struct unwind_space *space, const struct step_stack *stack,
	   const struct step_regs *regs, struct step_regs *caller)
{
	(void)space;
	(void)stack;
	(void)regs;
	(void)caller;
	return false;
}

bool
guess_skips(const struct unwind_space *space, uint64_t pc, uint64_t ret)
{
	(void)space;
	(void)pc;
	(void)ret;
	return false;
}
