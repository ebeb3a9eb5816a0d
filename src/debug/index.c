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

static uint64_t
hash_name(const char *name)
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
			struct entry **slot = &slots[hash_name(e->name) % n];

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
	struct index *x = &d->index;
	struct entry *e;

	if (x->len >= ENTRIES_MAX)
		return NULL;
	if (x->len >= x->slot_len)
		grow(x);
	e = arena_alloc(&d->lasting, sizeof *e);
	*e = *from;

	struct entry **slot = &x->slots[hash_name(e->name) % x->slot_len];

	e->next = *slot;
	*slot = e;
	x->len++;
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

static void
scan_object(struct debug *d, struct object *o)
{
	struct scan s = { .d = d, .object = o };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;
	Dwarf *dwarf = object_dwarf(o);

	if (o->indexed || !dwarf)
		return;
	o->indexed = true;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
		if (type == DW_UT_skeleton && sub.cu)	/* what is split off */
			die = sub;
		s.unit = die;
		s.last = NULL;
		scan_children(&s, &die, "", 0);
	}
	place_early(&s);
}

static void
scan_all(struct debug *d)
{
	objects_load(d);
	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here)
			scan_object(d, o);
	}
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
	scan_all(d);
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

/* ---- questions ---- */

static bool
entry_fits(struct entry *e, enum entry_wanted want)
{
	const bool type = is_type_tag(dwarf_tag(&e->die));

	return want == WANT_ANY || (want == WANT_TYPE) == type;
}

static bool
is_prefix(const char *scope, const char *name, size_t n)
{
	return scope && strlen(scope) == n && memcmp(scope, name, n) == 0;
}

/* The last :: outside of <...>. */
static const char *
last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if (*at == '>' || *at == ')')
			depth--;
		else if (depth == 0 && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

/* Does that scope end so? "A::B" ends in "B", and all in nothing. */
static bool
ends_in(const char *scope, const char *name, size_t n)
{
	const size_t len = scope ? strlen(scope) : 0;

	return len >= n && memcmp(scope + len - n, name, n) == 0 &&
		(n == 0 || len == n || scope[len - n - 1] == ':');
}

static void
each_named(struct debug *d, const char *name,
	   bool (*is_in)(const char *scope, const char *name, size_t n),
	   bool (*visit)(void *arg, struct entry *e), void *arg)
{
	const char *last = last_part(name);
	const size_t scope_len = last == name ? 0 : (size_t)(last - name) - 2;

	scan_all(d);
	if (d->index.slot_len == 0)
		return;
	for (struct entry *e = d->index.slots[hash_name(last) %
					      d->index.slot_len];
	     e; e = e->next) {
		if (!e->object->here || strcmp(e->name, last) != 0 ||
		    (!is_in(e->scope, name, scope_len) &&
		     !is_in(e->short_scope, name, scope_len)))
			continue;
		if (!visit(arg, e))
			return;
	}
}

void
index_each(struct debug *d, const char *name,
	   bool (*visit)(void *arg, struct entry *e), void *arg)
{
	each_named(d, name, is_prefix, visit, arg);
}

void
index_each_anywhere(struct debug *d, const char *name,
		    bool (*visit)(void *arg, struct entry *e), void *arg)
{
	each_named(d, name, ends_in, visit, arg);
}

void
index_each_begun(struct debug *d, const char *name,
		 bool (*visit)(void *arg, struct entry *e), void *arg)
{
	scan_all(d);
	for (size_t i = 0; i < d->index.slot_len; i++)
		for (struct entry *e = d->index.slots[i]; e; e = e->next)
			if (e->object->here && str_starts(e->name, name) &&
			    !visit(arg, e))
				return;
}

struct choice {
	enum entry_wanted want;
	Dwarf_Die *unit;
	struct entry *best;
	int score;
};

/* Of the unit that asks before all, what is global before what is private to
 * another unit, what is somewhere before what is only declared. */
static bool
choose(void *arg, struct entry *e)
{
	struct choice *c = arg;
	int score = 1;

	if (!entry_fits(e, c->want))
		return true;
	if (!e->declaration)
		score += 8;
	if (c->unit && e->unit.addr == c->unit->addr)
		score += 4;
	if (e->external)
		score += 2;
	if (score > c->score || (score == c->score && c->best &&
				 e->object->order < c->best->object->order)) {
		c->score = score;
		c->best = e;
	}
	return true;
}

struct entry *
index_find(struct debug *d, const char *name, enum entry_wanted want,
	   Dwarf_Die *unit)
{
	struct choice c = { .want = want, .unit = unit };

	index_each(d, name, choose, &c);
	return c.best;
}

bool
index_is_type(struct debug *d, const char *name, Dwarf_Die *unit)
{
	struct choice value = { .want = WANT_VALUE, .unit = unit };
	struct choice type = { .want = WANT_TYPE, .unit = unit };

	index_each(d, name, choose, &value);
	index_each(d, name, choose, &type);
	if (!type.best || !value.best)
		return type.best != NULL;
	return type.score != value.score ? type.score > value.score :
		type.best->object->order < value.best->object->order;
}

struct search {
	struct type *type;
	struct entry *found;
};

static bool
defines(void *arg, struct entry *e)
{
	struct search *s = arg;
	const int tag = dwarf_tag(&e->die), its = dwarf_tag(&s->type->die);
	const bool same = tag == its ||
		(tag == DW_TAG_class_type && its == DW_TAG_structure_type) ||
		(tag == DW_TAG_structure_type && its == DW_TAG_class_type);

	if (!same || e->declaration)
		return true;
	s->found = e;
	return e->object != s->type->object;
}

struct entry *
index_definition(struct debug *d, struct type *t)
{
	struct search s = { .type = t };

	index_each(d, t->name, defines, &s);
	return s.found;
}
