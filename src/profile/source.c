/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums for one source file and for one function's instructions. They are the
 * sums of aggregate.c with keys for what is looked at alone: everything else
 * shares one key, whose sum nobody asks for.
 *
 * A line's cost is that of all code made of it, in whatever functions. What a
 * function has from elsewhere (a header, code without lines) is one sum for
 * each such place, if the function begins in the file.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_OTHER };

struct keys {
	struct profile *prof;
	const char *file;
	struct map same;	/* name's address -> 1 same file, 2 another */
	struct map at_home;	/* function -> 1 begins in the file, 2 not */
	struct map known;	/* hash -> key */
	struct source_cost *costs;	/* by key; [KEY_OTHER] is nothing */
	size_t len, cap;
};

/* Names of files are few, and locations many. */
static bool
is_file(struct keys *k, const char *file)
{
	if (!file)
		return false;

	uint64_t *slot = map_slot_of(&k->same, (uintptr_t)file);

	if (!*slot)
		*slot = strcmp(file, k->file) ? 2 : 1;
	return *slot == 1;
}

static bool
begins_there(struct keys *k, uint32_t function)
{
	uint64_t *slot = map_slot_of(&k->at_home, function);
	const struct profile_function *fn = &k->prof->functions[function].pub;
	const char *file = NULL;
	int line;

	if (*slot)
		return *slot == 1;
	*slot = fn->object->symbols && fn->start &&
		symfile_declared(fn->object->symbols, fn->start, &file,
				 &line) &&
		is_file(k, file) ? 1 : 2;
	return *slot == 1;
}

static bool
same_place(const struct source_cost *a, const struct source_cost *b)
{
	return a->line == b->line && a->function == b->function &&
	       (a->file == b->file ||
		(a->file && b->file && !strcmp(a->file, b->file)));
}

static uint32_t
key_of(struct keys *k, const struct source_cost *place)
{
	const char *file = place->file ? place->file : "";
	uint64_t hash = hash_bytes(file, strlen(file),
				   (uint64_t)place->function << 32 |
				   (uint32_t)place->line);
	uint64_t at;

	/* another place with this hash takes the next key */
	for (; map_get(&k->known, hash, &at); hash++)
		if (same_place(&k->costs[at], place))
			return (uint32_t)at;
	k->costs = xgrow(k->costs, &k->cap, k->len + 1, sizeof *k->costs);
	k->costs[k->len] = *place;
	map_put(&k->known, hash, k->len);
	return (uint32_t)k->len++;
}

/* The line of the file that calls what was inlined there; 0: it is not known,
 * or nothing was. */
static int
call_line(struct keys *k, const struct location *loc)
{
	enum { DEPTH_MAX = 32 };
	struct symfile_inlined in[DEPTH_MAX];
	const struct object *obj = object_at(k->prof, loc->object);
	size_t n = symfile_inlines(obj->pub.symbols, loc->vaddr, in,
				   DEPTH_MAX);

	while (n > 0 && !is_file(k, in[n - 1].call_file))
		n--;
	return n ? in[n - 1].call_line : 0;
}

static uint32_t
source_key(struct keys *k, struct location *loc)
{
	symbolize_line(k->prof, loc);
	if (is_file(k, loc->file))
		return key_of(k, &(struct source_cost){
			.file = k->file, .line = loc->line });
	if (loc->is_plt || loc->function < FUNCTION_FIRST || !loc->vaddr ||
	    !begins_there(k, loc->function))
		return KEY_OTHER;
	return key_of(k, &(struct source_cost){
		.function = loc->function, .file = loc->file,
		.line = call_line(k, loc) });
}

/* ---- answers: each replaces the one before -------------------------- */

void
listing_free(struct listing *l)
{
	free(l->sums.excl);
	free(l->sums.incl);
	free(l->sums.present);
	free(l->costs);
	free(l->codes);
	*l = (struct listing){0};
}

size_t
profile_source(struct profile *prof, const char *file,
	       const struct source_cost **out)
{
	struct keys k = { .prof = prof, .file = file };
	struct listing *l = &prof->listing;
	size_t n = 0;

	symbolize_all(prof);
	listing_free(l);

	uint32_t *keys = xcalloc(prof->locations_len + 1, sizeof *keys);

	(void)key_of(&k, &(struct source_cost){ .line = -1 });
	for (size_t i = 0; i < prof->locations_len; i++)
		keys[i] = source_key(&k, &prof->locations[i]);
	sum_by(prof, keys, k.len, &l->sums);
	for (size_t i = KEY_OTHER + 1; i < k.len; i++) {
		if (!l->sums.present[i])
			continue;
		k.costs[n] = k.costs[i];
		k.costs[n++].cost = cost_of(prof, &l->sums, i);
	}
	map_fini(&k.same);
	map_fini(&k.at_home);
	map_fini(&k.known);
	free(keys);
	*out = l->costs = k.costs;
	return n;
}

static int
by_vaddr(const void *a, const void *b)
{
	const struct code_cost *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Is it one of the function's instructions? */
static bool
is_inside(const struct profile *prof, const struct location *loc,
	  const struct function *fn)
{
	if (loc->object != fn->object || loc->is_plt)
		return false;
	if (!fn->pub.start)		/* code without a file */
		return &prof->functions[loc->function] == fn;
	return loc->vaddr >= fn->pub.start &&
	       loc->vaddr - fn->pub.start < fn->pub.size;
}

size_t
profile_code(struct profile *prof, uint32_t function,
	     const struct code_cost **out)
{
	struct listing *l = &prof->listing;
	struct map at = {0};
	size_t n = 0, cap = 0;

	symbolize_all(prof);
	listing_free(l);

	uint32_t *keys = xcalloc(prof->locations_len + 1, sizeof *keys);

	for (size_t i = 0; i < prof->locations_len; i++) {
		const struct location *loc = &prof->locations[i];

		if (!is_inside(prof, loc, &prof->functions[function]))
			continue;

		const uint64_t vaddr = loc->vaddr ? loc->vaddr : loc->offset;
		uint64_t *slot = map_slot_of(&at, vaddr);

		if (!*slot) {
			l->codes = xgrow(l->codes, &cap, n + 1,
					 sizeof *l->codes);
			l->codes[n] = (struct code_cost){ .vaddr = vaddr };
			*slot = ++n;
		}
		keys[i] = (uint32_t)*slot;
	}
	sum_by(prof, keys, n + 1, &l->sums);
	for (size_t i = 0; i < n; i++)
		l->codes[i].cost = cost_of(prof, &l->sums, i + 1);
	if (n)
		qsort(l->codes, n, sizeof *l->codes, by_vaddr);
	map_fini(&at);
	free(keys);
	*out = l->codes;
	return n;
}
