/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of an expression to a value. Quiet: only the type is wanted, so
 * nothing is assigned or called.
 */
#include "expression.h"

#include <inttypes.h>
#include <string.h>

enum { DEPTH_MAX = 400 };

static struct value *
failed(const char *why)
{
	(void)fail(FAIL_USAGE, "%s", why);
	return NULL;
}

/* Of a pointer that nobody has the type is known all the same. */
static struct value *
pointed(struct debug *d, struct value *v, bool quiet)
{
	struct type *t = type_strip(d, v->type);
	struct value *out = value_deref(d, v);

	if (out || !quiet || t->kind != TYPE_POINTER ||
	    type_strip(d, type_target(d, t))->kind == TYPE_VOID)
		return out;
	fail_clear();
	return value_lost(d, type_target(d, t));
}

static struct value *
eval_unary(struct debug *d, struct node *n, bool quiet)
{
	struct value *v = evaluate(d, n->a, quiet), *own;

	if (!v)
		return NULL;
	if (n->op == '&')
		return value_address(d, v);
	v = value_unref(d, v);
	if (!v)
		return NULL;
	if (operator_call(d, operator_text(n->op), &v, 1, quiet, &own))
		return own;
	return n->op == '*' ? pointed(d, v, quiet) : unary(d, n->op, v);
}

static struct value *
eval_logic(struct debug *d, struct node *n, bool quiet)
{
	const bool want = n->op == OP_AND;
	struct type *t = type_basic(d, frame_is_cxx(d) ? "bool" : "int");
	struct value *v = evaluate(d, n->a, quiet);
	bool truth;

	if (!v)
		return NULL;
	if (quiet)
		return evaluate(d, n->b, quiet) ? value_int(d, t, 0) : NULL;
	if (value_truth(d, v, &truth) < 0)
		return NULL;
	if (truth != want)
		return value_int(d, t, truth);
	v = evaluate(d, n->b, quiet);
	return v && value_truth(d, v, &truth) == 0 ? value_int(d, t, truth) :
						      NULL;
}

static struct value *
own_binary(struct debug *d, int op, struct value *a, struct value *b,
	   bool quiet)
{
	struct value *operands[] = { a, b }, *out;

	return operator_call(d, operator_text(op), operands, 2, quiet, &out) ?
		out : binary(d, op, a, b);
}

static struct value *
eval_binary(struct debug *d, struct node *n, bool quiet)
{
	struct value *a, *b;

	if (n->op == OP_AND || n->op == OP_OR)
		return eval_logic(d, n, quiet);
	a = evaluate(d, n->a, quiet);
	b = a ? evaluate(d, n->b, quiet) : NULL;
	if (!b || !(a = value_unref(d, a)) || !(b = value_unref(d, b)))
		return NULL;
	if (n->op != OP_OF && n->op != OP_OF_POINTED)
		return own_binary(d, n->op, a, b, quiet);
	if (type_strip(d, a->type)->kind == TYPE_POINTER &&
	    !(a = pointed(d, a, quiet)))
		return NULL;
	return value_member_pointed(d, a, b, quiet);
}

/* What operator-> gives, as often as it is one of a class. */
static struct value *
behind_arrow(struct debug *d, struct value *v, bool quiet)
{
	struct value *next;

	for (int i = 0; i < CHAIN_MAX &&
	     operator_call(d, "->", &v, 1, quiet, &next); i++)
		if (!next || !(v = value_unref(d, next)))
			return NULL;
	return v;
}

static struct value *
eval_member(struct debug *d, struct node *n, bool quiet)
{
	struct value *v = evaluate(d, n->a, quiet);
	struct type *t;

	if (!v || !(v = value_unref(d, v)) ||
	    (n->op == OP_ARROW && !(v = behind_arrow(d, v, quiet))))
		return NULL;
	t = type_strip(d, v->type);
	if (t->kind == TYPE_POINTER ||	/* gdb takes . for -> and back */
	    (n->op == OP_ARROW && t->kind == TYPE_ARRAY)) {
		v = pointed(d, v, quiet);
		if (!v)
			return NULL;
	} else if (n->op == OP_ARROW && t->kind != TYPE_STRUCT &&
		   t->kind != TYPE_UNION) {
		(void)fail(FAIL_USAGE, "The -> operator must not be applied to "
			   "non-pointer values.");
		return NULL;
	}
	return value_named_member(d, v, n->text);
}

