/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call of a function of the program: its arguments into the registers that
 * the machine's convention names, by what the function says it takes. Who
 * stops and restores the thread is the target's business.
 */
#include "private.h"

#include <string.h>

enum { DATA_MAX = 64 << 10 };

static struct value *
failed(const char *why)
{
	(void)fail(FAIL_UNSUITABLE, "%s", why);
	return NULL;
}

static int
add_word(struct debug_call *c, uint64_t word, bool is_data)
{
	if (c->int_count < (size_t)machine.int_args) {
		c->data_ints |= (uint32_t)is_data << c->int_count;
		c->ints[c->int_count++] = word;
		return 0;
	}
	if (c->stack_count == DEBUG_CALL_STACK)
		return fail(FAIL_UNSUITABLE, "too many arguments");
	c->data_stack |= (uint32_t)is_data << c->stack_count;
	c->stack[c->stack_count++] = word;
	return 0;
}

/* What the expression made is in no memory of the program yet. */
static int
add_bytes(struct debug *d, struct debug_call *c, struct value *v)
{
	const size_t at = (c->data_size + 15) & ~(size_t)15;
	unsigned char *data;

	if (value_need(d, v) < 0)
		return -1;
	if (at + v->size > DATA_MAX)
		return fail(FAIL_UNSUITABLE, "what is made here is not "
			    "passed with more than %d bytes", DATA_MAX);
	data = arena_alloc(&d->scratch, at + v->size);
	if (c->data_size)
		memcpy(data, c->data, c->data_size);
	memcpy(data + at, v->bytes, v->size);
	c->data = data;
	c->data_size = at + v->size;
	return add_word(c, at, true);
}

static bool
is_string(struct debug *d, const struct value *v)
{
	return type_strip(d, v->type)->kind == TYPE_ARRAY &&
		v->place != VALUE_MEMORY && v->bytes;
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

/* What found no register lies on the stack as it is in memory. */
static int
add_on_stack(struct debug_call *c, const struct value *v, bool is_wide)
{
	const size_t words = (v->size + 7) / 8;

	if (is_wide && c->stack_count % 2)
		c->stack_count++;
	if (c->stack_count + words > DEBUG_CALL_STACK)
		return fail(FAIL_UNSUITABLE, "too many arguments, or too large "
			    "ones");
	memcpy(&c->stack[c->stack_count], v->bytes, v->size);
	c->stack_count += words;
	return 0;
}

/* By value: structs, unions, complex numbers, what is more than a word. */
static int
add_by_value(struct debug *d, struct debug_call *c, struct value *v)
{
	size_t ints = c->int_count, floats = c->float_count;
	struct classes k;

	if (value_need(d, v) < 0 || classes_of(d, v->type, &k) < 0)
		return -1;
	for (size_t i = 0; i < k.words; i++) {
		ints += k.of[i] == CLASS_INTEGER;
		floats += k.of[i] == CLASS_SSE;
	}
	if (k.in_memory || k.is_x87 || ints > (size_t)machine.int_args ||
	    floats > (size_t)machine.float_args)
		return add_on_stack(c, v, k.is_wide);
	for (size_t i = 0; i < k.words; i++) {
		const size_t left = v->size - 8 * i;
		uint64_t word = 0;

		memcpy(&word, v->bytes + 8 * i, left < 8 ? left : 8);
		if (k.of[i] == CLASS_INTEGER)
			(void)add_word(c, word, false);
		if (k.of[i] == CLASS_SSE)
			(void)add_real(c, word);
	}
	return 0;
}

static bool
goes_by_value(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION ||
		t->kind == TYPE_COMPLEX ||
		((type_is_integral(t) || t->kind == TYPE_FLOAT) &&
		 t->size > 8);
}

static bool
is_struct(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION;
}

/* A reference to such an object, or to a base of it. */
static bool
refers_to(struct debug *d, struct type *to, struct value *v)
{
	struct type *from = type_strip(d, v->type);

	/* what is only declared is known by its name alone */
	if (type_same(d, to, from) || type_size(d, to) == 0)
		return true;
	fail_clear();
	return is_struct(from) && v->place == VALUE_MEMORY &&
		(value_base(d, v, to) || fail_last()->kind != FAIL_NONE);
}

/* A result of another call, or a number, for which a place is wanted where it
 * lies: nobody sees what is written there, so it is not for writing, but by the
 * object itself. */
static bool
needs_place(struct debug *d, struct type *wanted, struct value *v)
{
	struct type *to = wanted ? type_strip(d, wanted) : NULL;

	if (!to || v->place == VALUE_MEMORY || (!v->bytes && !v->lost))
		return false;
	if (to->kind == TYPE_POINTER)	/* `this`: see with_self */
		return is_struct(type_strip(d, v->type));
	return (to->kind == TYPE_REFERENCE &&
		type_is_const(d, type_target(d, to))) ||
		to->kind == TYPE_RVALUE_REFERENCE;
}

static int
add_in_place(struct debug *d, struct debug_call *c, struct type *wanted,
	     struct value *v)
{
	struct type *to = type_target(d, type_strip(d, wanted));

	if (!is_struct(type_strip(d, v->type)))
		v = value_cast(d, to, v);
	else if (!type_same(d, to, v->type))
		v = value_base(d, v, to);
	if (!v && fail_last()->kind == FAIL_NONE)
		(void)failed(arena_printf(&d->scratch, "the function takes %s "
					  "there", type_text(d, wanted)));
	return v ? add_bytes(d, c, v) : -1;
}

/* A struct is passed as what is wanted only if it is that. */
static struct value *
converted(struct debug *d, struct type *wanted, struct value *v)
{
	struct type *to = type_strip(d, wanted);
	const bool refers = to->kind == TYPE_REFERENCE ||
		to->kind == TYPE_RVALUE_REFERENCE;

	if (refers)
		to = type_strip(d, type_target(d, to));
	if (!is_struct(to) && to->kind != TYPE_COMPLEX)
		return value_cast(d, wanted, v);
	if (refers && (!is_struct(type_strip(d, v->type)) ||
		       refers_to(d, to, v)))
		return value_cast(d, wanted, v);
	if (!refers && type_same(d, to, type_strip(d, v->type)))
		return v;
	return failed(arena_printf(&d->scratch, "the function takes %s there",
				   type_text(d, wanted)));
}

/* Without a prototype numbers are passed as wider ones. */
static int
add_argument(struct debug *d, struct debug_call *c, struct type *wanted,
	     struct value *v)
{
	struct type *t;
	uint64_t word = 0;

	v = value_unref(d, v);
	if (v && is_string(d, v))
		return add_bytes(d, c, v);
	if (v && needs_place(d, wanted, v))
		return add_in_place(d, c, wanted, v);
	v = v ? value_decay(d, v) : NULL;
	if (!v)
		return -1;
	t = type_strip(d, v->type);
	if (wanted)
		v = converted(d, wanted, v);
	else if (t->kind == TYPE_FLOAT && t->size < 8)
		v = value_cast(d, type_basic(d, "double"), v);
	if (!v)
		return -1;
	t = type_strip(d, v->type);
	if (goes_by_value(t))
		return add_by_value(d, c, v);
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
		return add_word(c, word, false);
	}
	if ((!type_is_integral(t) && t->kind != TYPE_POINTER) || t->size > 8)
		return fail(FAIL_UNSUITABLE, "an argument of type %s is not "
			    "passed here: only numbers and pointers are",
			    type_text(d, v->type));
	return value_number(d, v, &word) < 0 ? -1 : add_word(c, word, false);
}

