/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types, made from debug entries when somebody needs them. One entry gives one
 * type for ever; what it refers to is looked up later still, so that types that
 * contain themselves, or chains without end, cost nothing until walked.
 */
#include "private.h"

#include <string.h>

struct type *
type_new(struct debug *d, enum type_kind kind, const char *name, uint64_t size,
	 bool is_signed)
{
	struct type *t = arena_alloc(&d->lasting, sizeof *t);

	t->kind = kind;
	t->name = name;
	t->size = size;
	t->is_signed = is_signed;
	t->target_known = true;
	return t;
}

static enum type_kind
kind_of_tag(int tag)
{
	switch (tag) {
	case DW_TAG_base_type: return TYPE_INT;
	case DW_TAG_unspecified_type: return TYPE_VOID;
	case DW_TAG_enumeration_type: return TYPE_ENUM;
	case DW_TAG_pointer_type: return TYPE_POINTER;
	case DW_TAG_reference_type: return TYPE_REFERENCE;
	case DW_TAG_rvalue_reference_type: return TYPE_RVALUE_REFERENCE;
	case DW_TAG_array_type: return TYPE_ARRAY;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_interface_type: return TYPE_STRUCT;
	case DW_TAG_union_type: return TYPE_UNION;
	case DW_TAG_subroutine_type:
	case DW_TAG_subprogram: return TYPE_FUNCTION;
	case DW_TAG_ptr_to_member_type: return TYPE_MEMBER_POINTER;
	case DW_TAG_subrange_type:
	case DW_TAG_template_alias:
	case DW_TAG_typedef: return TYPE_TYPEDEF;
	case DW_TAG_const_type: return TYPE_CONST;
	case DW_TAG_volatile_type: return TYPE_VOLATILE;
	case DW_TAG_restrict_type: return TYPE_RESTRICT;
	case DW_TAG_atomic_type: return TYPE_ATOMIC;
	case DW_TAG_namespace: return TYPE_NAMESPACE;
	default: return TYPE_ERROR;
	}
}

/* In another order of bytes than the machine's. */
static bool
is_turned(struct type *t)
{
	uint64_t order;

	return attr_unsigned(&t->die, DW_AT_endianity, &order) &&
	       order != DW_END_default && order != DW_END_little;
}

static void
set_base(struct type *t)
{
	uint64_t encoding = 0;

	(void)attr_unsigned(&t->die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		t->kind = TYPE_BOOL;
		break;
	case DW_ATE_float:
		t->kind = TYPE_FLOAT;
		break;
	case DW_ATE_complex_float:
		t->kind = TYPE_COMPLEX;
		break;
	case DW_ATE_signed_char:
		t->is_signed = true;
		t->kind = TYPE_CHAR;
		break;
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		t->kind = TYPE_CHAR;
		break;
	case DW_ATE_signed:
		t->is_signed = true;
		break;
	case DW_ATE_unsigned:
		if (t->name && strcmp(t->name, "char8_t") == 0)
			t->kind = TYPE_CHAR;
		break;
	case DW_ATE_address:
		break;
	default:	/* decimal, fixed, imaginary */
		t->kind = TYPE_ERROR;
		break;
	}
	if (is_turned(t) || (t->kind != TYPE_FLOAT && t->size > 8 &&
			     t->kind != TYPE_COMPLEX && t->size != 16))
		t->kind = TYPE_ERROR;
	if (t->size > VALUE_MAX)
		t->size = 0;
}

