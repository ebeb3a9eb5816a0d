/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names with the file or the object before them, which tell functions of one
 * name apart: a.c:helper, and in the words of whereis `a.c`helper,
 * `libz.so.1`helper, `libz.so.1`a.c`helper.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>

/* The colon that is not one of two, outside of what is in brackets. */
static const char *
lone_colon(const char *written)
{
	int depth = 0;

	for (const char *at = written; *at; at++) {
		if (strchr("(<[", *at))
			depth++;
		else if (strchr(")>]", *at))
			depth--;
		else if (*at == ':' && at[1] == ':')
			at++;
		else if (*at == ':' && depth == 0 && at > written)
			return at;
	}
	return NULL;
}

const char *
symfile_written_name(const char *written)
{
	const char *end = *written == '`' ? strrchr(written, '`') :
		lone_colon(written);

	return end && end[1] && end > written ? end + 1 : written;
}

static bool
is_of_file(struct symfile *sf, uint64_t vaddr, const char *file, size_t n)
{
	enum { DEEP = 16 };
	struct symfile_inlined in[DEEP];
	const size_t unit = symfile_unit_at(sf, vaddr);
	const char *declared;
	size_t depth;
	int line;

	if ((unit && str_path_ends(symfile_unit_file(sf, unit), file, n)) ||
	    (symfile_declared(sf, vaddr, &declared, &line) && declared &&
	     str_path_ends(declared, file, n)))
		return true;
	depth = symfile_inlines(sf, vaddr, in, DEEP);
	for (size_t i = 0; i < depth; i++)
		if (in[i].file && str_path_ends(in[i].file, file, n))
			return true;
	return false;
}

bool
symfile_written_here(struct symfile *sf, uint64_t vaddr, const char *written)
{
	const char *name = symfile_written_name(written);
	const char *at = written, *end;

	if (name == written)
		return true;
	if (*at != '`')
		return is_of_file(sf, vaddr, at, (size_t)(name - at) - 1);
	for (at++; at < name; at = end + 1) {
		end = strchr(at, '`');

		const size_t n = (size_t)(end - at);

		if (!str_path_ends(symfile_shown(sf), at, n) &&
		    !is_of_file(sf, vaddr, at, n))
			return false;
	}
	return true;
}
