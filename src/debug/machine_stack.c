/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arithmetic of DWARF expressions: on words, and on numbers of a base type,
 * which optimizing compilers use to say how a variable could be computed.
 */
#include "machine_stack.h"

#include <string.h>

static double
to_double(const struct cell *c)
{
	float f;
	double r;

	if (!c->is_float)
		return c->is_signed ? (double)(int64_t)c->bits :
				      (double)c->bits;
	if (c->size == sizeof f) {
		memcpy(&f, &c->bits, sizeof f);
		return f;
	}
	memcpy(&r, &c->bits, sizeof r);
	return r;
}

static void
from_double(struct cell *c, double number)
{
	const float f = (float)number;

	c->bits = 0;
	if (c->size == sizeof f)
		memcpy(&c->bits, &f, sizeof f);
	else
		memcpy(&c->bits, &number, sizeof number);
}

/* Keep what a number of that type can hold. */
static void
truncate_cell(struct cell *c)
{
	const unsigned spare = c->size < 8 ? 64 - 8 * c->size : 0;

	if (c->is_float || spare == 0)
		return;
	if (c->is_signed)
		c->bits = (uint64_t)((int64_t)(c->bits << spare) >> spare);
	else
		c->bits = c->bits << spare >> spare;
}

static bool
compare(unsigned atom, bool less, bool equal)
{
	switch (atom) {
	case DW_OP_eq: return equal;
	case DW_OP_ne: return !equal;
	case DW_OP_lt: return less;
	case DW_OP_le: return less || equal;
	case DW_OP_gt: return !less && !equal;
	default: return !less;
	}
}

static int
float_binary(unsigned atom, const struct cell *a, const struct cell *b,
	     struct cell *out)
{
	const double x = to_double(a), y = to_double(b);

	switch (atom) {
	case DW_OP_plus:
		from_double(out, x + y);
		return 0;
	case DW_OP_minus:
		from_double(out, x - y);
		return 0;
	case DW_OP_mul:
		from_double(out, x * y);
		return 0;
	case DW_OP_div:
		from_double(out, x / y);
		return 0;
	case DW_OP_eq: case DW_OP_ne: case DW_OP_lt:
	case DW_OP_le: case DW_OP_gt: case DW_OP_ge:
		*out = (struct cell){ .bits = compare(atom, x < y, x == y),
				      .size = 8 };
		return 0;
	default:
		return fail(FAIL_UNSUITABLE, "DWARF operation 0x%x on numbers "
			    "with a fraction", atom);
	}
}

/* Words divide with a sign and have their remainder without. */
static int
divide(unsigned atom, const struct cell *a, const struct cell *b,
       uint64_t *out)
{
	const bool is_signed = a->typed ? a->is_signed : atom == DW_OP_div;
	const int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;

	if (b->bits == 0)
		return fail(FAIL_UNSUITABLE, "a DWARF expression divides by 0");
	if (!is_signed)
		*out = atom == DW_OP_div ? a->bits / b->bits :
					   a->bits % b->bits;
	else if (y == -1)
		*out = atom == DW_OP_div ? 0 - a->bits : 0;
	else
		*out = (uint64_t)(atom == DW_OP_div ? x / y : x % y);
	return 0;
}

static uint64_t
shift(unsigned atom, const struct cell *a, uint64_t by)
{
	if (atom == DW_OP_shra)
		return (uint64_t)((int64_t)a->bits >> (by < 64 ? by : 63));
	if (by >= 64)
		return 0;
	return atom == DW_OP_shl ? a->bits << by : a->bits >> by;
}

static int
word_binary(unsigned atom, const struct cell *a, const struct cell *b,
	    struct cell *out)
{
	const bool is_signed = !a->typed || a->is_signed;
	const bool less = is_signed ? (int64_t)a->bits < (int64_t)b->bits :
				      a->bits < b->bits;

	switch (atom) {
	case DW_OP_and: out->bits = a->bits & b->bits; break;
	case DW_OP_or: out->bits = a->bits | b->bits; break;
	case DW_OP_xor: out->bits = a->bits ^ b->bits; break;
	case DW_OP_plus: out->bits = a->bits + b->bits; break;
	case DW_OP_minus: out->bits = a->bits - b->bits; break;
	case DW_OP_mul: out->bits = a->bits * b->bits; break;
	case DW_OP_shl: case DW_OP_shr: case DW_OP_shra:
		out->bits = shift(atom, a, b->bits);
		break;
	case DW_OP_div: case DW_OP_mod:
		if (divide(atom, a, b, &out->bits) < 0)
			return -1;
		break;
	case DW_OP_eq: case DW_OP_ne: case DW_OP_lt:
	case DW_OP_le: case DW_OP_gt: case DW_OP_ge:
		*out = (struct cell){ .size = 8 };
		out->bits = compare(atom, less, a->bits == b->bits);
		break;
	default:
		return fail(FAIL_UNSUITABLE, "DWARF operation 0x%x is not "
			    "known here", atom);
	}
	truncate_cell(out);
	return 0;
}