/* Compilers write "long unsigned int"; people do not. */
static const char *
usual_name(const char *name)
{
	static const char *const names[][2] = {
		{ "long int", "long" },
		{ "short int", "short" },
		{ "long long int", "long long" },
		{ "long unsigned int", "unsigned long" },
		{ "short unsigned int", "unsigned short" },
		{ "long long unsigned int", "unsigned long long" },
		{ "__int128 unsigned", "unsigned __int128" },
	};

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

static void
set_from_die(struct debug *d, struct type *t)
{
	uint64_t size = 0;

	(void)attr_unsigned(&t->die, DW_AT_byte_size, &size);
	t->size = size;
	t->is_cxx = die_is_cxx(&t->die);
	t->is_declaration = attr_flag(&t->die, DW_AT_declaration);
	t->is_prototyped = attr_flag(&t->die, DW_AT_prototyped) || t->is_cxx;
	if (die_name(&t->die))
		t->name = arena_text(&d->lasting, die_full_name(d, &t->die));
	switch (t->kind) {
	case TYPE_INT:
		set_base(t);
		t->name = usual_name(t->name);
		break;
	case TYPE_POINTER:
	case TYPE_REFERENCE:
	case TYPE_RVALUE_REFERENCE:
		t->size = 8;
		break;
	case TYPE_FUNCTION:
		t->name = NULL;
		t->size = 1;
		break;
	case TYPE_STRUCT:
		t->is_class = dwarf_tag(&t->die) == DW_TAG_class_type;
		break;
	default:
		break;
	}
}

/* An entry may only name the unit of its own that the type has. */
static void
go_to_unit(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die whole;

	if (dwarf_attr(die, DW_AT_signature, &attr) &&
	    dwarf_formref_die(&attr, &whole))
		*die = whole;
}

struct type *
type_of_die(struct debug *d, struct object *o, Dwarf_Die *entry)
{
	Dwarf_Die whole = *entry, *die = &whole;
	uint64_t *slot;
	struct type *t;

	go_to_unit(die);
	slot = map_slot_of(&d->types, (uintptr_t)die->addr);
	if (*slot)
		return (struct type *)(uintptr_t)*slot;
	if (dwarf_tag(die) == DW_TAG_array_type) {
		t = type_array_of_die(d, o, die);
	} else {
		t = type_new(d, kind_of_tag(dwarf_tag(die)), NULL, 0, false);
		t->has_die = true;
		t->die = *die;
		t->object = object_of_die(d, die, o);
		t->target_known = false;
	}
	map_put(&d->types, (uintptr_t)die->addr, (uintptr_t)t);
	if (t->kind != TYPE_ARRAY && t->has_die)
		set_from_die(d, t);
	return t;
}

struct type *
type_of_attr(struct debug *d, struct object *o, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die target;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) ||
	    !dwarf_formref_die(&attr, &target))
		return type_basic(d, "void");
	return type_of_die(d, o, &target);
}

struct type *
type_target(struct debug *d, struct type *t)
{
	if (!t->target_known) {
		t->target_known = true;
		t->target = type_of_attr(d, t->object, &t->die);
	}
	if (t->kind == TYPE_MEMBER_POINTER && !t->container && t->has_die) {
		Dwarf_Attribute attr;
		Dwarf_Die die;

		if (dwarf_attr_integrate(&t->die, DW_AT_containing_type,
					 &attr) &&
		    dwarf_formref_die(&attr, &die))
			t->container = type_of_die(d, t->object, &die);
	}
	return t->target ? t->target : type_basic(d, "void");
}

/* ---- through names ---- */

static struct type *
definition(struct debug *d, struct type *t)
{
	struct entry *e;

	if (!t->is_declaration || !t->name || t->completing ||
	    (t->kind != TYPE_STRUCT && t->kind != TYPE_UNION &&
	     t->kind != TYPE_ENUM))
		return t;
	if (!t->complete) {
		t->completing = true;
		e = index_definition(d, t);
		if (e)
			t->complete = type_of_die(d, e->object, &e->die);
		t->completing = false;
	}
	return t->complete ? t->complete : t;
}

struct type *
type_unqualified(struct debug *d, struct type *t)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (t->kind != TYPE_CONST && t->kind != TYPE_VOLATILE &&
		    t->kind != TYPE_RESTRICT && t->kind != TYPE_ATOMIC)
			return t;
		t = type_target(d, t);
	}
	return type_basic(d, "void");
}

struct type *
type_strip(struct debug *d, struct type *t)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		switch (t->kind) {
		case TYPE_TYPEDEF: case TYPE_CONST: case TYPE_VOLATILE:
		case TYPE_RESTRICT: case TYPE_ATOMIC:
			t = type_target(d, t);
			break;
		default:
			return definition(d, t);
		}
	}
	return type_basic(d, "void");
}

uint64_t
type_size(struct debug *d, struct type *t)
{
	uint64_t size = 1;

	t = type_strip(d, t);
	for (int i = 0; i < CHAIN_MAX && t->kind == TYPE_ARRAY; i++) {
		if (__builtin_mul_overflow(size, t->count, &size))
			return UINT64_MAX;
		t = type_strip(d, type_target(d, t));
	}
	if (t->kind == TYPE_MEMBER_POINTER)
		t->size = type_strip(d, type_target(d, t))->kind ==
			TYPE_FUNCTION ? 16 : 8;
	if (t->kind == TYPE_VOID || t->kind == TYPE_FUNCTION)
		return size;
	return __builtin_mul_overflow(size, t->size, &size) ? UINT64_MAX :
							     size;
}

bool
type_is_integral(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_CHAR ||
	       t->kind == TYPE_BOOL || t->kind == TYPE_ENUM;
}

