/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions the compiler has put into another at an address. All bodies
 * of a compilation unit, functions and what was inlined into them, are listed
 * once, on the first question, and cut into disjoint pieces of code, each of
 * its innermost body. A question is then one binary search and a walk
 * outwards; asking libdw each time would walk the unit each time.
 *
 * Entries of a unit lie in order. The list goes forward only, so that damaged
 * data which points back ends it.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>

struct body {
	Dwarf_Die die;
	uint32_t outer;		/* body around it + 1; 0: none */
	bool inlined;
};

struct bodies {
	struct body *items;	/* outer ones first */
	size_t len, cap;
	struct piece *pieces;	/* function: index in items */
	size_t piece_len;
};

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

static struct bodies *
bodies_of(struct symfile *sf, struct unit *unit)
{
	struct listing l = { .sf = sf };

	if (unit->bodies)
		return unit->bodies;
	unit->bodies = l.bodies = xcalloc(1, sizeof *unit->bodies);
	list_children(&l, unit_whole(unit), 0, 0);
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

/* ---- questions ------------------------------------------------------ */

/* The innermost body there, or NULL. */
static struct body *
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

static struct body *
around(struct bodies *b, const struct body *body)
{
	return body->outer ? &b->items[body->outer - 1] : NULL;
}

static const char *
function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : "<Unknown>";
}

static Dwarf_Word
number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (!dwarf_attr_integrate(die, name, &attr) ||
	    dwarf_formudata(&attr, &value))
		return 0;
	return value;
}

struct search {
	struct symfile *sf;
	uint64_t vaddr;
	struct symfile_inlined *out;
	size_t max, found;
	uint64_t entry;
	const char *file;
	int line;
};

/*
 * The file that an attribute names, which may stand in another unit's entry
 * and then counts in that unit's table. (dwarf_decl_file of libdw 0.188 ends
 * the process where a split unit has no table.)
 */
static const char *
file_of(struct search *s, struct unit *unit, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word file;
	Dwarf_Die owner;
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_attr_integrate(die, name, &attr) ||
	    dwarf_formudata(&attr, &file) != 0 ||
	    dwarf_cu_info(attr.cu, NULL, NULL, &owner, NULL, NULL, NULL,
			  NULL) != 0 ||
	    dwarf_getsrcfiles(&owner, &files, &count) != 0 || file >= count)
		return NULL;

	const char *path = dwarf_filesrc(files, file, NULL, NULL);

	return path ? lines_absolute(s->sf, unit, path) : NULL;
}

static void
take(struct search *s, struct unit *unit, Dwarf_Die *die)
{
	s->out[s->found++] = (struct symfile_inlined){
		.name = function_name(die),
		.call_file = file_of(s, unit, die, DW_AT_call_file),
		.call_line = (int)number_of(die, DW_AT_call_line),
		.file = file_of(s, unit, die, DW_AT_decl_file),
		.line = (int)number_of(die, DW_AT_decl_line),
	};
}

static bool
find_inlines(void *arg, struct unit *unit)
{
	struct search *s = arg;
	struct bodies *b = bodies_of(s->sf, unit);
	struct body *body = body_at(b, s->vaddr);
	const bool known = body != NULL;

	for (; body && body->inlined; body = around(b, body))
		if (s->found < s->max)
			take(s, unit, &body->die);
	return known;
}

size_t
symfile_inlines(struct symfile *sf, uint64_t vaddr,
		struct symfile_inlined *out, size_t max)
{
	struct search s = { .sf = sf, .vaddr = vaddr, .out = out, .max = max };

	(void)lines_units_at(sf, vaddr, find_inlines, &s);
	return s.found;
}

/* Compilers list the part that is entered first. */
static bool
entry_of(Dwarf_Die *die, uint64_t *entry)
{
	Dwarf_Addr base, end;

	return dwarf_entrypc(die, entry) == 0 ||
	       dwarf_ranges(die, 0, &base, entry, &end) > 0;
}

/* The function there, whatever was inlined into it, or NULL. */
static struct body *
function_at(struct search *s, struct unit *unit)
{
	struct bodies *b = bodies_of(s->sf, unit);
	struct body *body = body_at(b, s->vaddr);

	while (body && body->inlined)
		body = around(b, body);
	return body;
}

static bool
find_entry(void *arg, struct unit *unit)
{
	struct search *s = arg;
	struct body *body = function_at(s, unit);

	return body && entry_of(&body->die, &s->entry);
}

bool
symfile_entry(struct symfile *sf, uint64_t vaddr, uint64_t *entry)
{
	struct search s = { .sf = sf, .vaddr = vaddr };

	if (!lines_units_at(sf, vaddr, find_entry, &s))
		return false;
	*entry = s.entry;
	return true;
}

static bool
find_declared(void *arg, struct unit *unit)
{
	struct search *s = arg;
	struct body *body = function_at(s, unit);

	if (!body)
		return false;
	s->file = file_of(s, unit, &body->die, DW_AT_decl_file);
	s->line = (int)number_of(&body->die, DW_AT_decl_line);
	return s->file != NULL;
}

bool
symfile_declared(struct symfile *sf, uint64_t vaddr, const char **file,
		 int *line)
{
	struct search s = { .sf = sf, .vaddr = vaddr };

	if (!lines_units_at(sf, vaddr, find_declared, &s))
		return symfile_line(sf, vaddr, file, line);
	*file = s.file;
	*line = s.line;
	return true;
}
