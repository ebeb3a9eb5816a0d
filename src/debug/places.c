/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a whole expression of DWARF says: where a variable is, piece by piece,
 * or a number. Every loop ends by a budget: an expression may jump back for
 * ever.
 */
#include "private.h"
#include "machine_stack.h"

#include <string.h>

enum { OPS_MAX = 20000 };

static void
add_place(struct debug *d, struct places *out, struct place place)
{
	if (out->len == out->cap) {
		struct place *more = arena_alloc(&d->scratch,
			(out->cap * 2 + 4) * sizeof *more);

		if (out->len)
			memcpy(more, out->items, out->len * sizeof *more);
		out->items = more;
		out->cap = out->cap * 2 + 4;
	}
	out->items[out->len++] = place;
}

/* Operations that say where, not what; false: op is none of them. */
static bool
place_of_op(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	    struct stack *s, struct place *place, int *status)
{
	const unsigned atom = op->atom;
	Dwarf_Block block;
	struct cell cell;

	*status = 0;
	if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		*place = (struct place){ .kind = PLACE_REGISTER,
					 .reg = (int)(atom - DW_OP_reg0) };
		return true;
	}
	switch (atom) {
	case DW_OP_regx:
		*place = (struct place){
			.kind = PLACE_REGISTER,
			.reg = op->number < REG_MAX ? (int)op->number : -1,
		};
		return true;
	case DW_OP_stack_value:
		*status = stack_pop(s, &cell);
		*place = (struct place){ .kind = PLACE_VALUE,
					 .value = cell.bits };
		return true;
	case DW_OP_implicit_value:
		if (!attr || dwarf_getlocation_implicit_value(attr, op,
							      &block) != 0) {
			*status = stack_unsupported(op);
			return true;
		}
		*place = (struct place){ .kind = PLACE_BYTES,
					 .bytes = block.data,
					 .len = block.length };
		return true;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		*place = (struct place){ .kind = PLACE_POINTER,
					 .offset = (int64_t)op->number2 };
		if (!attr || dwarf_getlocation_die(attr, op, &place->die) != 0)
			*status = stack_unsupported(op);
		(void)c;
		return true;
	default:
		return false;
	}
}

/* Where a jump goes; count: out of the expression. */
static size_t
jump(const Dwarf_Op *ops, size_t count, size_t at)
{
	const uint64_t to = ops[at].offset + 3 +
			    (uint64_t)(int64_t)(int16_t)ops[at].number;

	for (size_t i = 0; i < count; i++)
		if (ops[i].offset == to)
			return i;
	return count;
}

struct run {
	struct stack stack;
	struct place now;	/* named, not yet a piece */
	bool named;
};

static int
end_piece(struct context *c, struct run *r, const Dwarf_Op *op,
	  struct places *out)
{
	struct cell cell;

	if (!r->named) {
		r->now = (struct place){ .kind = PLACE_NONE };
		if (r->stack.len > 0) {
			if (stack_pop(&r->stack, &cell) < 0)
				return -1;
			r->now.kind = PLACE_MEMORY;
			r->now.value = cell.bits;
		}
	}
	r->named = false;
	r->now.bits = op->atom == DW_OP_piece ? op->number * 8 : op->number;
	r->now.bit_offset = op->atom == DW_OP_piece ? 0 : op->number2;
	if (r->now.bits > (uint64_t)VALUE_MAX * 8 ||
	    r->now.bit_offset > PIECE_OFFSET_MAX || out->len > MEMBERS_MAX)
		return fail(FAIL_UNSUITABLE, "a variable in too many pieces");
	if (r->now.bits)
		add_place(c->d, out, r->now);
	return 0;
}

static int
run_each(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t count,
	 struct run *r, struct places *out)
{
	int status;

	for (size_t i = 0; i < count; i++) {
		const Dwarf_Op *op = &ops[i];
		struct cell cell;

		if (c->d->ops++ > OPS_MAX)
			return fail(FAIL_UNSUITABLE,
				    "a DWARF expression without end");
		if (op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece) {
			if (end_piece(c, r, op, out) < 0)
				return -1;
		} else if (op->atom == DW_OP_skip || op->atom == DW_OP_bra) {
			if (op->atom == DW_OP_bra &&
			    stack_pop(&r->stack, &cell) < 0)
				return -1;
			if (op->atom == DW_OP_skip || cell.bits)
				i = jump(ops, count, i) - 1;
		} else if (place_of_op(c, attr, op, &r->stack, &r->now,
				       &status)) {
			r->named = true;
			if (status < 0)
				return -1;
		} else if (stack_step(c, attr, op, &r->stack) < 0) {
			return -1;
		}
	}
	return 0;
}

/* Expressions that others call on have the budget in common. */
static int
run_ops(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops, size_t count,
	struct run *r, struct places *out)
{
	int status;

	if (c->d->running++ == 0)
		c->d->ops = 0;
	status = run_each(c, attr, ops, count, r, out);
	c->d->running--;
	return status;
}

static int
begin(struct context *c, struct run *r)
{
	memset(r, 0, sizeof *r);
	return c->has_initial ? stack_word(&r->stack, c->initial) : 0;
}

int
places_of_ops(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops,
	      size_t count, struct places *out)
{
	struct run r;
	struct cell cell;

	if (begin(c, &r) < 0 || run_ops(c, attr, ops, count, &r, out) < 0)
		return -1;
	if (r.named) {
		add_place(c->d, out, r.now);
	} else if (out->len == 0) {
		if (r.stack.len == 0) {
			add_place(c->d, out,
				  (struct place){ .kind = PLACE_NONE });
			return 0;
		}
		if (stack_pop(&r.stack, &cell) < 0)
			return -1;
		add_place(c->d, out, (struct place){ .kind = PLACE_MEMORY,
						     .value = cell.bits });
	}
	return 0;
}

int
number_of_ops(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops,
	      size_t count, uint64_t *number)
{
	struct places none = {0};
	struct run r;
	struct cell cell;

	if (begin(c, &r) < 0 || run_ops(c, attr, ops, count, &r, &none) < 0)
		return -1;
	if (r.named && r.now.kind == PLACE_REGISTER)
		return stack_register(c, r.now.reg, number);
	if (r.named && r.now.kind == PLACE_VALUE) {
		*number = r.now.value;
		return 0;
	}
	if (r.named || stack_pop(&r.stack, &cell) < 0)
		return fail(FAIL_UNSUITABLE, "a DWARF expression says nothing");
	*number = cell.bits;
	return 0;
}
