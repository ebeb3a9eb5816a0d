/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What debug information tells of one source file, and what its parts cost.
 */
#ifndef VIEW_PAGE_H
#define VIEW_PAGE_H

#include "private.h"

struct entry {			/* a function that begins in the file */
	int line;
	uint64_t start;
	const struct profile_object *object;
	char *name;
};

struct inlined {		/* a function, into a line of the file */
	int line;
	const char *name;	/* linkage */
};

enum { LINE_LAST = 1 << 24 };	/* larger numbers are damage */

struct page {
	struct viewer *v;
	const struct subject *subject;
	const struct source_cost *costs;
	size_t costs_len;
	struct map functions;	/* start in that object -> profile's + 1 */
	struct map declared;	/* start in that object -> line */
	struct map units;	/* hash of object and unit, seen */
	const struct profile_object *object;	/* that is walked */
	struct entry *entries;
	size_t entries_len, entries_cap;
	bool *has_code;		/* by line */
	size_t lines, lines_cap;
	const struct cost **at;	/* by line */
	const struct source_cost **parts;	/* from elsewhere */
	size_t parts_len, part;
	struct inlined *inlined;	/* into lines */
	size_t inlined_len, inlined_cap, inline_at;
};

/* Which lines have code, which functions begin where, what was inlined: by
 * the units that have code of the file. v and subject are set. */
void page_collect(struct page *p);
void page_fini(struct page *p);
/* There are lines up to this one. */
void page_grow(struct page *p, int line);
/* functions: a function by where it begins. */
uint64_t page_key(const struct profile_object *obj, uint64_t start);

#endif
