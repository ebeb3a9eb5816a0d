/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files of a load object for those who read types and variables: they are
 * opened and judged once, here.
 */
#include "symfile.h"

#include <string.h>

struct Elf *
symfile_elf(struct symfile *sf)
{
	return sf->fault ? NULL : sf->main.elf;
}

struct Dwarf *
symfile_dwarf(struct symfile *sf)
{
	return sf->fault ? NULL : lines_dwarf(sf);
}

struct Dwarf *
symfile_unit_dwarf(struct symfile *sf, size_t number, uint64_t *offset)
{
	struct unit *unit = lines_unit(sf, number);

	if (!unit)
		return NULL;

	Dwarf_Die *die = unit_whole(sf, unit);

	*offset = dwarf_dieoffset(die);
	return dwarf_cu_getdwarf(die->cu);
}

bool
symfile_data_named(struct symfile *sf, const char *name, struct symbol *out)
{
	struct symbol any;

	(void)symfile_data(sf, 0, &any);	/* now they are gathered */
	for (size_t i = 0; i < sf->data.len; i++) {
		const struct raw *raw = &sf->data.items[i];

		if (strcmp(raw->name, name) != 0)
			continue;
		*out = (struct symbol){ .name = raw->name, .start = raw->addr,
					.size = raw->size };
		return true;
	}
	return false;
}