static struct value *
eval_index(struct debug *d, struct node *n, bool quiet)
{
	struct value *v = evaluate(d, n->a, quiet);
	struct value *i = v ? evaluate(d, n->b, quiet) : NULL;
	struct type *t;
	uint64_t number;

	if (!i || !(v = value_unref(d, v)) || !(i = value_unref(d, i)))
		return NULL;

	struct value *operands[] = { v, i }, *out;

	if (operator_call(d, "[]", operands, 2, quiet, &out))
		return out;
	if (value_number(d, i, &number) < 0)
		return NULL;
	t = type_strip(d, v->type);
	if (t->kind == TYPE_ARRAY)
		return value_element(d, v, (int64_t)number);
	if (t->kind != TYPE_POINTER) {
		(void)fail(FAIL_USAGE, "cannot subscript something of type "
			   "`%s'", type_text(d, v->type));
		return NULL;
	}
	v = binary(d, '+', v, i);
	return v ? value_deref(d, v) : NULL;
}

static struct value *
eval_repeat(struct debug *d, struct node *n, bool quiet)
{
	struct value *v = evaluate(d, n->a, quiet);
	struct value *count = v ? evaluate(d, n->b, quiet) : NULL;
	uint64_t number;

	if (!count || value_number(d, count, &number) < 0)
		return NULL;
	if ((int64_t)number <= 0)
		return failed("Invalid number of repetitions.");
	if (v->place != VALUE_MEMORY)
		return failed("Only values in memory can be extended with "
			      "'@'.");
	return value_at(d, type_array_of(d, v->type, number), v->addr);
}

/* operator+= and the like; operator++ has another argument behind. */
static struct value *
assign_own(struct debug *d, struct node *n, struct value *to,
	   struct value *from, bool quiet)
{
	struct value *operands[] = { to, from }, *out;
	const char *text = operator_text(n->op);
	const bool step = n->c != NULL;

	text = arena_printf(&d->scratch, "%s%s", text, step ? text : "=");
	if (operator_call(d, text, operands, step && !n->text ? 1 : 2, quiet,
			  &out))
		return out;
	(void)fail(FAIL_USAGE, "Structure has no component named operator%s.",
		   text);
	return NULL;
}

static struct value *
eval_assign(struct debug *d, struct node *n, bool quiet)
{
	struct value *to = evaluate(d, n->a, quiet);
	struct value *from = to ? evaluate(d, n->b, quiet) : NULL;
	struct value *before = NULL, *own;

	if (from && n->a->kind == NODE_DOLLAR && !register_is(n->a->text) &&
	    outside_value(d, n->a->text, &own)) {
		(void)fail(FAIL_USAGE, "%s is sonde's own variable",
			   n->a->text);
		(void)fail_remedy("choose another name: $my_%s", n->a->text);
		return NULL;
	}
	if (!from || !(to = value_unref(d, to)) ||
	    !(from = value_unref(d, from)))
		return NULL;
	if (n->op && operator_is_own(d, &to, 1))
		return assign_own(d, n, to, from, quiet);
	if (n->op) {
		from = own_binary(d, n->op, to, from, quiet);
		if (!from)
			return NULL;
	}
	if (quiet)
		return to;
	if (n->text && (!(before = value_cast(d, to->type, to))))
		return NULL;
	if (value_store(d, to, from) < 0)
		return NULL;
	if (before)
		return before;
	if (to->place == VALUE_CONVENIENCE)
		return convenience_value(d, to->slot->name);
	if (to->place == VALUE_MEMORY && !to->bits)
		return value_at(d, to->type, to->addr);
	return value_cast(d, to->type, from);
}

static struct value *
eval_sizeof(struct debug *d, struct node *n)
{
	struct value *v = n->type ? NULL : evaluate(d, n->a, true);
	struct type *t = n->type;

	if (!t && !v)
		return NULL;
	if (!t)
		t = v->type;
	if (type_strip(d, t)->kind == TYPE_REFERENCE ||
	    type_strip(d, t)->kind == TYPE_RVALUE_REFERENCE)
		t = type_target(d, type_strip(d, t));

	const uint64_t size = type_size(d, t);

	return value_int(d, type_basic(d, n->type ? "int" : "unsigned long"),
			 size == 0 && type_strip(d, t)->kind == TYPE_VOID ?
			 1 : size);
}