/* Each 8 bytes come back in the next register of their class. */
static struct value *
result_by_value(struct debug *d, const struct debug_call *c, struct value *v,
		const struct classes *k)
{
	size_t ints = 0, floats = 0;

	if (k->in_memory)
		return debug_read(d, c->result[0], v->bytes, v->size) < 0 ?
			NULL : v;
	for (uint64_t at = 0; k->is_x87 && at < v->size; at += 16)
		memcpy(v->bytes + at, c->x87_result[at / 16], 10);
	for (size_t i = 0; !k->is_x87 && i < k->words; i++) {
		const size_t left = v->size - 8 * i;
		const uint64_t *word = k->of[i] == CLASS_SSE ?
			&c->float_result[floats++] : &c->result[ints++];

		memcpy(v->bytes + 8 * i, word, left < 8 ? left : 8);
	}
	return v;
}

static struct value *
result_of(struct debug *d, const struct debug_call *c, struct type *t,
	  const struct classes *k)
{
	struct type *bare = type_strip(d, t);
	struct value *v;

	if (bare->kind == TYPE_VOID)
		return value_new(d, t);
	v = value_new(d, t);
	if (!v)
		return NULL;
	if (k->size)
		return result_by_value(d, c, v, k);
	memcpy(v->bytes, bare->kind == TYPE_FLOAT ? c->float_result :
	       c->result, v->size < 16 ? v->size : 16);
	return v;
}

/* k: {0}, or how a value comes back. In memory: the function is told where, in
 * a first argument, and says so again. */
static int
prepare_result(struct debug *d, struct debug_call *c, struct type *t,
	       struct classes *k)
{
	struct type *bare = type_strip(d, t);

	if (goes_by_value(bare)) {
		if (classes_of(d, t, k) < 0)
			return -1;
		if (!k->in_memory)
			return 0;
		c->data_size = (k->size + 15) & ~(size_t)15;
		c->data = arena_alloc(&d->scratch, c->data_size);
		return add_word(c, 0, true);
	}
	if (bare->kind == TYPE_VOID || bare->kind == TYPE_POINTER ||
	    bare->kind == TYPE_REFERENCE || type_is_integral(bare) ||
	    (bare->kind == TYPE_FLOAT && bare->size <= 8))
		return 0;
	return fail(FAIL_UNSUITABLE, "a function that returns %s is not called "
		    "here: only numbers and pointers come back",
		    type_text(d, t));
}

