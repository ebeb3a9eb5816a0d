/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators on values, with C's conversions: the wider type wins, and of two
 * equally wide ones the one without a sign.
 */
#include "private.h"

#include <math.h>
#include <string.h>

static struct value *
failed(const char *why)
{
	(void)fail(FAIL_USAGE, "%s", why);
	return NULL;
}

static struct type *
truth_type(struct debug *d)
{
	return type_basic(d, frame_is_cxx(d) ? "bool" : "int");
}

struct type *
arithmetic_type(struct debug *d, const struct type *a, const struct type *b)
{
	const uint64_t size = b && b->size > a->size ? b->size : a->size;
	const bool a_unsigned = !a->is_signed && a->size >= size;
	const bool b_unsigned = b && !b->is_signed && b->size >= size;
	const bool is_unsigned = a_unsigned || b_unsigned;

	if (size < 4)
		return type_basic(d, "int");
	if (size == 4)
		return type_basic(d, is_unsigned ? "unsigned int" : "int");
	if (size == 16)
		return type_basic(d, is_unsigned ? "unsigned __int128" :
				  "__int128");
	return type_basic(d, is_unsigned ? "unsigned long" : "long");
}

static struct value *
float_binary(struct debug *d, int op, struct value *a, struct value *b,
	     struct type *t)
{
	long double x, y;

	if (value_float(d, a, &x) < 0 || value_float(d, b, &y) < 0)
		return NULL;
	switch (op) {
	case '+': return value_double(d, t, x + y);
	case '-': return value_double(d, t, x - y);
	case '*': return value_double(d, t, x * y);
	case '/': return value_double(d, t, x / y);
	case '<': return value_int(d, truth_type(d), x < y);
	case '>': return value_int(d, truth_type(d), x > y);
	case OP_LE: return value_int(d, truth_type(d), x <= y);
	case OP_GE: return value_int(d, truth_type(d), x >= y);
	case OP_EQ: return value_int(d, truth_type(d), x == y);
	case OP_NE: return value_int(d, truth_type(d), x != y);
	default:
		return failed("Integer or pointer operation on floating "
			      "values");
	}
}

/* Numbers are of 128 bits here, with the bits of their signs. */
static unsigned __int128
narrow(unsigned __int128 word, const struct type *t)
{
	if (t->size >= sizeof word || t->size == 0)
		return word;

	const unsigned spare = 128 - 8 * (unsigned)t->size;

	return t->is_signed ?
		(unsigned __int128)((__int128)(word << spare) >> spare) :
		word << spare >> spare;
}

static struct value *
divide(struct debug *d, int op, unsigned __int128 x, unsigned __int128 y,
       struct type *t)
{
	const __int128 left = (__int128)x, right = (__int128)y;

	if (y == 0)
		return failed("Division by zero");
	if (!t->is_signed)
		return value_of_wide(d, t, op == '/' ? x / y : x % y);
	if (right == -1)
		return value_of_wide(d, t, op == '/' ? 0 - x : 0);
	return value_of_wide(d, t, (unsigned __int128)(op == '/' ?
		left / right : left % right));
}

static struct value *
shift(struct debug *d, int op, unsigned __int128 x, unsigned __int128 y,
      struct type *t)
{
	const bool negative = t->is_signed && (__int128)x < 0;

	if (y >= t->size * 8)
		return value_of_wide(d, t, op == OP_SHR && negative ?
				     ~(unsigned __int128)0 : 0);
	if (op == OP_SHL)
		return value_of_wide(d, t, x << (unsigned)y);
	return value_of_wide(d, t, negative ? ~(~x >> (unsigned)y) :
			     x >> (unsigned)y);
}

static bool
compared(int op, unsigned __int128 x, unsigned __int128 y, bool is_signed)
{
	const bool less = is_signed ? (__int128)x < (__int128)y : x < y;

	switch (op) {
	case '<': return less;
	case '>': return !less && x != y;
	case OP_LE: return less || x == y;
	case OP_GE: return !less;
	case OP_EQ: return x == y;
	default: return x != y;
	}
}

bool
is_comparison(int op)
{
	return op == '<' || op == '>' || op == OP_LE || op == OP_GE ||
	       op == OP_EQ || op == OP_NE;
}

static struct value *
word_binary(struct debug *d, int op, unsigned __int128 x, unsigned __int128 y,
	    struct type *t)
{
	switch (op) {
	case '+': return value_of_wide(d, t, x + y);
	case '-': return value_of_wide(d, t, x - y);
	case '*': return value_of_wide(d, t, x * y);
	case '&': return value_of_wide(d, t, x & y);
	case '|': return value_of_wide(d, t, x | y);
	case '^': return value_of_wide(d, t, x ^ y);
	case '/': case '%': return divide(d, op, x, y, t);
	case OP_SHL: case OP_SHR: return shift(d, op, x, y, t);
	default:
		if (is_comparison(op))
			return value_int(d, truth_type(d),
					 compared(op, x, y, t->is_signed));
		return failed("the operator is not known here");
	}
}

/* ---- pointers ---- */