static int
unary_op(struct stack *s, const Dwarf_Op *op)
{
	struct cell c;

	if (stack_pop(s, &c) < 0)
		return -1;
	if (c.is_float && op->atom != DW_OP_not) {
		const double x = to_double(&c);

		from_double(&c, op->atom == DW_OP_neg ? -x : x < 0 ? -x : x);
		return stack_push(s, c);
	}
	if (op->atom == DW_OP_neg ||
	    (op->atom == DW_OP_abs && (int64_t)c.bits < 0))
		c.bits = 0 - c.bits;
	else if (op->atom == DW_OP_not)
		c.bits = ~c.bits;
	else if (op->atom == DW_OP_plus_uconst)
		c.bits += op->number;
	truncate_cell(&c);
	return stack_push(s, c);
}

int
stack_arithmetic(struct stack *s, const Dwarf_Op *op)
{
	struct cell a, b, out;

	if (op->atom == DW_OP_neg || op->atom == DW_OP_abs ||
	    op->atom == DW_OP_not || op->atom == DW_OP_plus_uconst)
		return unary_op(s, op);
	if (op->atom < DW_OP_abs || op->atom > DW_OP_ne)
		return fail(FAIL_UNSUITABLE, "DWARF operation 0x%x is not "
			    "known here", op->atom);
	if (stack_pop(s, &b) < 0 || stack_pop(s, &a) < 0)
		return -1;
	out = a;

	const int status = a.is_float ? float_binary(op->atom, &a, &b, &out) :
					word_binary(op->atom, &a, &b, &out);

	return status < 0 ? -1 : stack_push(s, out);
}

/* ---- numbers with a type ---- */

static int
cell_type(Dwarf_Attribute *attr, const Dwarf_Op *op, struct cell *out)
{
	uint64_t encoding, size;
	Dwarf_Die type;

	*out = (struct cell){ .size = 8 };
	if ((op->atom == DW_OP_convert || op->atom == DW_OP_GNU_convert ||
	     op->atom == DW_OP_reinterpret ||
	     op->atom == DW_OP_GNU_reinterpret) && op->number == 0)
		return 0;
	if (!attr || dwarf_getlocation_die(attr, op, &type) != 0 ||
	    !attr_unsigned(&type, DW_AT_encoding, &encoding) ||
	    !attr_unsigned(&type, DW_AT_byte_size, &size) || size == 0 ||
	    size > 8)
		return fail(FAIL_UNSUITABLE, "a DWARF expression with a type "
			    "that is not known here");
	out->typed = true;
	out->size = (unsigned)size;
	out->is_float = encoding == DW_ATE_float;
	out->is_signed = encoding == DW_ATE_signed ||
			 encoding == DW_ATE_signed_char;
	return 0;
}

static int
typed_constant(Dwarf_Attribute *attr, const Dwarf_Op *op, struct cell *out)
{
	Dwarf_Attribute constant;
	Dwarf_Block block;

	if (dwarf_getlocation_attr(attr, op, &constant) != 0 ||
	    dwarf_formblock(&constant, &block) != 0 ||
	    block.length > sizeof out->bits)
		return fail(FAIL_UNSUITABLE, "a DWARF constant that is not "
			    "known here");
	memcpy(&out->bits, block.data, block.length);
	truncate_cell(out);
	return 0;
}

static void
convert(const struct cell *from, struct cell *to)
{
	if (to->is_float)
		from_double(to, to_double(from));
	else if (from->is_float)
		to->bits = to->is_signed || !to->typed ?
			(uint64_t)(int64_t)to_double(from) :
			(uint64_t)to_double(from);
	else
		to->bits = from->bits;
	truncate_cell(to);
}

int
stack_typed(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	    struct stack *s)
{
	struct cell to, from;

	if (cell_type(attr, op, &to) < 0)
		return -1;
	switch (op->atom) {
	case DW_OP_const_type: case DW_OP_GNU_const_type:
		if (typed_constant(attr, op, &to) < 0)
			return -1;
		break;
	case DW_OP_regval_type: case DW_OP_GNU_regval_type:
		if (register_bytes(c->d, c->regs, (int)op->number,
				   (unsigned char *)&to.bits, to.size) < 0)
			return fail(FAIL_MISSING,
				    "value has been optimized out");
		truncate_cell(&to);
		break;
	case DW_OP_deref_type: case DW_OP_GNU_deref_type:
		if (stack_pop(s, &from) < 0 ||
		    debug_read(c->d, from.bits, &to.bits, to.size) < 0)
			return -1;
		truncate_cell(&to);
		break;
	case DW_OP_convert: case DW_OP_GNU_convert:
		if (stack_pop(s, &from) < 0)
			return -1;
		convert(&from, &to);
		break;
	default:
		if (stack_pop(s, &from) < 0)
			return -1;
		to.bits = from.bits;
		break;
	}
	return stack_push(s, to);
}
