/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is inside of types: members and bases, enumerators, parameters; and
 * bounds that are known only in a frame.
 */
#include "private.h"

#include <string.h>

static size_t
count_children(Dwarf_Die *die)
{
	Dwarf_Die child;
	size_t n = 0;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do
		n++;
	while (n < MEMBERS_MAX && dwarf_siblingof(&child, &child) == 0);
	return n;
}

/* Before DWARF 4 a bit-field was counted from the most significant bit of the
 * storage around it. */
static void
set_bits(Dwarf_Die *die, struct field *f, uint64_t unit)
{
	uint64_t bits, at;

	if (!attr_unsigned(die, DW_AT_bit_size, &bits) || bits > 128)
		return;
	f->bits = (unsigned)bits;
	if (attr_unsigned(die, DW_AT_data_bit_offset, &at)) {
		f->offset = at;
	} else if (attr_unsigned(die, DW_AT_bit_offset, &at)) {
		(void)attr_unsigned(die, DW_AT_byte_size, &unit);
		f->offset += unit * 8 - at - bits;
	}
}

static void
set_offset(Dwarf_Die *die, struct field *f)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t offset;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return;
	if (dwarf_formudata(&attr, &offset) == 0) {
		f->offset = offset * 8;
		return;
	}
	if (dwarf_getlocation(&attr, &ops, &n) == 0 && n == 1 &&
	    ops[0].atom == DW_OP_plus_uconst)
		f->offset = ops[0].number * 8;
	else
		f->dynamic = true;
}

static bool
make_field(struct debug *d, struct type *t, Dwarf_Die *die, struct field *f)
{
	const int tag = dwarf_tag(die);
	const char *name = die_name(die);
	uint64_t virtuality = 0;

	if (tag != DW_TAG_member && tag != DW_TAG_inheritance &&
	    tag != DW_TAG_variable)
		return false;
	*f = (struct field){
		.die = *die,
		.name = name && *name ? name : NULL,
		.type = type_of_attr(d, t->object, die),
		.is_base = tag == DW_TAG_inheritance,
		.is_static = tag == DW_TAG_variable ||
			     (attr_flag(die, DW_AT_declaration) &&
			      attr_flag(die, DW_AT_external)),
		.is_artificial = attr_flag(die, DW_AT_artificial),
	};
	if (attr_unsigned(die, DW_AT_virtuality, &virtuality))
		f->is_virtual = virtuality != 0;
	if (!f->is_static) {
		set_offset(die, f);
		set_bits(die, f, type_size(d, f->type));
	}
	return true;
}

static void
fill_struct(struct debug *d, struct type *t, size_t n)
{
	Dwarf_Die child;

	t->fields = arena_alloc(&d->lasting, n * sizeof *t->fields);
	if (dwarf_child(&t->die, &child) != 0)
		return;
	do {
		if (make_field(d, t, &child, &t->fields[t->field_len]))
			t->field_len++;
		else if (dwarf_tag(&child) == DW_TAG_variant_part)
			t->has_variants = true;
	} while (t->field_len < n && dwarf_siblingof(&child, &child) == 0);
}

static void
fill_function(struct debug *d, struct type *t, size_t n)
{
	Dwarf_Die child;
	size_t seen = 0;

	t->fields = arena_alloc(&d->lasting, n * sizeof *t->fields);
	if (dwarf_child(&t->die, &child) != 0)
		return;
	do {
		const int tag = dwarf_tag(&child);

		if (tag == DW_TAG_unspecified_parameters)
			t->is_varargs = true;
		if (tag != DW_TAG_formal_parameter)
			continue;
		t->fields[t->field_len++] = (struct field){
			.die = child,
			.type = type_of_attr(d, t->object, &child),
			.is_artificial = attr_flag(&child, DW_AT_artificial),
		};
	} while (++seen < n && dwarf_siblingof(&child, &child) == 0);
	t->is_method = t->field_len > 0 && t->fields[0].is_artificial;
}

/* Flags are an enum of single bits, and nothing (as gdb 13 takes it). */
static bool
is_flag(uint64_t value)
{
	return (value & (value - 1)) == 0;
}

