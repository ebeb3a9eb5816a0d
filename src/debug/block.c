/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The entries of a block. A function that was inlined or cloned says only what
 * is special of it; what it does not repeat of its abstract origin is there
 * too, mostly as what the compiler optimized away.
 */
#include "private.h"

/* Origins of a block's entries: addresses. */
static void
note_origin(struct map *known, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	    dwarf_formref_die(&attr, &origin))
		map_put(known, (uintptr_t)origin.addr, 1);
}

struct walk {
	bool (*visit)(void *arg, Dwarf_Die *die);
	void *arg;
	int left;
};

/* A block that says nothing of its place is not one: what is in it counts as
 * in the block around it. */
static bool
is_bare(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_lexical_block &&
	       !dwarf_hasattr(die, DW_AT_low_pc) &&
	       !dwarf_hasattr(die, DW_AT_ranges);
}

static bool walk_block(struct walk *w, Dwarf_Die *block, int depth);

static bool
walk_entry(struct walk *w, Dwarf_Die *die, int depth)
{
	return w->visit(w->arg, die) &&
	       (!is_bare(die) || walk_block(w, die, depth + 1));
}

static bool
walk_origin(struct walk *w, Dwarf_Die *block, const struct map *own, int depth)
{
	Dwarf_Die child, origin;
	Dwarf_Attribute attr;
	uint64_t known;

	if (!dwarf_attr(block, DW_AT_abstract_origin, &attr) ||
	    !dwarf_formref_die(&attr, &origin) ||
	    dwarf_child(&origin, &child) != 0)
		return true;
	do
		if (!map_get(own, (uintptr_t)child.addr, &known) &&
		    !walk_entry(w, &child, depth))
			return false;
	while (w->left-- > 0 && dwarf_siblingof(&child, &child) == 0);
	return true;
}

static bool
walk_block(struct walk *w, Dwarf_Die *block, int depth)
{
	struct map own = {0};
	bool more = true;
	Dwarf_Die child;

	if (depth > 16)
		return true;
	if (dwarf_child(block, &child) == 0)
		do {
			note_origin(&own, &child);
			more = walk_entry(w, &child, depth);
		} while (more && w->left-- > 0 &&
			 dwarf_siblingof(&child, &child) == 0);
	more = more && walk_origin(w, block, &own, depth);
	map_fini(&own);
	return more;
}

bool
block_each(Dwarf_Die *block, bool (*visit)(void *arg, Dwarf_Die *die),
	   void *arg)
{
	struct walk w = { visit, arg, MEMBERS_MAX };

	return walk_block(&w, block, 0);
}
