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

/* IEEE's, or decimal: of its 16 bytes both halves are of one register. */
static bool
is_quad(const struct type *t)
{
	return (t->kind == TYPE_FLOAT || t->kind == TYPE_COMPLEX) &&
		t->size >= 16 && t->name && strstr(t->name, "128");
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
			merge(c, offset + f->offset / 8,
			      (f->offset % 8 + f->bits + 7) / 8, CLASS_INTEGER);
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
	if (size == 0 || is_quad(t))
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

/* A member function: is it a destructor, or a constructor that may be of
 * copies, whose text someone wrote? */
static bool
is_of_copies(struct debug *d, struct type *t, Dwarf_Die *die)
{
	const char *name = die_name(die), *of = die_name(&t->die);
	struct type *function;
	uint64_t how = 0;

	if (dwarf_tag(die) != DW_TAG_subprogram || !name || !of ||
	    attr_flag(die, DW_AT_artificial) ||
	    (attr_unsigned(die, DW_AT_defaulted, &how) &&
	     how == DW_DEFAULTED_in_class))
		return false;
	if (*name == '~')
		return true;
	if (strncmp(name, of, strcspn(of, "<")) != 0)
		return false;
	function = type_of_die(d, t->object, die);
	type_fill(d, function);
	for (size_t i = 0; i < function->field_len; i++) {
		struct type *to = type_strip(d, function->fields[i].type);

		if ((to->kind == TYPE_REFERENCE ||
		     to->kind == TYPE_RVALUE_REFERENCE) &&
		    type_same(d, type_target(d, to), t))
			return true;
	}
	return false;
}

/* C++: what has a constructor of copies, or a destructor, of its own, or has
 * virtual functions, goes by reference. clang says which; g++ does not. */
static bool
goes_by_value(struct debug *d, struct type *type, int depth)
{
	struct type *t = type_strip(d, type);
	Dwarf_Die child;
	uint64_t how;

	if (t->kind == TYPE_ARRAY && depth < NEST_MAX)
		return goes_by_value(d, type_target(d, t), depth + 1);
	if ((t->kind != TYPE_STRUCT && t->kind != TYPE_UNION) || !t->is_cxx ||
	    !t->has_die)
		return true;
	if (attr_unsigned(&t->die, DW_AT_calling_convention, &how))
		return how == DW_CC_pass_by_value;
	if (depth > NEST_MAX || dwarf_hasattr(&t->die, DW_AT_containing_type))
		return false;
	if (dwarf_child(&t->die, &child) == 0)
		do
			if (is_of_copies(d, t, &child))
				return false;
		while (dwarf_siblingof(&child, &child) == 0);
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len; i++)
		if (!t->fields[i].is_static &&
		    (t->fields[i].is_virtual ||
		     !goes_by_value(d, t->fields[i].type, depth + 1)))
			return false;
	return true;
}

/* By an attribute, to more than its type would be? */
static uint64_t
said_alignment(Dwarf_Die *die)
{
	uint64_t bytes;

	return attr_unsigned(die, DW_AT_alignment, &bytes) ? bytes : 0;
}

/* Of 128 bits that are aligned so? What is packed is not. */
static bool
is_wide(struct debug *d, struct type *type, int depth)
{
	struct type *t = type_strip(d, type);

	if (depth > NEST_MAX || type_size(d, t) % CLASSED_MOST)
		return false;
	if (t->kind == TYPE_ARRAY)
		return is_wide(d, type_target(d, t), depth + 1);
	if (t->kind == TYPE_COMPLEX)
		return type_size(d, t) == 32;
	if (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION)
		return type_size(d, t) == 16 && (t->kind == TYPE_FLOAT ||
						 type_is_integral(t));
	if (t->has_die && said_alignment(&t->die) >= CLASSED_MOST)
		return true;
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len; i++) {
		struct field *f = &t->fields[i];

		if (!f->is_static && !f->bits &&
		    f->offset % (8 * CLASSED_MOST) == 0 &&
		    (said_alignment(&f->die) >= CLASSED_MOST ||
		     is_wide(d, f->type, depth + 1)))
			return true;
	}
	return false;
}

int
classes_of(struct debug *d, struct type *type, struct classes *c)
{
	struct type *t = type_strip(d, type);

	*c = (struct classes){ .size = type_size(d, t) };
	if (!machine.has_classes || is_quad(t) ||
	    (t->has_die && said_alignment(&t->die) > CLASSED_MOST) ||
	    !goes_by_value(d, t, 0) || !c->size ||
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