/* operator(); false: it is none. */
static bool
call_object(struct debug *d, struct value *object, struct value **args,
	    size_t n, bool quiet, struct value **out)
{
	struct value *all[NODE_ARGS + 1] = { object };

	if (!operator_is_own(d, all, 1))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(all[i + 1] = value_unref(d, args[i]))) {
			*out = NULL;
			return true;
		}
	return operator_call(d, "()", all, n + 1, quiet, out);
}

/* as: see call_function. */
static struct value *
eval_call(struct debug *d, struct node *n, struct type *as, bool quiet)
{
	struct value *args[NODE_ARGS], *f = evaluate(d, n->a, quiet), *v;
	struct type *t;

	for (size_t i = 0; f && i < n->arg_len; i++) {
		args[i] = evaluate(d, n->args[i], quiet);
		if (!args[i])
			return NULL;
	}
	if (!f || !(f = value_unref(d, f)))
		return NULL;
	if (call_object(d, f, args, n->arg_len, quiet, &v))
		return v;
	f = overload_of(d, f, args, n->arg_len);
	if (!f)
		return NULL;
	if (!quiet)
		return call_function(d, f, as, args, n->arg_len);
	t = type_strip(d, f->type);
	if (t->kind == TYPE_POINTER)
		t = type_strip(d, type_target(d, t));
	if (as && t->kind == TYPE_NODEBUG_TEXT)
		return value_new(d, as);
	return t->kind == TYPE_FUNCTION ? value_new(d, type_target(d, t)) :
		failed("Cannot perform a call on a non-function type");
}

static struct value *
eval_condition(struct debug *d, struct node *n, bool quiet)
{
	struct value *v = evaluate(d, n->a, quiet);
	bool truth;

	if (!v || value_truth(d, v, &truth) < 0)
		return NULL;
	return evaluate(d, truth ? n->b : n->c, quiet);
}

static struct value *
eval_dollar(struct debug *d, const char *name)
{
	struct value *v;

	if (register_is(name))
		return register_value(d, name);
	return outside_value(d, name, &v) ? v : convenience_value(d, name);
}

static struct value *
eval_node(struct debug *d, struct node *n, bool quiet)
{
	struct value *v;

	switch (n->kind) {
	case NODE_VALUE:
		return n->value;
	case NODE_NAME:
		return symbol_value(d, n->text);
	case NODE_DOLLAR:
		return eval_dollar(d, n->text);
	case NODE_UNARY:
		return eval_unary(d, n, quiet);
	case NODE_BINARY:
		return eval_binary(d, n, quiet);
	case NODE_MEMBER:
		return eval_member(d, n, quiet);
	case NODE_INDEX:
		return eval_index(d, n, quiet);
	case NODE_CALL:
		return eval_call(d, n, NULL, quiet);
	case NODE_CAST:
		v = n->a->kind == NODE_CALL ?
			eval_call(d, n->a, n->type, quiet) :
			evaluate(d, n->a, quiet);
		return v ? value_cast(d, n->type, v) : NULL;
	case NODE_DYNAMIC:
		v = evaluate(d, n->a, quiet);
		return v ? value_dynamic_cast(d, n->type, v) : NULL;
	case NODE_SIZEOF:
		return eval_sizeof(d, n);
	case NODE_TYPE:
		return failed("Attempt to use a type name as an expression");
	case NODE_ASSIGN:
		return eval_assign(d, n, quiet);
	case NODE_CONDITION:
		return eval_condition(d, n, quiet);
	case NODE_REPEAT:
		return eval_repeat(d, n, quiet);
	case NODE_COMMA:
		v = evaluate(d, n->a, quiet);
		return v ? evaluate(d, n->b, quiet) : NULL;
	}
	return NULL;
}

struct value *
evaluate(struct debug *d, struct node *n, bool quiet)
{
	struct value *v;

	if (d->depth > DEPTH_MAX)
		return failed("the expression is nested too deeply");
	d->depth++;
	v = eval_node(d, n, quiet);
	d->depth--;
	return v;
}

struct value *
evaluate_text(struct debug *d, const char *text)
{
	struct node *n = parse_text(d, text);

	return n ? evaluate(d, n, false) : NULL;
}
