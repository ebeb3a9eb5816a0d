/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compilation units by number: what a listing of a whole source file needs,
 * whether or not its code was ever seen to run.
 */
#include "symfile.h"

#include <dwarf.h>

struct number {
	struct symfile *sf;
	size_t unit;
};

static bool
take_number(void *arg, struct unit *unit)
{
	struct number *n = arg;

	n->unit = lines_unit_number(n->sf, unit);
	return true;
}

size_t
symfile_units(struct symfile *sf)
{
	return lines_unit_count(sf);
}

size_t
symfile_unit_at(struct symfile *sf, uint64_t vaddr)
{
	struct number n = { sf, 0 };

	(void)lines_units_at(sf, vaddr, take_number, &n);
	return n.unit;
}

static const char *
text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

const char *
symfile_unit_file(struct symfile *sf, size_t unit)
{
	struct unit *u = lines_unit(sf, unit);
	const char *name = u ? text_of(unit_whole(sf, u), DW_AT_name) : NULL;

	return name ? lines_absolute(sf, u, name) : NULL;
}

const char *
symfile_unit_producer(struct symfile *sf, size_t unit)
{
	struct unit *u = lines_unit(sf, unit);

	return u ? text_of(unit_whole(sf, u), DW_AT_producer) : NULL;
}

static bool
read_row(struct symfile *sf, struct unit *unit, Dwarf_Lines *table, size_t i,
	 struct symfile_row *row)
{
	Dwarf_Line *at = dwarf_onesrcline(table, i);
	Dwarf_Addr vaddr;
	bool ends;

	*row = (struct symfile_row){0};
	if (!at || dwarf_lineaddr(at, &vaddr) != 0 ||
	    dwarf_lineendsequence(at, &ends) != 0 || ends)
		return false;

	const char *file = dwarf_linesrc(at, NULL, NULL);

	row->vaddr = vaddr;
	if (file && dwarf_lineno(at, &row->line) == 0 && row->line > 0)
		row->file = lines_absolute(sf, unit, file);
	else
		row->line = 0;
	return true;
}

void
symfile_unit_rows(struct symfile *sf, size_t unit,
		  bool (*visit)(void *arg, const struct symfile_row *row),
		  void *arg)
{
	struct unit *u = lines_unit(sf, unit);
	Dwarf_Lines *table;
	size_t n;

	if (!u || dwarf_getsrclines(&u->die, &table, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		struct symfile_row row;

		if (read_row(sf, u, table, i, &row) && !visit(arg, &row))
			return;
	}
}

struct function_visit {
	struct symfile *sf;
	struct unit *unit;
	void (*visit)(void *arg, uint64_t start, const char *file, int line);
	void *arg;
};

static void
pass_function(Dwarf_Die *die, void *arg)
{
	const struct function_visit *v = arg;
	const char *file = symbol_file(die, DW_AT_decl_file);
	Dwarf_Addr start;
	int line;

	if (file && dwarf_decl_line(die, &line) == 0 &&
	    dwarf_lowpc(die, &start) == 0)
		v->visit(v->arg, start, lines_absolute(v->sf, v->unit, file),
			 line);
}

void
symfile_unit_functions(struct symfile *sf, size_t unit,
		       void (*visit)(void *arg, uint64_t start,
				     const char *file, int line),
		       void *arg)
{
	struct unit *u = lines_unit(sf, unit);
	struct function_visit v = { sf, u, visit, arg };

	if (u)
		functions_walk(unit_whole(sf, u), pass_function, &v);
}
