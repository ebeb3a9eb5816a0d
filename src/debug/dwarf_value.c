/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack machine of DWARF expressions, on operations that libdw decoded.
 * Its stack holds words, or numbers of a base type once the compiler says so.
 */
#include "private.h"
#include "machine_stack.h"

#include <string.h>

enum { DEPTH_MAX = 16 };

int
stack_unsupported(const Dwarf_Op *op)
{
	return fail(FAIL_UNSUITABLE, "DWARF operation 0x%x is not known here",
		    op->atom);
}

int
stack_push(struct stack *s, struct cell cell)
{
	if (s->len == STACK_MAX)
		return fail(FAIL_UNSUITABLE, "a DWARF expression without end");
	s->cells[s->len++] = cell;
	return 0;
}

int
stack_word(struct stack *s, uint64_t word)
{
	return stack_push(s, (struct cell){ .bits = word, .size = 8 });
}

int
stack_pop(struct stack *s, struct cell *cell)
{
	*cell = (struct cell){ .size = 8 };
	if (s->len == 0)
		return fail(FAIL_UNSUITABLE, "a DWARF expression takes more "
			    "than it has");
	*cell = s->cells[--s->len];
	return 0;
}

ssize_t
register_bytes(struct debug *d, const struct physical *p, int reg,
	       unsigned char *out, size_t size)
{
	const struct machine_reg *mr = machine_numbered(reg);
	size_t n;

	memset(out, 0, size);
	if (!p || reg < 0)
		return -1;
	if (reg < arch.reg_count) {
		if (p->reg[reg].known == REG_LOST)
			return -1;
		n = size < 8 ? size : 8;
		memcpy(out, &p->reg[reg].value, n);
		return (ssize_t)n;
	}
	if (!mr || !p->innermost || debug_regs_load(d) < 0 ||
	    (mr->vector && !d->regs.vectors_known) ||
	    (mr->extra && !d->regs.extra_known))
		return -1;
	if (mr->type == REG_VECTOR)
		return (ssize_t)vector_bytes(d, mr, out, size);
	n = size < mr->size ? size : mr->size;
	memcpy(out, (const char *)&d->regs + mr->offset, n);
	return (ssize_t)n;
}

int
stack_register(struct context *c, int reg, uint64_t *out)
{
	unsigned char bytes[8];

	*out = 0;
	if (register_bytes(c->d, c->regs, reg, bytes, sizeof bytes) < 0)
		return fail(FAIL_MISSING, "value has been optimized out");
	memcpy(out, bytes, sizeof *out);
	return 0;
}

static int
push_register(struct context *c, struct stack *s, int reg, uint64_t offset)
{
	uint64_t word;

	return stack_register(c, reg, &word) < 0 ? -1 :
		stack_word(s, word + offset);
}

/* ---- the frame ---- */

Dwarf_Die *
frame_subprogram(const struct frame *f)
{
	for (size_t i = f->first; i < f->at->scope_len; i++)
		if (dwarf_tag(&f->at->scopes[i]) == DW_TAG_subprogram)
			return &f->at->scopes[i];
	return NULL;
}

static int
push_frame_base(struct context *c, struct stack *s, int64_t offset)
{
	Dwarf_Die *function = c->frame ? frame_subprogram(c->frame) : NULL;
	struct context inner = *c;
	struct places where = {0};
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t base = 0;

	if (!function || c->depth > DEPTH_MAX ||
	    !dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, frame_lookup_pc(c->regs) -
				   c->object->bias, &ops, &n, 1) != 1)
		return fail(FAIL_MISSING, "the function has no frame base");
	inner.depth++;
	inner.has_initial = false;
	if (places_of_ops(&inner, &attr, ops, n, &where) < 0)
		return -1;
	if (where.len != 1)
		return fail(FAIL_MISSING, "the function has no frame base");
	if (where.items[0].kind == PLACE_REGISTER) {
		if (stack_register(c, where.items[0].reg, &base) < 0)
			return -1;
	} else if (where.items[0].kind == PLACE_MEMORY ||
		   where.items[0].kind == PLACE_VALUE) {
		base = where.items[0].value;
	} else {
		return fail(FAIL_MISSING, "the function has no frame base");
	}
	return stack_word(s, base + (uint64_t)offset);
}

static int
push_cfa(struct context *c, struct stack *s)
{
	const uint64_t cfa = c->regs ? frame_cfa(c->d, c->regs) : 0;

	return cfa ? stack_word(s, cfa) :
		fail(FAIL_MISSING, "the frame has no known address");
}

/* ---- memory ---- */

static int
op_deref(struct context *c, struct stack *s, unsigned size)
{
	struct cell cell;
	uint64_t word = 0;

	if (stack_pop(s, &cell) < 0)
		return -1;
	if (size == 0 || size > sizeof word)
		return fail(FAIL_UNSUITABLE, "a DWARF expression reads %u "
			    "bytes", size);
	return debug_read(c->d, cell.bits, &word, size) < 0 ? -1 :
		stack_word(s, word);
}

/* ---- other expressions ---- */

static int
op_call(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	struct stack *s)
{
	struct context inner = *c;
	Dwarf_Attribute location;
	Dwarf_Op *ops;
	size_t n;
	uint64_t word;

	if (!attr || c->depth > DEPTH_MAX)
		return stack_unsupported(op);
	if (dwarf_getlocation_attr(attr, op, &location) != 0 ||
	    dwarf_getlocation(&location, &ops, &n) != 0)
		return 0;	/* nothing to call has no effect */
	inner.depth++;
	inner.has_initial = false;
	return number_of_ops(&inner, &location, ops, n, &word) < 0 ? -1 :
		stack_word(s, word);
}

