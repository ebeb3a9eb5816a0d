/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is visible at an address: the chain of entries from the unit down to
 * the innermost block, and names in it. Entries of a unit lie in order, and
 * the walk goes forward only, so that damaged data ends it. A unit may have
 * thousands of entries before the one that is looked for, and a breakpoint with
 * a condition asks at one address again and again, for the same few names: the
 * last chains, and what was found in their blocks, are kept.
 */
#include "private.h"

#include <string.h>

struct descent {
	uint64_t vaddr;
	Dwarf_Die found[SCOPE_MAX];
	size_t len;
	const void *last;
};

static bool
holds_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

static bool
holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_module;
}

/* A block without an address of its own is one of the block around it. */
static bool
descend(struct descent *s, Dwarf_Die *die, size_t depth)
{
	Dwarf_Die child;

	if (depth >= SCOPE_MAX || dwarf_child(die, &child) != 0)
		return false;
	do {
		if ((const char *)child.addr <= (const char *)s->last)
			return false;
		s->last = child.addr;

		const int tag = dwarf_tag(&child);

		if (holds_code(tag) && dwarf_haspc(&child, s->vaddr) == 1) {
			s->found[depth] = child;
			s->len = depth + 1;
			(void)descend(s, &child, depth + 1);
			return true;
		}
		/* an abstract block, or a concrete one in parts without code */
		if (holds_functions(tag) ||
		    (tag == DW_TAG_subprogram && !dwarf_hasattr(&child,
							DW_AT_inline) &&
		     !dwarf_hasattr(&child, DW_AT_declaration))) {
			s->found[depth] = child;
			if (descend(s, &child, depth + 1))
				return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* ---- those that are known ---- */

enum { KEPT_MAX = 4096 };

struct chain {
	size_t len;
	Dwarf_Die dies[];	/* innermost first */
};

void
scopes_forget(struct object *o)
{
	map_fini(&o->chains);
	map_fini(&o->findings);
	arena_free(&o->scope_memory);
}

static const struct chain *
note_chain(struct object *o, const struct descent *s)
{
	struct chain *c;

	if (o->chains.len >= KEPT_MAX)
		scopes_forget(o);
	c = arena_alloc(&o->scope_memory,
			sizeof *c + s->len * sizeof *c->dies);
	c->len = s->len;
	for (size_t i = 0; i < s->len; i++)
		c->dies[i] = s->found[s->len - 1 - i];
	map_put(&o->chains, s->vaddr, (uintptr_t)c);
	return c;
}

/* NULL: no unit is there. */
static const struct chain *
find_chain(struct object *o, uint64_t vaddr)
{
	struct descent s = { .vaddr = vaddr };
	uint64_t known, offset;
	Dwarf *dwarf;

	if (map_get(&o->chains, vaddr, &known))
		return (const struct chain *)(uintptr_t)known;
	(void)object_dwarf(o);
	dwarf = symfile_unit_dwarf(o->symbols,
				   symfile_unit_at(o->symbols, vaddr),
				   &offset);
	if (!dwarf || !dwarf_offdie(dwarf, offset, &s.found[0]))
		return NULL;
	s.last = s.found[0].addr;
	s.len = 1;
	(void)descend(&s, &s.found[0], 1);
	return note_chain(o, &s);
}

void
scopes_at(struct debug *d, struct object *o, uint64_t vaddr,
	  struct physical *at)
{
	const struct chain *c;

	if (at->scoped)
		return;
	at->scoped = true;
	c = find_chain(o, vaddr);
	if (!c)
		return;
	/* a frame may outlive what is kept */
	at->scopes = arena_alloc(&d->stack, c->len * sizeof *at->scopes);
	memcpy(at->scopes, c->dies, c->len * sizeof *at->scopes);
	at->scope_len = c->len;
}

static bool
is_value_tag(int tag)
{
	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter ||
	       tag == DW_TAG_constant;
}

static bool
enumerator_in(Dwarf_Die *type, const char *name, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child) != 0)
		return false;
	for (int i = 0; i < MEMBERS_MAX; i++) {
		const char *its = dwarf_diename(&child);

		if (its && strcmp(its, name) == 0) {
			*out = child;
			return true;
		}
		if (dwarf_siblingof(&child, &child) != 0)
			break;
	}
	return false;
}

static bool
fits(int tag, enum entry_wanted want)
{
	return (want != WANT_TYPE && (is_value_tag(tag) ||
				      tag == DW_TAG_subprogram)) ||
	       (want != WANT_VALUE && is_type_tag(tag));
}

struct search {
	struct debug *d;
	const char *name;
	enum entry_wanted want;
	Dwarf_Die *out;
	bool found;
};

/* The last one of a name in a block is the one that is meant. */
static bool
look_at(void *arg, Dwarf_Die *die)
{
	struct search *s = arg;
	const int tag = dwarf_tag(die);
	const char *its;

	if (s->want != WANT_TYPE && tag == DW_TAG_enumeration_type &&
	    !attr_flag(die, DW_AT_enum_class) &&
	    enumerator_in(die, s->name, s->out)) {
		note_enumerators(s->d, die);
		s->found = true;
	}
	if (!fits(tag, s->want))
		return true;
	its = die_name(die);
	if (its && strcmp(its, s->name) == 0) {
		*s->out = *die;
		s->found = true;
	}
	return true;
}

/* What was found of a name in a block, or that nothing was. */
struct finding {
	struct finding *next;	/* of the same hash */
	const void *block;
	enum entry_wanted want;
	bool found;
	Dwarf_Die die;
	char name[];
};

static struct finding *
known_finding(struct object *o, uint64_t hash, const struct search *s,
	      const Dwarf_Die *block)
{
	uint64_t first;
	struct finding *f = NULL;

	if (map_get(&o->findings, hash, &first))
		f = (struct finding *)(uintptr_t)first;
	while (f && (f->block != block->addr || f->want != s->want ||
		     strcmp(f->name, s->name) != 0))
		f = f->next;
	return f;
}

static struct finding *
note_finding(struct object *o, uint64_t hash, const struct search *s,
	     const Dwarf_Die *block)
{
	const size_t n = strlen(s->name) + 1;
	struct finding *f;
	uint64_t *first;

	if (o->findings.len >= KEPT_MAX)
		scopes_forget(o);
	f = arena_alloc(&o->scope_memory, sizeof *f + n);
	f->block = block->addr;
	f->want = s->want;
	f->found = s->found;
	if (s->found)
		f->die = *s->out;
	memcpy(f->name, s->name, n);
	first = map_slot_of(&o->findings, hash);
	f->next = (struct finding *)(uintptr_t)*first;
	*first = (uintptr_t)f;
	return f;
}

static bool
find_in_block(struct debug *d, struct object *o, Dwarf_Die *block,
	      const char *name, enum entry_wanted want, Dwarf_Die *out)
{
	struct search s = { d, name, want, out, false };
	const uint64_t hash = hash_bytes(name, strlen(name),
					 (uintptr_t)block->addr + want);
	struct finding *f = known_finding(o, hash, &s, block);

	if (!f) {
		(void)block_each(block, look_at, &s);
		f = note_finding(o, hash, &s, block);
	}
	if (f->found)
		*out = f->die;
	return f->found;
}

bool
scope_find(struct debug *d, const struct frame *f, const char *name,
	   enum entry_wanted want, Dwarf_Die *out)
{
	for (size_t i = f->first; i <= f->last && i < f->at->scope_len; i++)
		if (holds_code(dwarf_tag(&f->at->scopes[i])) &&
		    find_in_block(d, f->at->object, &f->at->scopes[i], name,
				  want, out))
			return true;
	return false;
}
