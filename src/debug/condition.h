/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of the compiler of conditions: condition.c has what is computed,
 * condition_place.c what lies somewhere.
 */
#ifndef SONDE_DEBUG_CONDITION_H
#define SONDE_DEBUG_CONDITION_H

#include "expression.h"

struct compile {
	struct debug *d;
	const struct frame *frame;
	struct condition *out;
	bool failed;
};

/* ---- condition.c --------------------------------------------------------- */

/* One step more; what is said of it beyond that is for the caller to set. */
struct condition_step *code_emit(struct compile *c, enum condition_op op,
				 uint64_t word);
void code_typed(struct compile *c, enum condition_op op, const struct type *t);
/* A number of 8 bytes at most, or a pointer. */
bool type_is_word(const struct type *t);
/* The value on top, with the bits of its sign, and its type; NULL: it cannot be
 * told so. */
struct type *code_value(struct compile *c, struct node *n);

/* ---- condition_place.c --------------------------------------------------- */

/* Its address on top, and its type; NULL: it cannot be told so. */
struct type *code_place(struct compile *c, struct node *n);
/* What lies there. */
struct type *code_load(struct compile *c, struct node *n);
/* The value of a register. */
struct type *code_register(struct compile *c, int reg, struct type *t);
/* By how much a pointer to this is moved. */
uint64_t code_step(struct compile *c, struct type *t);

#endif