static int
op_variable(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	    struct stack *s)
{
	Dwarf_Die die;
	struct value *v;
	uint64_t word;

	if (!attr || c->d->nested > DEPTH_MAX ||
	    dwarf_getlocation_die(attr, op, &die) != 0)
		return stack_unsupported(op);
	c->d->nested++;
	v = variable_value(c->d, c->object, c->frame, &die);
	c->d->nested--;
	return !v || value_number(c->d, v, &word) < 0 ? -1 :
		stack_word(s, word);
}

static int
op_addrx(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	 struct stack *s)
{
	const bool address = op->atom == DW_OP_addrx ||
			     op->atom == DW_OP_GNU_addr_index;
	Dwarf_Attribute number;
	Dwarf_Word addr;

	if (!attr || dwarf_getlocation_attr(attr, op, &number) != 0 ||
	    (address ? dwarf_formaddr(&number, &addr) :
		       dwarf_formudata(&number, &addr)) != 0)
		return stack_unsupported(op);
	return stack_word(s, addr + (address ? c->object->bias : 0));
}

static int
op_entry_value(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	       struct stack *s)
{
	uint64_t word;

	if (c->depth > DEPTH_MAX)
		return stack_unsupported(op);
	return (op->atom == DW_OP_GNU_parameter_ref ?
		entry_parameter(c, attr, op, &word) :
		entry_value(c, attr, op, &word)) < 0 ? -1 :
		stack_word(s, word);
}

static int
op_tls(struct context *c, struct stack *s)
{
	struct cell cell;
	uint64_t addr;

	if (stack_pop(s, &cell) < 0 ||
	    tls_address(c->d, c->object, cell.bits, &addr) < 0)
		return -1;
	return stack_word(s, addr);
}

/* ---- the stack itself ---- */

static int
op_pick(struct stack *s, size_t n)
{
	if (n >= s->len)
		return fail(FAIL_UNSUITABLE, "a DWARF expression takes more "
			    "than it has");
	return stack_push(s, s->cells[s->len - 1 - n]);
}

static int
op_turn(struct stack *s, size_t n)
{
	if (s->len < n)
		return fail(FAIL_UNSUITABLE, "a DWARF expression takes more "
			    "than it has");

	const struct cell top = s->cells[s->len - 1];

	for (size_t i = s->len - 1; i > s->len - n; i--)
		s->cells[i] = s->cells[i - 1];
	s->cells[s->len - n] = top;
	return 0;
}

static int
op_on_stack(struct stack *s, const Dwarf_Op *op)
{
	struct cell cell;

	switch (op->atom) {
	case DW_OP_dup:
		return op_pick(s, 0);
	case DW_OP_over:
		return op_pick(s, 1);
	case DW_OP_pick:
		return op_pick(s, op->number);
	case DW_OP_swap:
		return op_turn(s, 2);
	case DW_OP_rot:
		return op_turn(s, 3);
	case DW_OP_drop:
		return stack_pop(s, &cell);
	default:
		return stack_arithmetic(s, op);
	}
}

static int
push_constant(struct context *c, struct stack *s, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_addr:
		return stack_word(s, op->number + c->object->bias);
	case DW_OP_const1u: case DW_OP_const2u: case DW_OP_const4u:
	case DW_OP_const8u: case DW_OP_constu: case DW_OP_const8s:
	case DW_OP_consts: case DW_OP_const1s: case DW_OP_const2s:
	case DW_OP_const4s:
		return stack_word(s, op->number);
	default:
		return stack_word(s, op->atom - DW_OP_lit0);
	}
}

int
stack_step(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	struct stack *s)
{
	const unsigned atom = op->atom;

	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(c, s, (int)(atom - DW_OP_breg0),
				     op->number);
	if ((atom >= DW_OP_lit0 && atom <= DW_OP_lit31) || atom == DW_OP_addr ||
	    (atom >= DW_OP_const1u && atom <= DW_OP_consts))
		return push_constant(c, s, op);
	switch (atom) {
	case DW_OP_nop:
		return 0;
	case DW_OP_bregx:
		return push_register(c, s, (int)op->number, op->number2);
	case DW_OP_fbreg:
		return push_frame_base(c, s, (int64_t)op->number);
	case DW_OP_call_frame_cfa:
		return push_cfa(c, s);
	case DW_OP_push_object_address:
		return c->address ? stack_word(s, *c->address) :
			fail(FAIL_UNSUITABLE, "no object is meant");
	case DW_OP_deref:
		return op_deref(c, s, 8);
	case DW_OP_deref_size:
		return op_deref(c, s, (unsigned)op->number);
	case DW_OP_addrx: case DW_OP_constx:
	case DW_OP_GNU_addr_index: case DW_OP_GNU_const_index:
		return op_addrx(c, attr, op, s);
	case DW_OP_call2: case DW_OP_call4: case DW_OP_call_ref:
		return op_call(c, attr, op, s);
	case DW_OP_GNU_variable_value:
		return op_variable(c, attr, op, s);
	case DW_OP_entry_value: case DW_OP_GNU_entry_value:
	case DW_OP_GNU_parameter_ref:
		return op_entry_value(c, attr, op, s);
	case DW_OP_form_tls_address: case DW_OP_GNU_push_tls_address:
		return op_tls(c, s);
	case DW_OP_const_type: case DW_OP_GNU_const_type:
	case DW_OP_regval_type: case DW_OP_GNU_regval_type:
	case DW_OP_deref_type: case DW_OP_GNU_deref_type:
	case DW_OP_convert: case DW_OP_GNU_convert:
	case DW_OP_reinterpret: case DW_OP_GNU_reinterpret:
		return stack_typed(c, attr, op, s);
	default:
		return op_on_stack(s, op);
	}
}
