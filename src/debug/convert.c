/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Casts, and where assigned values go: memory, a register, the place where a
 * frame saved a register, a convenience variable.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The object at addr as one of class `to`, which is a base of its class, or the
 * other way round; where that begins. Of what a virtual base is one, or one of
 * several, only the object knows. */
static int
convert_class(struct debug *d, uint64_t *addr, struct type *from,
	      struct type *to)
{
	struct value *base;
	uint64_t offset;

	if (from->kind != TYPE_STRUCT || to->kind != TYPE_STRUCT || !*addr ||
	    from == to)
		return 0;
	fail_clear();
	if (class_bases(d, from, to) > 1)
		return fail_ambiguous(to, from);
	if (class_bases(d, to, from) > 1)
		return rtti_derived(d, from, *addr, to, addr);
	base = value_base(d, value_at(d, from, *addr), to);
	if (base) {
		*addr = base->addr;
		return 0;
	}
	if (fail_last()->kind != FAIL_NONE)
		return -1;
	/* where the base would be in an object that began at 0 */
	base = value_base(d, value_at(d, to, 0), from);
	if (base) {
		offset = base->addr;
		*addr -= offset;
		return 0;
	}
	if (fail_last()->kind == FAIL_NONE)
		return 0;
	if (rtti_derived(d, from, *addr, to, addr) == 0)
		return 0;
	return fail_in("a virtual base is not cast to what is derived from it");
}

/* To and from a vector: one of as many bytes, and no array. */
static bool
vectors_fit(struct debug *d, struct type *t, struct value *v)
{
	struct type *to = type_strip(d, t), *from = type_strip(d, v->type);

	if (!to->is_vector && !from->is_vector)
		return true;
	if (to->is_vector != from->is_vector)
		(void)fail(FAIL_USAGE, "Invalid cast.");
	else if (type_size(d, to) != type_size(d, from))
		(void)fail(FAIL_USAGE, "Cannot convert between vector values "
			   "of different sizes");
	else
		return true;
	return false;
}

static struct value *
reinterpreted(struct debug *d, struct type *t, struct value *v)
{
	uint64_t addr = v->addr;

	if (!vectors_fit(d, t, v))
		return NULL;
	if (v->place == VALUE_MEMORY && !v->bits)
		return convert_class(d, &addr, type_strip(d, v->type),
				     type_strip(d, t)) < 0 ? NULL :
			value_at(d, t, addr);
	if (type_size(d, t) != v->size) {
		(void)fail(FAIL_USAGE, "Invalid cast.");
		return NULL;
	}
	v->type = t;
	return v;
}

static struct value *
to_pointer(struct debug *d, struct type *t, struct value *v)
{
	struct type *from = type_strip(d, v->type);
	struct type *to = type_strip(d, type_target(d, type_strip(d, t)));
	uint64_t word;

	if (value_number(d, v, &word) < 0 ||
	    (from->kind == TYPE_POINTER &&
	     convert_class(d, &word, type_strip(d, type_target(d, from)),
			   to) < 0))
		return NULL;
	return value_int(d, t, word);
}

static struct value *
to_reference(struct debug *d, struct type *t, struct value *v)
{
	struct type *to = type_target(d, type_strip(d, t));

	v = value_address(d, v);
	v = v ? to_pointer(d, type_pointer_to(d, to), v) : NULL;
	return v ? value_int(d, t, bits_get(v->bytes, 0, 64)) : NULL;
}

struct value *
value_cast(struct debug *d, struct type *t, struct value *v)
{
	struct type *to = type_strip(d, t), *from;
	unsigned __int128 wide;
	long double real;

	if (to->kind == TYPE_REFERENCE || to->kind == TYPE_RVALUE_REFERENCE)
		return to_reference(d, t, v);
	v = value_unref(d, v);
	if (!v)
		return NULL;
	from = type_strip(d, v->type);
	if (from->kind == TYPE_NODEBUG_DATA)
		return value_at(d, t, v->addr);
	if (to->kind == TYPE_VOID)
		return value_new(d, type_basic(d, "void"));
	if (to->kind == TYPE_STRUCT || to->kind == TYPE_UNION ||
	    to->kind == TYPE_ARRAY || to->kind == TYPE_FUNCTION)
		return reinterpreted(d, t, v);
	v = value_decay(d, v);
	if (!v)
		return NULL;
	if (to->kind == TYPE_POINTER)
		return to_pointer(d, t, v);
	if (to->kind == TYPE_FLOAT)
		return value_float(d, v, &real) < 0 ? NULL :
			value_double(d, t, real);
	if (to->kind == TYPE_BOOL) {
		bool truth;

		return value_truth(d, v, &truth) < 0 ? NULL :
			value_int(d, t, truth);
	}
	if (!type_is_integral(to)) {
		(void)fail(FAIL_USAGE, "Invalid cast.");
		return NULL;
	}
	return value_wide(d, v, &wide) < 0 ? NULL : value_of_wide(d, t, wide);
}

/* ---- stores ---- */

