/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Go joins package and function by a dot: its main.hot is no copy of main that
 * a compiler has made. What is C in the same program (cgo) still has copies:
 * of functions that are there.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>

/* No linker leaves all of them out; the runtime needs the first. */
static bool
is_go(const struct symfile *sf)
{
	static const char *const names[] = {
		".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo",
	};
	Elf_Scn *scn;
	GElf_Shdr shdr;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (image_section(sf->main.elf, names[i], &scn, &shdr))
			return true;
	return false;
}

static bool
is_there(const struct functions *fns, const char *name)
{
	for (size_t i = 0; i < fns->len; i++)
		for (const char **at = fns->items[i].names; at && *at; at++)
			if (strcmp(*at, name) == 0)
				return true;
	return false;
}

/* The package main is no function, whatever else has its name. */
static bool
is_copy(const struct functions *fns, const char *name)
{
	char *of = xstrndup(name, strcspn(name, "."));
	const bool is = strcmp(of, "main") != 0 && is_there(fns, of);

	free(of);
	return is;
}

void
go_note_names(struct symfile *sf)
{
	const struct functions *fns = &sf->functions;

	if (!is_go(sf))
		return;
	for (size_t i = 0; i < fns->len; i++)
		for (const char **at = fns->items[i].names; at && *at; at++)
			if (name_is_copy(*at) && !is_copy(fns, *at))
				name_note_dots(*at);
}
