/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The entries of a block. A function that was inlined or cloned says only what
 * is special of it; what it does not repeat of its abstract origin is there
 * too, mostly as what the compiler optimized away.
 */
#include "private.h"

enum { REFERRED_MAX = 512 };

struct referred {
	const void *addr[REFERRED_MAX];
	size_t len;
};

static void
note_origin(struct referred *r, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (r->len < REFERRED_MAX &&
	    dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
	    dwarf_formref_die(&attr, &origin))
		r->addr[r->len++] = origin.addr;
}

static bool
is_referred(const struct referred *r, const void *addr)
{
	for (size_t i = 0; i < r->len; i++)
		if (r->addr[i] == addr)
			return true;
	return false;
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

static bool
walk_block(struct walk *w, Dwarf_Die *block, int depth)
{
	struct referred own = { .len = 0 };
	Dwarf_Die child, origin;
	Dwarf_Attribute attr;

	if (depth > 16)
		return true;
	if (dwarf_child(block, &child) == 0)
		do {
			note_origin(&own, &child);
			if (!w->visit(w->arg, &child) ||
			    (is_bare(&child) &&
			     !walk_block(w, &child, depth + 1)))
				return false;
		} while (w->left-- > 0 &&
			 dwarf_siblingof(&child, &child) == 0);
	if (!dwarf_attr(block, DW_AT_abstract_origin, &attr) ||
	    !dwarf_formref_die(&attr, &origin) ||
	    dwarf_child(&origin, &child) != 0)
		return true;
	do
		if (!is_referred(&own, child.addr) &&
		    (!w->visit(w->arg, &child) ||
		     (is_bare(&child) && !walk_block(w, &child, depth + 1))))
			return false;
	while (w->left-- > 0 && dwarf_siblingof(&child, &child) == 0);
	return true;
}

bool
block_each(Dwarf_Die *block, bool (*visit)(void *arg, Dwarf_Die *die),
	   void *arg)
{
	struct walk w = { visit, arg, MEMBERS_MAX };

	return walk_block(&w, block, 0);
}
