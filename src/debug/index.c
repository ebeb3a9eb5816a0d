/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of whole objects: variables, functions, types and enumerators at the
 * top of units, in namespaces and in classes. Indexes that compilers write are
 * mostly absent, so each object's units are walked once, when a name is asked
 * for that no scope knows.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 8 << 20, SCAN_DEPTH = 24 };

const char *
die_name(Dwarf_Die *die)
{
	return dwarf_diename(die);
}

bool
die_is_cxx(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b:	/* C++17, C++20: newer than some dwarf.h */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

bool
die_is_assembly(Dwarf_Die *die)
{
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) &&
		dwarf_srclang(&unit) == DW_LANG_Mips_Assembler;
}

bool
is_type_tag(int tag)
{
	switch (tag) {
	case DW_TAG_base_type: case DW_TAG_structure_type:
	case DW_TAG_class_type: case DW_TAG_union_type:
	case DW_TAG_enumeration_type: case DW_TAG_typedef:
	case DW_TAG_unspecified_type: case DW_TAG_template_alias:
	case DW_TAG_namespace:
		return true;
	default:
		return false;
	}
}

/* ---- the table ---- */

uint64_t
index_hash(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

static void
grow(struct index *x)
{
	const size_t n = x->slot_len ? x->slot_len * 4 : 4096;
	struct entry **slots = xcalloc(n, sizeof *slots);

	for (size_t i = 0; i < x->slot_len; i++) {
		struct entry *e = x->slots[i], *next, *turned = NULL;

		for (; e; e = next) {	/* the order of a chain is kept */
			next = e->next;
			e->next = turned;
			turned = e;
		}
		for (e = turned; e; e = next) {
			struct entry **slot = &slots[index_hash(e->name) % n];

			next = e->next;
			e->next = *slot;
			*slot = e;
		}
	}
	free(x->slots);
	x->slots = slots;
	x->slot_len = n;
}

static struct entry *
add_entry(struct debug *d, const struct entry *from)
{
	struct index *x = &from->object->index;
	struct entry *e;

	if (d->entries >= ENTRIES_MAX)
		return NULL;
	if (x->len >= x->slot_len)
		grow(x);
	e = arena_alloc(&d->lasting, sizeof *e);
	*e = *from;

	struct entry **slot = &x->slots[index_hash(e->name) % x->slot_len];

	e->next = *slot;
	*slot = e;
	x->len++;
	d->entries++;
	return e;
}

/* ---- the walk ---- */

struct scan {
	struct debug *d;
	struct object *object;
	Dwarf_Die unit;
	const char *short_scope;	/* NULL: the same as the scope */
	const void *last;
	struct vec early;	/* entries before what they define: clang's */
};

static const char *
joined(struct debug *d, const char *scope, const char *name)
{
	if (!*scope)
		return arena_text(&d->lasting, name);
	return arena_printf(&d->lasting, "%s::%s", scope, name);
}

/* An entry does not know what is around it; these must. */
void
note_enumerators(struct debug *d, Dwarf_Die *type)
{
	Dwarf_Die child;
	int n = 0;

	if (dwarf_child(type, &child) != 0)
		return;
	do
		map_put(&d->enums, (uintptr_t)child.addr,
			(uintptr_t)type->addr);
	while (n++ < MEMBERS_MAX && dwarf_siblingof(&child, &child) == 0);
}

static void scan_children(struct scan *s, Dwarf_Die *die, const char *scope,
			  int depth);

static bool
is_scope_tag(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool
is_wanted(int tag, Dwarf_Die *die)
{
	switch (tag) {
	case DW_TAG_variable:
	case DW_TAG_constant:
	case DW_TAG_enumerator:
	case DW_TAG_subprogram:
		return true;
	case DW_TAG_member:	/* static ones, as DWARF 4 says them */
		return dwarf_hasattr(die, DW_AT_external);
	default:
		return is_type_tag(tag);
	}
}

/* A definition outside of its class or namespace has the scope of what it
 * defines. */
static const char *
scope_elsewhere(struct map *scopes, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die at = *die, origin;
	uint64_t scope;

	for (int i = 0; i < CHAIN_MAX; i++) {
		if ((!dwarf_attr(&at, DW_AT_specification, &attr) &&
		     !dwarf_attr(&at, DW_AT_abstract_origin, &attr)) ||
		    !dwarf_formref_die(&attr, &origin))
			break;
		if (map_get(scopes, (uintptr_t)origin.addr, &scope))
			return (const char *)(uintptr_t)scope;
		at = origin;
	}
	return NULL;
}

/* Namespaces that one does not write: anonymous and inline ones. */
static bool
is_transparent(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_namespace &&
	       (!die_name(die) || attr_flag(die, DW_AT_export_symbols));
}

/* Where it stands, or else what it defines. */
static void
find_scope(struct debug *d, struct entry *e)
{
	const char *scope = scope_elsewhere(&d->derived, &e->die);

	e->scope = scope ? scope : "";
	e->short_scope = scope_elsewhere(&d->derived_short, &e->die);
}

static void
note_scope(struct debug *d, const struct entry *e)
{
	const uintptr_t key = (uintptr_t)e->die.addr;

	if (*e->scope)
		map_put(&d->derived, key, (uintptr_t)e->scope);
	if (e->short_scope)
		map_put(&d->derived_short, key, (uintptr_t)e->short_scope);
}

static void
note_entry(struct scan *s, Dwarf_Die *die, const char *name, const char *scope)
{
	struct entry new = {
		.name = name, .object = s->object, .scope = scope,
		.short_scope = s->short_scope,
		.die = *die, .unit = s->unit,
		.external = dwarf_hasattr(die, DW_AT_external),
		/* with a signature it is all there, in its own unit */
		.declaration = dwarf_hasattr(die, DW_AT_declaration) &&
			!dwarf_hasattr(die, DW_AT_signature),
	};
	struct entry *e;

	if (!*scope)
		find_scope(s->d, &new);
	e = add_entry(s->d, &new);
	note_scope(s->d, &new);
	if (e && !*new.scope && dwarf_hasattr(die, DW_AT_specification))
		vec_push(&s->early, e);
}

static void
place_early(struct scan *s)
{
	for (size_t i = 0; i < s->early.len; i++) {
		struct entry *e = s->early.items[i];

		find_scope(s->d, e);
		note_scope(s->d, e);
	}
	vec_fini(&s->early);
}

static void
scan_one(struct scan *s, Dwarf_Die *die, const char *scope, int depth)
{
	const int tag = dwarf_tag(die);
	const char *name = dwarf_tag(die) ? die_name(die) : NULL;
	const char *inner = scope;

	if (name && is_wanted(tag, die))
		note_entry(s, die, name, scope);
	if (is_scope_tag(tag)) {
		if (name)
			inner = joined(s->d, scope, name);
		else if (tag == DW_TAG_namespace)
			inner = joined(s->d, scope, "(anonymous namespace)");
		const char *outer = s->short_scope;

		if (is_transparent(die))
			s->short_scope = outer ? outer : scope;
		else if (outer && name)
			s->short_scope = joined(s->d, outer, name);
		if (die_is_cxx(&s->unit) || tag == DW_TAG_namespace)
			scan_children(s, die, inner, depth + 1);
		s->short_scope = outer;
	} else if (tag == DW_TAG_enumeration_type) {
		if (name && attr_flag(die, DW_AT_enum_class))
			inner = joined(s->d, scope, name);
		note_enumerators(s->d, die);
		scan_children(s, die, inner, depth + 1);
	}
}

static void
scan_children(struct scan *s, Dwarf_Die *die, const char *scope, int depth)
{
	Dwarf_Die child;

	if (depth > SCAN_DEPTH || dwarf_child(die, &child) != 0)
		return;
	do {
		if ((const char *)child.addr <= (const char *)s->last)
			return;
		s->last = child.addr;
		scan_one(s, &child, scope, depth);
	} while (dwarf_siblingof(&child, &child) == 0);
}

void
index_scan(struct debug *d, struct object *o)
{
	struct scan s = { .d = d, .object = o };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;
	Dwarf *dwarf = object_dwarf(o);

	if (o->indexed || !dwarf)
		return;
	o->indexed = true;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_skeleton &&	/* what is split off */
		    symfile_split_unit(o->symbols, &die, &sub))
			die = sub;
		s.unit = die;
		s.last = NULL;
		scan_children(&s, &die, "", 0);
	}
	place_early(&s);
}

