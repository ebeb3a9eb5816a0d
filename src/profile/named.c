/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that no stack has, by name. Only load objects are asked that have
 * cost: what else was mapped has no symbols read yet.
 */
#include "private.h"

enum { NAMED_MAX = 64 };	/* of one object */

static size_t
add_named(struct profile *prof, uint32_t object, const char *name)
{
	struct symfile *sf = object_at(prof, object)->pub.symbols;
	const size_t before = prof->functions_len;
	struct symbol sym;

	for (unsigned n = 0; sf && n < NAMED_MAX &&
	     symfile_named(sf, name, n, &sym); n++)
		if (!sym.is_plt)
			(void)symbolize_symbol(prof, object, &sym);
	return prof->functions_len - before;
}

size_t
profile_named(struct profile *prof, const char *name)
{
	size_t added = 0;

	symbolize_all(prof);
	for (uint32_t i = OBJECT_FIRST; i < prof->objects.len; i++)
		added += add_named(prof, i, name);
	return added;
}