static bool
is_pointer(struct debug *d, struct value *v)
{
	return type_strip(d, v->type)->kind == TYPE_POINTER;
}

static uint64_t
step_of(struct debug *d, struct value *v)
{
	struct type *t = type_target(d, type_strip(d, v->type));
	const uint64_t size = type_size(d, t);

	return size && size != UINT64_MAX ? size : 1;
}

static struct value *
pointer_binary(struct debug *d, int op, struct value *a, struct value *b)
{
	uint64_t x, y;

	if (value_number(d, a, &x) < 0 || value_number(d, b, &y) < 0)
		return NULL;
	if (is_comparison(op))
		return value_int(d, truth_type(d), compared(op, x, y, false));
	if (is_pointer(d, a) && is_pointer(d, b)) {
		if (op != '-')
			return failed("Argument to arithmetic operation not a "
				      "number or boolean.");
		if (step_of(d, a) != step_of(d, b))
			return failed("First argument of `-' is a pointer and "
				      "second argument is neither\nan integer "
				      "nor a pointer of the same type.");
		return value_int(d, type_basic(d, "long"),
				 (uint64_t)((int64_t)(x - y) /
					    (int64_t)step_of(d, a)));
	}
	if (op == '+' && !is_pointer(d, a))
		return value_int(d, b->type, y + x * step_of(d, b));
	if (op == '+')
		return value_int(d, a->type, x + y * step_of(d, a));
	if (op == '-' && is_pointer(d, a))
		return value_int(d, a->type, x - y * step_of(d, a));
	return word_binary(d, op, x, y, type_basic(d, "long"));
}

static bool
same_structs(struct debug *d, struct value *a, struct value *b)
{
	struct type *t = type_strip(d, a->type);

	return (t->kind == TYPE_STRUCT || t->kind == TYPE_UNION) &&
	       type_same(d, t, b->type);
}

/* It is no array, whose name is an address. */
static bool
is_vector(struct debug *d, struct value *v)
{
	return type_strip(d, v->type)->is_vector;
}

static struct value *
vectors_failed(void)
{
	(void)failed("vectors are not computed with here");
	(void)fail_remedy("each of its numbers is: v[0]");
	return NULL;
}

struct value *
binary(struct debug *d, int op, struct value *a, struct value *b)
{
	struct type *x, *y, *t;
	unsigned __int128 left, right;

	if (is_vector(d, a) || is_vector(d, b))
		return vectors_failed();
	a = value_decay(d, a);
	b = a ? value_decay(d, b) : NULL;
	if (!b)
		return NULL;
	x = type_strip(d, a->type);
	y = type_strip(d, b->type);
	if ((op == OP_EQ || op == OP_NE) && same_structs(d, a, b))
		return failed("structs are not compared here");
	if (x->kind == TYPE_POINTER || y->kind == TYPE_POINTER)
		return pointer_binary(d, op, a, b);
	if (x->kind == TYPE_STRUCT || y->kind == TYPE_STRUCT)
		return failed(arena_printf(&d->scratch, "Structure has no "
					   "component named operator%s.",
					   operator_text(op)));
	if ((x->kind != TYPE_FLOAT && !type_is_integral(x)) ||
	    (y->kind != TYPE_FLOAT && !type_is_integral(y)))
		return failed("Argument to arithmetic operation not a number "
			      "or boolean.");
	if (x->kind == TYPE_FLOAT || y->kind == TYPE_FLOAT) {
		t = x->kind != TYPE_FLOAT ? y : y->kind != TYPE_FLOAT ? x :
			x->size >= y->size ? x : y;
		return float_binary(d, op, a, b, float_is_native(t) ? t :
				    type_basic(d, t->size == 2 ? "float" :
					       "long double"));
	}
	if (value_wide(d, a, &left) < 0 || value_wide(d, b, &right) < 0)
		return NULL;
	t = arithmetic_type(d, x, op == OP_SHL || op == OP_SHR ? NULL : y);
	return word_binary(d, op, narrow(left, t), narrow(right, t), t);
}

struct value *
unary(struct debug *d, int op, struct value *v)
{
	struct type *t;
	unsigned __int128 word;
	long double real;
	bool truth;

	if (is_vector(d, v))
		return vectors_failed();
	v = value_decay(d, v);
	if (!v)
		return NULL;
	if (op == '!')
		return value_truth(d, v, &truth) < 0 ? NULL :
			value_int(d, truth_type(d), !truth);
	t = type_strip(d, v->type);
	if (t->kind == TYPE_FLOAT && op != '~')
		return value_float(d, v, &real) < 0 ? NULL :
			value_double(d, float_is_native(t) ? v->type :
				     type_basic(d, "long double"),
				     op == '-' ? -real : real);
	if (!type_is_integral(t))
		return failed(op == '~' ?
			"Argument to complement operation not an integer, "
			"boolean." : "Argument to arithmetic operation not a "
			"number or boolean.");
	if (value_wide(d, v, &word) < 0)
		return NULL;
	t = arithmetic_type(d, t, NULL);
	return value_of_wide(d, t, op == '-' ? 0 - word : op == '~' ? ~word :
			     word);
}
