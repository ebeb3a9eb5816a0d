/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Outlined parts of functions. The compiler moves code that is seldom run out
 * of `f`, into `f.cold`, which is jumped to and returns to f's caller: on the
 * stack f is not to be seen. Here it is put between, as the caller of its part,
 * so that what the part costs is inclusive cost of f.
 *
 * Whose part it is the name tells, where only one function has it; else the
 * debug information does.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The length of `f` in `f.cold` and `f.cold.1`; 0: it is no such name. */
static size_t
whole_len(const char *linkage)
{
	static const char mark[] = ".cold";
	const char *at = NULL;

	for (const char *p = linkage; (p = strstr(p, mark)); p++)
		at = p;
	if (!at)
		return 0;

	const char *tail = at + sizeof mark - 1;

	if (*tail == '.')
		for (tail++; isdigit((unsigned char)*tail);)
			tail++;
	return *tail ? 0 : (size_t)(at - linkage);
}

static bool
has_name(struct symfile *sf, uint64_t start, const char *name, size_t len)
{
	const char *const *at = symfile_aliases(sf, start);

	for (; *at; at++)
		if (strlen(*at) == len && !memcmp(*at, name, len))
			return true;
	return false;
}

struct candidates {
	const char *name;
	size_t len, count;
	uint64_t start;
};

static bool
visit(void *arg, const struct symbol *sym)
{
	struct candidates *c = arg;

	if (strncmp(sym->name, c->name, c->len) || sym->name[c->len])
		return true;
	c->start = sym->start;
	return ++c->count < 2;
}

static bool
find_whole(struct symfile *sf, uint64_t vaddr, const char *linkage,
	   struct symbol *whole)
{
	struct candidates c = { .name = linkage, .len = whole_len(linkage) };
	uint64_t start;

	if (c.len == 0)
		return false;
	symfile_each(sf, visit, &c);
	if (c.count == 1)
		return symfile_find(sf, c.start, whole);
	/* of several of that name DWARF knows which; reading it takes time */
	return symfile_entry(sf, vaddr, &start) &&
		has_name(sf, start, linkage, c.len) &&
		symfile_find(sf, start, whole);
}

/* Where that function stands as the caller of its part. */
static uint32_t
whole_location(struct profile *prof, uint32_t object, const struct symbol *sym)
{
	const uint32_t fn = symbolize_symbol(prof, object, sym);

	return symbolize_add(prof, (struct location){
		.object = object, .function = fn, .vaddr = sym->start });
}

void
parts_add(struct profile *prof, uint32_t location, struct frames *out)
{
	const struct location loc = prof->locations[location];
	struct object *obj = object_at(prof, loc.object);
	const struct profile_function *fn = &prof->functions[loc.function].pub;
	struct symbol whole;

	if (!obj->pub.symbols || loc.is_plt || !whole_len(fn->linkage))
		return;

	uint64_t *slot = map_slot_of(&obj->wholes, fn->start + 1);

	if (!*slot)
		*slot = find_whole(obj->pub.symbols, fn->start, fn->linkage,
				   &whole) ?
			1 + whole_location(prof, loc.object, &whole) :
			1 + LOCATION_NONE;
	if (*slot - 1 != LOCATION_NONE)
		frames_push(out, (uint32_t)*slot - 1);
}
