/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a function was inlined. Most units know nothing of it, which their
 * functions tell at once; only of the others all bodies are listed. With
 * link-time optimisation a function is told of in a unit without code, and its
 * copies are in any other.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPES_MAX = 64 };	/* one in another */

struct copies {
	struct symfile *sf;
	const char *plain;	/* name without what it is qualified by */
	bool (*is_wanted)(void *arg, const char *linkage);
	void (*visit)(void *arg, uint64_t vaddr);
	void *arg;
	bool early;		/* the unit is one without code */
	const void **origins;	/* entries of what was inlined */
	size_t len, cap;
};

/* Templates have their arguments in the name. */
static bool
is_named(Dwarf_Die *die, const char *plain)
{
	const char *name = dwarf_diename(die);
	const size_t n = strlen(plain);

	return name && strncmp(name, plain, n) == 0 &&
		(!name[n] || name[n] == '<');
}

static bool
qualifies(Dwarf_Die *scope)
{
	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return dwarf_diename(scope) != NULL;
	default:
		return false;
	}
}

/* What was inlined everywhere has no symbol, and gcc gives it no linkage name:
 * it is called as it stands, by where it is declared. */
static char *
full_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die declared = *die, scopes[SCOPES_MAX];
	struct str name = {0};

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return xstrdup(body_name(die));
	if (dwarf_attr(die, DW_AT_specification, &attr))
		(void)dwarf_formref_die(&attr, &declared);

	const size_t n = symbol_scopes(&declared, scopes, SCOPES_MAX);

	for (size_t i = 0; i < n; i++)
		if (qualifies(&scopes[i]))
			str_addf(&name, "%s::", dwarf_diename(&scopes[i]));
	str_add(&name, body_name(die));
	return str_take(&name);
}

static void
note_origin(Dwarf_Die *die, void *arg)
{
	struct copies *c = arg;

	/* gcc wrote the early ones before it knew */
	if (!is_named(die, c->plain) || !(c->early || dwarf_func_inline(die)))
		return;

	char *name = full_name(die);
	const bool wanted = c->is_wanted(c->arg, name);

	free(name);
	if (!wanted)
		return;
	c->origins = xgrow(c->origins, &c->cap, c->len + 1,
			   sizeof *c->origins);
	c->origins[c->len++] = die->addr;
}

static bool
is_copy(const struct copies *c, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) ||
	    !dwarf_formref_die(&attr, &origin))
		return false;
	for (size_t i = 0; i < c->len; i++)
		if (c->origins[i] == origin.addr)
			return true;
	return false;
}

/* Where nothing is left of its first statement, compilers name a place that is
 * none of its own: then it is where its own code begins. */
static bool
first_own(Dwarf_Die *die, uint64_t *entry)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	uint64_t first = 0;
	bool any = false, inside = false;

	if (!body_entry(die, entry))
		return false;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		first = any ? first : start;
		any = true;
		inside |= *entry >= start && *entry < end;
	}
	if (any && !inside)
		*entry = first;
	return any;
}

static void
visit_copies(const struct copies *c, struct unit *unit)
{
	struct bodies *b = bodies_of(c->sf, unit);

	for (size_t i = 0; i < b->len; i++) {
		Dwarf_Die *die = &b->items[i].die;
		uint64_t entry;

		if (b->items[i].inlined && is_copy(c, die) &&
		    first_own(die, &entry) && symfile_section(c->sf, entry))
			c->visit(c->arg, entry);
	}
}

/* Of units without code; those with some are listed. */
static void
note_early(struct copies *c, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	c->early = true;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Addr base, start, end;

		if (dwarf_tag(&die) == DW_TAG_compile_unit &&
		    dwarf_ranges(&die, 0, &base, &start, &end) <= 0)
			functions_walk(&die, note_origin, c);
	}
	c->early = false;
}

void
symfile_copies(struct symfile *sf, const char *plain,
	       bool (*is_wanted)(void *arg, const char *linkage),
	       void (*visit)(void *arg, uint64_t vaddr), void *arg)
{
	struct copies c = { .sf = sf, .plain = plain, .is_wanted = is_wanted,
			    .visit = visit, .arg = arg };

	if (!debug_mentions(sf, plain))
		return;

	const size_t units = symfile_units(sf);
	struct unit *first = lines_unit(sf, 1);

	if (first)
		note_early(&c, dwarf_cu_getdwarf(first->die.cu));

	const bool anywhere = c.len > 0;

	for (size_t i = 1; i <= units; i++) {
		struct unit *unit = lines_unit(sf, i);
		const size_t before = c.len;

		functions_walk(unit_whole(sf, unit), note_origin, &c);
		if (c.len > before || anywhere)
			visit_copies(&c, unit);
	}
	free(c.origins);
}
