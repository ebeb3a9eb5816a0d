/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions the compiler has put into another at an address, by libdw.
 * dwarf_getscopes finds the innermost scope; those around it, as they lie in
 * the code and not in the source, are its own parents.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>

struct search {
	struct symfile *sf;
	uint64_t vaddr;
	struct symfile_inlined *out;
	size_t max, found;
};

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

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return value;
}

static void
take(struct search *s, Dwarf_Die *unit, Dwarf_Die *die)
{
	struct symfile_inlined *in = &s->out[s->found++];
	Dwarf_Files *files;
	size_t count;
	const Dwarf_Word file = number_of(die, DW_AT_call_file);
	const char *name = NULL;

	*in = (struct symfile_inlined){ .name = function_name(die) };
	if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		name = dwarf_filesrc(files, file, NULL, NULL);
	in->call_file = name ? lines_absolute(s->sf, unit, name) : NULL;
	in->call_line = (int)number_of(die, DW_AT_call_line);
}

static bool
search_unit(void *arg, Dwarf_Die *unit)
{
	struct search *s = arg;
	Dwarf_Die *innermost = NULL, *around = NULL;
	const int n = dwarf_getscopes(unit, s->vaddr, &innermost);
	const int m = n > 0 ? dwarf_getscopes_die(&innermost[0], &around) : 0;
	bool known = false;

	for (int i = 0; i < m && !known; i++) {
		const int tag = dwarf_tag(&around[i]);

		if (tag == DW_TAG_inlined_subroutine && s->found < s->max)
			take(s, unit, &around[i]);
		known = tag == DW_TAG_subprogram;
	}
	free(innermost);
	free(around);
	return known;
}

size_t
symfile_inlines(struct symfile *sf, uint64_t vaddr,
		struct symfile_inlined *out, size_t max)
{
	struct search s = { sf, vaddr, out, max, 0 };

	(void)lines_units_at(sf, vaddr, search_unit, &s);
	return s.found;
}