void
index_scan_all(struct debug *d)
{
	objects_load(d);
	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here)
			index_scan(d, o);
	}
}

struct object *
index_owner(struct debug *d, Dwarf_Die *die)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
	struct object *owner = NULL;

	objects_load(d);
	for (size_t i = 0; dwarf && i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here && o->dwarf == dwarf &&
		    (!owner || o->order < owner->order))
			owner = o;
	}
	return owner;
}

/* Around an entry there is only what is in its own object. */
static void
scan_owner(struct debug *d, Dwarf_Die *die)
{
	struct object *o = index_owner(d, die);

	if (o)
		index_scan(d, o);
	else
		index_scan_all(d);
}

const char *
die_full_name(struct debug *d, Dwarf_Die *die)
{
	const char *name = die_name(die);
	Dwarf_Attribute attr;
	Dwarf_Die at = *die, origin;
	uint64_t scope;

	if (!name || !die_is_cxx(die))
		return name;
	scan_owner(d, die);
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (map_get(&d->derived, (uintptr_t)at.addr, &scope))
			return arena_printf(&d->scratch, "%s::%s",
					    (const char *)(uintptr_t)scope,
					    name);
		if ((!dwarf_attr(&at, DW_AT_specification, &attr) &&
		     !dwarf_attr(&at, DW_AT_abstract_origin, &attr)) ||
		    !dwarf_formref_die(&attr, &origin))
			break;
		at = origin;
	}
	return name;
}
