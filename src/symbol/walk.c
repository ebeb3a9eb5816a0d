/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ways through the entries of a compilation unit. libdw goes down by recursion
 * (dwarf_getfuncs, dwarf_getscopes_die), as deep as whoever made the file
 * likes: 200,000 blocks, one in another, are more than a stack holds. Here
 * depth has a bound, beyond which nothing is seen; compilers come to some 30.
 *
 * Entries of a unit lie in order, and each walk goes forward only, so that
 * damaged data which points back ends it.
 */
#include "symfile.h"

#include <dwarf.h>

enum { DEPTH_MAX = 256 };

/* ---- functions ------------------------------------------------------ */

struct walk {
	void (*visit)(Dwarf_Die *die, void *arg);
	void *arg;
	bool is_c;		/* only code has functions in it */
	const void *last;	/* the entry of this unit that was seen last */
	struct map imported;	/* units that were walked, by their entries */
};

static bool
is_c_unit(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static bool
may_hold_functions(const struct walk *w, int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
		return true;
	case DW_TAG_catch_block:
	case DW_TAG_class_type:
	case DW_TAG_entry_point:
	case DW_TAG_module:
	case DW_TAG_namespace:
	case DW_TAG_structure_type:
	case DW_TAG_try_block:
	case DW_TAG_union_type:
	case DW_TAG_with_stmt:
		return !w->is_c;
	default:
		return false;
	}
}

static void walk_children(struct walk *w, Dwarf_Die *die, int depth);

/* dwz has put what several units share into one of their own. */
static void
walk_imported(struct walk *w, Dwarf_Die *import, int depth)
{
	const void *before = w->last;
	Dwarf_Attribute attr;
	Dwarf_Die unit;

	if (!dwarf_attr(import, DW_AT_import, &attr) ||
	    !dwarf_formref_die(&attr, &unit))
		return;

	uint64_t *walked = map_slot_of(&w->imported, (uintptr_t)unit.addr);

	if (*walked)
		return;
	*walked = 1;
	w->last = unit.addr;
	walk_children(w, &unit, depth);
	w->last = before;
}

static void
walk_children(struct walk *w, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;

	if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		const int tag = dwarf_tag(&child);

		if ((const char *)child.addr <= (const char *)w->last)
			return;
		w->last = child.addr;
		if (tag == DW_TAG_subprogram)
			w->visit(&child, w->arg);
		if (tag == DW_TAG_imported_unit)
			walk_imported(w, &child, depth + 1);
		else if (may_hold_functions(w, tag))
			walk_children(w, &child, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

void
functions_walk(Dwarf_Die *unit, void (*visit)(Dwarf_Die *die, void *arg),
	       void *arg)
{
	struct walk w = { .visit = visit, .arg = arg, .last = unit->addr,
			  .is_c = is_c_unit(unit) };

	map_put(&w.imported, (uintptr_t)unit->addr, 1);
	walk_children(&w, unit, 0);
	map_fini(&w.imported);
}

/* ---- what is around an entry ---------------------------------------- */

/* The child that is the entry at addr, or else the one it lies in: the last
 * that begins before it. */
static bool
step_towards(Dwarf_Die *die, const char *addr)
{
	Dwarf_Die child, next;

	if (dwarf_child(die, &child) != 0 || (const char *)child.addr > addr)
		return false;
	while (dwarf_siblingof(&child, &next) == 0 &&
	       (const char *)next.addr > (const char *)child.addr &&
	       (const char *)next.addr <= addr)
		child = next;
	*die = child;
	return true;
}

size_t
symbol_scopes(const void *die, void *around, size_t most)
{
	Dwarf_Die entry = *(const Dwarf_Die *)die, at, *out = around;
	size_t n = 0;

	if (!dwarf_diecu(&entry, &at, NULL, NULL))
		return 0;
	while (at.addr != entry.addr) {
		if (n == most)
			return 0;
		out[n++] = at;
		if (!step_towards(&at, entry.addr))
			return 0;
	}
	return n;
}