/* The object is the first argument; which function it is may be for its own
 * table to say. NULL: failed. */
static struct value **
with_self(struct debug *d, struct value *function, struct value **args,
	  size_t *n, struct debug_call *c)
{
	struct value **all = arena_alloc(&d->scratch, (*n + 1) * sizeof *all);
	uint64_t table;

	all[0] = function->self->place == VALUE_TEMPORARY &&
		!function->is_virtual ? function->self :
		value_address(d, function->self);
	if (!all[0])
		return NULL;
	memcpy(all + 1, args, *n * sizeof *all);
	++*n;
	if (function->is_virtual &&
	    (debug_read(d, function->self->addr, &table, 8) < 0 ||
	     debug_read(d, table + 8 * function->slot_in_table, &c->function,
			8) < 0))
		return NULL;
	return all;
}

/* A function that chooses another one (STT_GNU_IFUNC) is asked for it. */
static int
choose(struct debug *d, struct debug_call *c)
{
	struct debug_call ask = { .function = c->function };

	if (d->target->call(d->arg, &ask) < 0)
		return -1;
	c->function = ask.result[0];
	return 0;
}

static int
add_arguments(struct debug *d, struct debug_call *c, struct type *t,
	      struct value **args, size_t n)
{
	const size_t known = t->kind == TYPE_FUNCTION ? t->field_len : 0;

	for (size_t i = 0; i < n; i++)
		if (add_argument(d, c, i < known ? t->fields[i].type : NULL,
				 args[i]) < 0)
			return -1;
	return 0;
}

/* A reference to where the arguments lay, below the thread's stack? They are
 * there no more. */
static bool
is_of_call(struct debug *d, const struct debug_call *c, struct type *t)
{
	const enum type_kind kind = type_strip(d, t)->kind;
	uint64_t sp;

	if ((kind != TYPE_REFERENCE && kind != TYPE_RVALUE_REFERENCE) ||
	    (!c->data_ints && !c->data_stack) || debug_regs_load(d) < 0)
		return false;
	sp = d->regs.general.reg[arch.reg_sp];
	return c->result[0] < sp && c->result[0] >= sp - (1 << 20);
}

/* Does it take so many? */
static bool
check_count(struct debug *d, struct type *t, size_t n)
{
	if (t->kind != TYPE_FUNCTION)
		return true;
	type_fill(d, t);
	if (n < t->field_len)
		return failed("Too few arguments in function call.");
	if (n > t->field_len && t->is_prototyped && !t->is_varargs)
		return failed("Too many arguments in function call.");
	return true;
}

struct value *
call_function(struct debug *d, struct value *function, struct type *as,
	      struct value **args, size_t n)
{
	struct type *t = type_strip(d, function->type);
	struct debug_call c = { .function = function->addr };
	struct classes k = {0};

	type_fill(d, t);
	if (t->kind == TYPE_POINTER) {
		if (value_number(d, function, &c.function) < 0)
			return NULL;
		t = type_strip(d, type_target(d, t));
	}
	if (function->is_assembly || function->is_chooser)
		t = type_basic(d, "void");
	if (t->kind == TYPE_NODEBUG_TEXT)
		t = type_basic(d, "void");
	if (t->kind == TYPE_VOID && !as && function->text)
		return failed(arena_printf(&d->scratch, "'%s' has unknown "
					   "return type; cast the call to its "
					   "declared return type",
					   function->text));
	if (t->kind != TYPE_FUNCTION && (t->kind != TYPE_VOID ||
					 !function->text))
		return failed("Cannot perform a call on a non-function type");
	if (!d->target->call)
		return failed("You can't do that without a process to debug.");
	if (function->self && t->is_method &&
	    !(args = with_self(d, function, args, &n, &c)))
		return NULL;
	if (!check_count(d, t, n))
		return NULL;
	if (!as || t->kind == TYPE_FUNCTION)
		as = type_target(d, t);
	if (prepare_result(d, &c, as, &k) < 0 ||
	    add_arguments(d, &c, t, args, n) < 0)
		return NULL;
	c.real = k.size || type_strip(d, as)->kind == TYPE_FLOAT;
	if (!c.function)
		return failed("Cannot evaluate function -- may be inlined");
	memory_forget(d);	/* it may write anywhere */
	if ((function->is_chooser && choose(d, &c) < 0) ||
	    d->target->call(d->arg, &c) < 0)
		return NULL;
	memory_forget(d);
	if (is_of_call(d, &c, as))
		return failed("the function returns a reference to what was "
			      "made for the call alone");
	return result_of(d, &c, as, &k);
}
