/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bodies of a compilation unit, functions and what was inlined into them.
 * They are listed once, on the first question, and cut into disjoint pieces of
 * code, each of its innermost body. A question is then one binary search and a
 * walk outwards; asking libdw each time would walk the unit each time.
 *
 * Entries of a unit lie in order. The list goes forward only, so that damaged
 * data which points back ends it.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>

struct extent {
	struct range at;
	uint32_t body;
};

enum { DEPTH_MAX = 256 };

/* ---- listing -------------------------------------------------------- */

struct listing {
	const struct symfile *sf;
	struct bodies *bodies;
	struct extent *extents;
	size_t len, cap;
	const void *last;	/* the entry that was listed last */
};

static void
add_extents(struct listing *l, Dwarf_Die *die, uint32_t body)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || !symfile_section(l->sf, start))
			continue;
		l->extents = xgrow(l->extents, &l->cap, l->len + 1,
				   sizeof *l->extents);
		l->extents[l->len++] = (struct extent){ { start, end }, body };
	}
}

/* Its number + 1. */
static uint32_t
add_body(struct listing *l, Dwarf_Die *die, uint32_t outer)
{
	struct bodies *b = l->bodies;

	b->items = xgrow(b->items, &b->cap, b->len + 1, sizeof *b->items);
	b->items[b->len] = (struct body){
		.die = *die, .outer = outer,
		.inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine,
	};
	add_extents(l, die, (uint32_t)b->len);
	return (uint32_t)++b->len;
}

static void
list_children(struct listing *l, Dwarf_Die *die, uint32_t outer, int depth)
{
	Dwarf_Die child;

	if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		if ((const char *)child.addr <= (const char *)l->last)
			return;
		l->last = child.addr;
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			list_children(l, &child, add_body(l, &child, outer),
				      depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			list_children(l, &child, outer, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static int
by_start(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->at.start != y->at.start)
		return x->at.start < y->at.start ? -1 : 1;
	return x->body < y->body ? -1 : x->body > y->body;
}

static void
cut(struct listing *l)
{
	struct range *ranges = xcalloc(l->len + 1, sizeof *ranges);
	struct bodies *b = l->bodies;

	if (l->len > 0)
		qsort(l->extents, l->len, sizeof *l->extents, by_start);
	for (size_t i = 0; i < l->len; i++)
		ranges[i] = l->extents[i].at;
	b->pieces = pieces_cut(ranges, l->len, &b->piece_len);
	for (size_t i = 0; i < b->piece_len; i++)
		b->pieces[i].function =
			l->extents[b->pieces[i].function].body;
	free(ranges);
}

struct bodies *
bodies_of(struct symfile *sf, struct unit *unit)
{
	struct listing l = { .sf = sf };

	if (unit->bodies)
		return unit->bodies;
	unit->bodies = l.bodies = xcalloc(1, sizeof *unit->bodies);
	list_children(&l, unit_whole(sf, unit), 0, 0);
	cut(&l);
	free(l.extents);
	return unit->bodies;
}

void
bodies_free(struct bodies *bodies)
{
	if (!bodies)
		return;
	free(bodies->items);
	free(bodies->pieces);
	free(bodies);
}

struct body *
body_at(struct bodies *b, uint64_t vaddr)
{
	size_t low = 0, high = b->piece_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (b->pieces[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || vaddr >= b->pieces[low - 1].end)
		return NULL;
	return &b->items[b->pieces[low - 1].function];
}

struct body *
body_around(struct bodies *b, const struct body *body)
{
	return body->outer ? &b->items[body->outer - 1] : NULL;
}