bool
type_is_scalar(const struct type *t)
{
	return type_is_integral(t) || t->kind == TYPE_FLOAT ||
	       t->kind == TYPE_POINTER;
}

bool
type_same(struct debug *d, struct type *a, struct type *b)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		a = type_strip(d, a);
		b = type_strip(d, b);
		if (a == b)
			return true;
		if (a->kind != b->kind || a->size != b->size)
			return false;
		if (a->kind != TYPE_POINTER && a->kind != TYPE_ARRAY)
			break;
		a = type_target(d, a);
		b = type_target(d, b);
	}
	return a->kind == b->kind && a->is_signed == b->is_signed &&
	       a->name && b->name && strcmp(a->name, b->name) == 0;
}

/* ---- types that no entry is about ---- */

struct type *
type_pointer_to(struct debug *d, struct type *t)
{
	if (!t->pointer) {
		t->pointer = type_new(d, TYPE_POINTER, NULL, 8, false);
		t->pointer->target = t;
		t->pointer->is_cxx = t->is_cxx;
	}
	return t->pointer;
}

static struct type *
type_made(struct debug *d, enum type_kind kind, struct type *t, uint64_t count)
{
	struct type *w;

	for (w = t->made; w; w = w->made_next)
		if (w->kind == kind && w->count == count)
			return w;
	w = type_new(d, kind, NULL, 8, false);
	w->target = t;
	w->count = count;
	w->made_next = t->made;
	t->made = w;
	return w;
}

struct type *
type_wrapped(struct debug *d, enum type_kind kind, struct type *t)
{
	return type_made(d, kind, t, 0);
}

struct type *
type_array_of(struct debug *d, struct type *t, uint64_t count)
{
	struct type *a = type_made(d, TYPE_ARRAY, t, count);

	a->size = 0;
	a->count_known = true;
	return a;
}

struct type *
type_basic(struct debug *d, const char *name)
{
	static const struct {
		const char *name;
		enum type_kind kind;
		unsigned size;
		bool is_signed;
	} all[] = {
		{ "void", TYPE_VOID, 0, false },
		{ "char", TYPE_CHAR, 1, true },
		{ "signed char", TYPE_CHAR, 1, true },
		{ "unsigned char", TYPE_CHAR, 1, false },
		{ "short", TYPE_INT, 2, true },
		{ "unsigned short", TYPE_INT, 2, false },
		{ "int", TYPE_INT, 4, true },
		{ "unsigned int", TYPE_INT, 4, false },
		{ "long", TYPE_INT, 8, true },
		{ "unsigned long", TYPE_INT, 8, false },
		{ "long long", TYPE_INT, 8, true },
		{ "unsigned long long", TYPE_INT, 8, false },
		{ "__int128", TYPE_INT, 16, true },
		{ "unsigned __int128", TYPE_INT, 16, false },
		{ "float", TYPE_FLOAT, 4, false },
		{ "double", TYPE_FLOAT, 8, false },
		{ "long double", TYPE_FLOAT, 16, false },
		{ "bool", TYPE_BOOL, 1, false },
		{ "_Bool", TYPE_BOOL, 1, false },
		{ "<text variable, no debug info>", TYPE_NODEBUG_TEXT, 1,
		  false },
		{ "<data variable, no debug info>", TYPE_NODEBUG_DATA, 1,
		  false },
		{ "code_ptr", TYPE_FUNCTION, 1, false },
		{ "data_ptr", TYPE_VOID, 0, false },
		{ "i386_eflags", TYPE_INT, 4, false },
		{ "i387_ext", TYPE_FLOAT, 16, false },
		{ "uint8_t", TYPE_INT, 1, false },
		{ "int8_t", TYPE_INT, 1, true },
		{ "int16_t", TYPE_INT, 2, true },
		{ "int32_t", TYPE_INT, 4, true },
		{ "int128", TYPE_INT, 16, false },
		{ "wchar_t", TYPE_CHAR, 4, true },
		{ "char16_t", TYPE_CHAR, 2, false },
		{ "char32_t", TYPE_CHAR, 4, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		uint64_t *slot;

		if (strcmp(all[i].name, name) != 0)
			continue;
		slot = map_slot_of(&d->basics, i);
		if (!*slot)
			*slot = (uintptr_t)type_new(d, all[i].kind,
						    all[i].name, all[i].size,
						    all[i].is_signed);
		if (strcmp(name, "i386_eflags") == 0)
			((struct type *)(uintptr_t)*slot)->is_flags = true;
		return (struct type *)(uintptr_t)*slot;
	}
	return NULL;
}
