/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of the machine that evaluates DWARF expressions.
 */
#ifndef DEBUG_MACHINE_STACK_H
#define DEBUG_MACHINE_STACK_H

#include "private.h"

enum { STACK_MAX = 256 };

struct cell {
	uint64_t bits;
	unsigned size;		/* bytes of its type; 8 for plain words */
	bool typed, is_signed, is_float;
};

struct stack {
	struct cell cells[STACK_MAX];
	size_t len;
};

int stack_push(struct stack *s, struct cell cell);
int stack_word(struct stack *s, uint64_t word);
/* One operation that works on the stack, of any kind. */
int stack_step(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	       struct stack *s);
int stack_register(struct context *c, int reg, uint64_t *out);
int stack_unsupported(const Dwarf_Op *op);
int stack_pop(struct stack *s, struct cell *cell);
int stack_arithmetic(struct stack *s, const Dwarf_Op *op);
int stack_typed(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
		struct stack *s);

#endif
