/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call of a function of the program: its arguments into the registers that
 * the machine's convention names, by what the function says it takes. Who
 * stops and restores the thread is the target's business.
 */
#include "private.h"

#include <string.h>

static struct value *
failed(const char *why)
{
	(void)fail(FAIL_UNSUITABLE, "%s", why);
	return NULL;
}

static int
add_word(struct debug_call *c, uint64_t word)
{
	if (c->int_count < (size_t)machine.int_args) {
		c->ints[c->int_count++] = word;
		return 0;
	}
	if (c->stack_count == DEBUG_CALL_STACK)
		return fail(FAIL_UNSUITABLE, "too many arguments");
	c->stack[c->stack_count++] = word;
	return 0;
}

static int
add_real(struct debug_call *c, uint64_t word)
{
	if (c->float_count < (size_t)machine.float_args) {
		c->floats[c->float_count++] = word;
		return 0;
	}
	if (c->stack_count == DEBUG_CALL_STACK)
		return fail(FAIL_UNSUITABLE, "too many arguments");
	c->stack[c->stack_count++] = word;
	return 0;
}

/* Without a prototype numbers are passed as wider ones. */
static int
add_argument(struct debug *d, struct debug_call *c, struct type *wanted,
	     struct value *v)
{
	struct type *t;
	uint64_t word = 0;

	v = value_unref(d, v);
	v = v ? value_decay(d, v) : NULL;
	if (!v)
		return -1;
	t = type_strip(d, v->type);
	if (wanted)
		v = value_cast(d, wanted, v);
	else if (t->kind == TYPE_FLOAT && t->size < 8)
		v = value_cast(d, type_basic(d, "double"), v);
	if (!v)
		return -1;
	t = type_strip(d, v->type);
	if (t->kind == TYPE_FLOAT && t->size <= 8) {
		if (value_need(d, v) < 0)
			return -1;
		memcpy(&word, v->bytes, v->size);
		return add_real(c, word);
	}
	if (t->kind == TYPE_REFERENCE || t->kind == TYPE_RVALUE_REFERENCE) {
		if (value_need(d, v) < 0)
			return -1;
		memcpy(&word, v->bytes, 8);
		return add_word(c, word);
	}
	if ((!type_is_integral(t) && t->kind != TYPE_POINTER) || t->size > 8)
		return fail(FAIL_UNSUITABLE, "an argument of type %s is not "
			    "passed here: only numbers and pointers are",
			    type_text(d, v->type));
	return value_number(d, v, &word) < 0 ? -1 : add_word(c, word);
}

static struct value *
result_of(struct debug *d, const struct debug_call *c, struct type *t)
{
	struct type *bare = type_strip(d, t);
	struct value *v;

	if (bare->kind == TYPE_VOID)
		return value_new(d, t);
	v = value_new(d, t);
	if (!v)
		return NULL;
	memcpy(v->bytes, bare->kind == TYPE_FLOAT ? c->float_result :
	       c->result, v->size < 16 ? v->size : 16);
	return v;
}

static int
check_result(struct debug *d, struct type *t)
{
	struct type *bare = type_strip(d, t);

	if (bare->kind == TYPE_VOID || bare->kind == TYPE_POINTER ||
	    bare->kind == TYPE_REFERENCE || type_is_integral(bare) ||
	    (bare->kind == TYPE_FLOAT && bare->size <= 8))
		return 0;
	return fail(FAIL_UNSUITABLE, "a function that returns %s is not called "
		    "here: only numbers and pointers come back",
		    type_text(d, t));
}

struct value *
call_function(struct debug *d, struct value *function, struct value **args,
	      size_t n)
{
	struct type *t = type_strip(d, function->type);
	struct debug_call c = { .function = function->addr };
	struct type *result;

	if (t->kind == TYPE_POINTER) {
		if (value_number(d, function, &c.function) < 0)
			return NULL;
		t = type_strip(d, type_target(d, t));
	}
	if (t->kind == TYPE_NODEBUG_TEXT)
		return failed("the function has unknown return type; cast the "
			      "call to its declared return type");
	if (t->kind != TYPE_FUNCTION)
		return failed("Cannot perform a call on a non-function type");
	if (!d->target->call)
		return failed("You can't do that without a process to debug.");
	type_fill(d, t);
	if (n < t->field_len)
		return failed("Too few arguments in function call.");
	if (n > t->field_len && t->is_prototyped && !t->is_varargs)
		return failed("Too many arguments in function call.");
	result = type_target(d, t);
	if (check_result(d, result) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (add_argument(d, &c, i < t->field_len ? t->fields[i].type :
				 NULL, args[i]) < 0)
			return NULL;
	memory_forget(d);	/* it may write anywhere */
	if (d->target->call(d->arg, &c) < 0)
		return NULL;
	return result_of(d, &c, result);
}