static int
write_memory(struct debug *d, uint64_t addr, const void *bytes, size_t n)
{
	if (!d->target->write)
		return fail(FAIL_UNSUITABLE, "cannot write to a core file");
	memory_forget(d);
	return d->target->write(d->arg, addr, bytes, n);
}

static int
write_register(struct debug *d, const struct physical *p, int reg,
	       const void *bytes, size_t n)
{
	const struct reg_state *state = reg >= 0 && reg < arch.reg_count && p ?
		&p->reg[reg] : NULL;

	if (state && state->known == REG_SAVED)
		return write_memory(d, state->saved_at, bytes, n);
	if (!d->target->set_register)
		return fail(FAIL_UNSUITABLE, "cannot change registers of a "
			    "core file");
	if (state && (state->known == REG_LOST || state->computed ||
		      (!p->innermost && reg == arch.reg_pc)))
		return fail(FAIL_UNSUITABLE, "the frame did not save it");
	if (d->target->set_register(d->arg, reg, bytes, n) < 0)
		return -1;

	const size_t selected = d->selected;

	debug_changed(d);
	d->selected = selected;
	return 0;
}

static int
store_bits(struct debug *d, struct value *to, struct value *from)
{
	unsigned char raw[24] = {0};
	const size_t n = (to->bit_offset + to->bits + 7) / 8;

	if (debug_read(d, to->addr, raw, n) < 0)
		return -1;
	bits_put(raw, to->bit_offset, to->bits,
		 bits_get(from->bytes, 0, to->bits));
	return write_memory(d, to->addr, raw, n);
}

static int
store_slot(struct variable_slot *slot, struct value *from)
{
	slot->type = from->type;
	slot->bytes = xrealloc(slot->bytes, from->size + 1);
	memcpy(slot->bytes, from->bytes, from->size);
	slot->size = from->size;
	return 0;
}

int
value_store(struct debug *d, struct value *to, struct value *from)
{
	if (to->place == VALUE_CONVENIENCE)
		return value_need(d, from) < 0 ? -1 :
			store_slot(to->slot, from);
	if (to->place == VALUE_TEMPORARY && to->regs)
		return fail(FAIL_UNSUITABLE, "a part of a register (a number "
			    "of a vector, a member) is not set here");
	if (to->place == VALUE_TEMPORARY ||
	    type_strip(d, to->type)->kind == TYPE_FUNCTION ||
	    type_strip(d, to->type)->kind == TYPE_NODEBUG_TEXT)
		return fail(FAIL_USAGE, "Left operand of assignment is not an "
			    "lvalue.");
	from = value_cast(d, to->type, from);
	if (!from || value_need(d, from) < 0)
		return -1;
	if (to->bits)
		return to->place == VALUE_MEMORY ? store_bits(d, to, from) :
			fail(FAIL_UNSUITABLE, "not a place in memory");
	if (to->place == VALUE_MEMORY)
		return write_memory(d, to->addr, from->bytes, from->size);
	if (to->place == VALUE_REGISTER)
		return write_register(d, to->regs, to->reg, from->bytes,
				      from->size);
	return fail(FAIL_UNSUITABLE, value_all_lost(to) ?
		    "value has been optimized out" :
		    "a variable in pieces is not assigned to");
}

/* ---- convenience variables ---- */

struct variable_slot *
convenience(struct debug *d, const char *name)
{
	struct variable_slot *s;

	for (size_t i = 0; i < d->slots.len; i++) {
		s = d->slots.items[i];
		if (strcmp(s->name, name) == 0)
			return s;
	}
	s = xcalloc(1, sizeof *s);
	s->name = xstrdup(name);
	vec_push(&d->slots, s);
	return s;
}

/* A number where it is one, of the type that C gives it, but with a sign. */
static struct value *
value_of_word(struct debug *d, const char *word)
{
	char *end;
	struct value *v;
	struct type *t;

	errno = 0;

	const bool small = *word == '-';
	const uint64_t n = small ? (uint64_t)strtoll(word, &end, 0) :
		strtoull(word, &end, 0);

	if (end > word && !*end && errno == 0) {
		t = type_basic(d, (int64_t)n == (int32_t)n &&
			       (small || n <= INT32_MAX) ? "int" :
			       small || n <= INT64_MAX ? "long" :
			       "unsigned long");
		return value_int(d, t, n);
	}
	v = value_new(d, type_array_of(d, type_basic(d, "char"),
				       strlen(word) + 1));
	if (v)
		memcpy(v->bytes, word, v->size);
	return v;
}

bool
outside_value(struct debug *d, const char *name, struct value **out)
{
	const char *word = d->outside ? d->outside(d->outside_arg, name) :
		NULL;

	if (word)
		*out = value_of_word(d, word);
	return word != NULL;
}

struct value *
convenience_value(struct debug *d, const char *name)
{
	struct variable_slot *slot = convenience(d, name);
	struct value *v = value_new(d, slot->type ? slot->type :
				    type_basic(d, "void"));

	if (!v)
		return NULL;
	if (slot->type)
		memcpy(v->bytes, slot->bytes,
		       slot->size < v->size ? slot->size : v->size);
	v->place = VALUE_CONVENIENCE;
	v->slot = slot;
	return v;
}
