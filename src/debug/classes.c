/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the System V convention of x86-64 passes a value of a type: each 8
 * bytes of it have a class, and what is more than 16 bytes, or mixed, lies in
 * memory.
 */
#include "private.h"

#include <string.h>

enum { WORD = 8, CLASSED_MOST = 16 };

static void
merge(struct classes *c, uint64_t offset, uint64_t size, enum value_class k)
{
	for (uint64_t at = offset / WORD; at <= (offset + size - 1) / WORD;
	     at++) {
		enum value_class *now = at < ARRAY_LEN(c->of) ? &c->of[at] :
			NULL;

		if (!now || (*now != CLASS_NONE && *now != k &&
			     (*now == CLASS_X87 || k == CLASS_X87)))
			c->in_memory = true;
		else if (*now != CLASS_INTEGER)
			*now = k;
	}
}

/* false: it is not known how it is passed. */
static bool
classify(struct debug *d, struct type *type, uint64_t offset,
	 struct classes *c, int depth)
{
	struct type *t = type_strip(d, type);
	const uint64_t size = type_size(d, t);
	const bool aggregate = t->kind == TYPE_STRUCT ||
		t->kind == TYPE_UNION;

	if (depth > NEST_MAX || t->is_vector)
		return false;
	if (offset + size > CLASSED_MOST) {
		c->in_memory = true;
		return true;
	}
	type_fill(d, t);
	for (size_t i = 0; aggregate && i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (f->is_static)
			continue;
		if (f->is_virtual || f->dynamic)
			return false;
		if (f->bits)
			merge(c, offset + f->offset / 8, 1, CLASS_INTEGER);
		else if (!classify(d, f->type, offset + f->offset / 8, c,
				   depth + 1))
			return false;
	}
	if (aggregate)
		return true;
	if (t->kind == TYPE_ARRAY) {
		struct type *of = type_target(d, t);
		const uint64_t each = type_size(d, of);

		for (uint64_t i = 0; each && i < size / each; i++)
			if (!classify(d, of, offset + i * each, c, depth + 1))
				return false;
		return true;
	}
	if (size == 0)
		return false;
	if (offset % (size < WORD || t->kind == TYPE_COMPLEX ?
		      t->kind == TYPE_COMPLEX ? size / 2 : size : WORD))
		c->in_memory = true;	/* packed */
	if (t->kind == TYPE_FLOAT || t->kind == TYPE_COMPLEX)
		merge(c, offset, size, t->kind == TYPE_FLOAT && size > WORD ?
		      CLASS_X87 : CLASS_SSE);
	else
		merge(c, offset, size, CLASS_INTEGER);
	return true;
}

/* C++: what has a constructor of copies, or a destructor, of its own, goes by
 * reference. */
static bool
goes_by_value(struct type *t)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	if ((t->kind != TYPE_STRUCT && t->kind != TYPE_UNION) || !t->is_cxx ||
	    !t->has_die)
		return true;
	return dwarf_attr_integrate(&t->die, DW_AT_calling_convention,
				    &attr) &&
		dwarf_formudata(&attr, &how) == 0 &&
		how == DW_CC_pass_by_value;
}

/* Of 128 bits that are aligned so? */
static bool
is_wide(struct debug *d, struct type *type, int depth)
{
	struct type *t = type_strip(d, type);

	if (depth > NEST_MAX)
		return false;
	if (t->kind == TYPE_ARRAY)
		return is_wide(d, type_target(d, t), depth + 1);
	if (t->kind == TYPE_COMPLEX)
		return type_size(d, t) == 32;
	if (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION)
		return type_size(d, t) == 16 && (t->kind == TYPE_FLOAT ||
						 type_is_integral(t));
	for (size_t i = 0; i < t->field_len; i++)
		if (!t->fields[i].is_static &&
		    is_wide(d, t->fields[i].type, depth + 1))
			return true;
	return false;
}

int
classes_of(struct debug *d, struct type *type, struct classes *c)
{
	struct type *t = type_strip(d, type);
	const bool quad = t->kind == TYPE_FLOAT && t->size == 16 && t->name &&
		strstr(t->name, "128");

	*c = (struct classes){ .size = type_size(d, t) };
	if (!machine.has_classes || quad || !goes_by_value(t) || !c->size ||
	    c->size > VALUE_MAX || !classify(d, t, 0, c, 0))
		return fail(FAIL_UNSUITABLE, "a value of type %s is not passed "
			    "here, nor comes back: how is not known",
			    type_text(d, type));
	c->is_wide = is_wide(d, t, 0);
	c->words = c->size > WORD ? 2 : 1;
	c->is_x87 = !c->in_memory && c->of[0] == CLASS_X87;
	if (t->kind == TYPE_COMPLEX && c->size == 32) {
		c->is_x87 = true;
		c->in_memory = false;
	}
	if (!c->is_x87 && (c->of[0] == CLASS_X87 || c->of[1] == CLASS_X87))
		c->in_memory = true;
	return 0;
}