static void
fill_enum(struct debug *d, struct type *t, size_t n)
{
	Dwarf_Die child;
	struct type *base;

	t->values = arena_alloc(&d->lasting, n * sizeof *t->values);
	t->is_flags = n > 0;
	if (dwarf_child(&t->die, &child) != 0)
		return;
	do {
		struct enumerator *e = &t->values[t->value_len];

		if (dwarf_tag(&child) != DW_TAG_enumerator)
			continue;
		e->name = die_name(&child);
		if (!e->name ||
		    !attr_signed(&child, DW_AT_const_value, &e->value))
			continue;
		t->is_signed |= e->value < 0;
		if (e->value < 0 || !is_flag((uint64_t)e->value))
			t->is_flags = false;
		t->value_len++;
	} while (t->value_len < n && dwarf_siblingof(&child, &child) == 0);
	base = dwarf_hasattr(&t->die, DW_AT_type) ?
		type_strip(d, type_target(d, t)) : NULL;
	if (base && type_is_integral(base) && base->kind != TYPE_ENUM)
		t->is_signed = base->is_signed && t->is_signed;
	if (t->size > 8)
		t->size = 8;
}

void
type_fill(struct debug *d, struct type *t)
{
	size_t n;

	if (t->filled || !t->has_die)
		return;
	t->filled = true;
	if (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION &&
	    t->kind != TYPE_ENUM && t->kind != TYPE_FUNCTION)
		return;
	n = count_children(&t->die);
	if (t->kind == TYPE_ENUM)
		fill_enum(d, t, n);
	else if (t->kind == TYPE_FUNCTION)
		fill_function(d, t, n);
	else if (n)
		fill_struct(d, t, n);
}

/* ---- bounds that a frame knows ---- */

static void
resolve_bounds(struct context *c, struct type *t)
{
	Dwarf_Die range;
	uint64_t number;
	int n = (int)t->value_len;

	if (dwarf_child(&t->die, &range) != 0)
		return;
	for (;;) {
		if ((dwarf_tag(&range) == DW_TAG_subrange_type ||
		     dwarf_tag(&range) == DW_TAG_enumeration_type) && n-- == 0)
			break;
		if (dwarf_siblingof(&range, &range) != 0)
			return;
	}
	if (number_of_attr(c, &range, DW_AT_count, &number) == 0) {
		t->count = number;
	} else if (number_of_attr(c, &range, DW_AT_upper_bound,
				  &number) == 0) {
		t->count = (int64_t)number < t->low ? 0 :
			number - (uint64_t)t->low + 1;
	} else {
		return;
	}
	t->count_known = true;
}

static struct type *
resolve(struct context *c, struct type *t, int depth)
{
	struct debug *d = c->d;
	struct type *copy, *target;

	if (depth > CHAIN_MAX)
		return t;
	switch (t->kind) {
	case TYPE_TYPEDEF: case TYPE_CONST: case TYPE_VOLATILE:
	case TYPE_ARRAY: case TYPE_POINTER: case TYPE_REFERENCE:
		break;
	default:
		return t;
	}
	target = resolve(c, type_target(d, t), depth + 1);
	if (target == type_target(d, t) && !t->is_variable)
		return t;
	copy = arena_alloc(&d->lasting, sizeof *copy);
	*copy = *t;
	copy->pointer = copy->made = copy->made_next = NULL;
	copy->target = target;
	copy->target_known = copy->of_frame = true;
	if (copy->is_variable && t->kind == TYPE_ARRAY) {
		resolve_bounds(c, copy);
		copy->is_variable = false;
	}
	return copy;
}

/* Only variables are of types that a frame makes; most are not, and looking
 * through pointers to see that must be cheap. */
struct type *
type_resolved(struct debug *d, struct type *t, const struct frame *f,
	      const uint64_t *address)
{
	struct context c = {
		.d = d, .frame = f, .regs = f ? f->at : NULL,
		.object = f ? f->at->object : t->object, .address = address,
	};

	if (!c.object || d->nested > CHAIN_MAX)
		return t;
	return resolve(&c, t, 0);
}
