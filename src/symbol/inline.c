/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions the compiler has put into another at an address, whose part
 * a piece of code is, and where functions are written: by the bodies that debug
 * information knows.
 */
#include "symfile.h"

#include <dwarf.h>
#include <string.h>

const char *
body_name(Dwarf_Die *die)
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

const char *
symbol_file(void *die, unsigned name)
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
	return dwarf_filesrc(files, file, NULL, NULL);
}

static const char *
file_of(struct search *s, struct unit *unit, Dwarf_Die *die, unsigned name)
{
	const char *path = symbol_file(die, name);

	return path ? lines_absolute(s->sf, unit, path) : NULL;
}

static void
take(struct search *s, struct unit *unit, Dwarf_Die *die)
{
	s->out[s->found++] = (struct symfile_inlined){
		.name = body_name(die),
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

	for (; body && body->inlined; body = body_around(b, body))
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
bool
body_entry(Dwarf_Die *die, uint64_t *entry)
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
		body = body_around(b, body);
	return body;
}

static bool
find_entry(void *arg, struct unit *unit)
{
	struct search *s = arg;
	struct body *body = function_at(s, unit);

	return body && body_entry(&body->die, &s->entry);
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

/* ---- whose a line is ------------------------------------------------ */

struct enclosing {
	struct search s;
	const char *file;
	int line, best;
	const char *name;
};

static bool
find_enclosing(void *arg, struct unit *unit)
{
	struct enclosing *e = arg;
	struct bodies *b = bodies_of(e->s.sf, unit);

	for (size_t i = 0; i < b->len; i++) {
		Dwarf_Die *die = &b->items[i].die;
		const int line = (int)number_of(die, DW_AT_decl_line);
		const char *name = body_name(die);

		if (b->items[i].inlined || line <= e->best ||
		    line > e->line || name[0] == '.' || name[0] == '<')
			continue;

		const char *file = file_of(&e->s, unit, die, DW_AT_decl_file);

		if (file && strcmp(file, e->file) == 0) {
			e->best = line;
			e->name = name;
		}
	}
	return e->name != NULL;
}

const char *
lines_enclosing(struct symfile *sf, uint64_t vaddr, const char *file, int line)
{
	struct enclosing e = { .s.sf = sf, .file = file, .line = line };

	(void)lines_units_at(sf, vaddr, find_enclosing, &e);
	return e.name;
}
