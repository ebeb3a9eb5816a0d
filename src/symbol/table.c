/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of a load object, made once, on first use.
 *
 *   symbols -> groups of one address -> functions with extents -> pieces.c
 *
 * Of the names at one address global ones come first, and of these the last
 * in bytewise order is shown. A function without a size ends where the next
 * begins, at the latest with its section or its unwind entry. A label inside
 * a function is not a function.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>

static int
by_address(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(y->name, x->name);
}

/* Everything the making of functions needs to look at. */
struct build {
	struct functions *fns;
	const struct symfile *sf;
	struct raws raws;
	struct range *fdes;
	size_t fde_len;
	size_t name_len;
	size_t strong;		/* see next_start */
};

/* How many unwind entries start at or before vaddr. */
static size_t
fdes_upto(const struct build *b, uint64_t vaddr)
{
	size_t low = 0, high = b->fde_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (b->fdes[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t
group_end(const struct raws *raws, size_t at)
{
	size_t end = at + 1;

	while (end < raws->len &&
	       raws->items[end].addr == raws->items[at].addr)
		end++;
	return end;
}

/*
 * Where the next symbol that can begin a function is, from the index at on.
 * The place is kept, so that a table full of labels is walked once.
 */
static uint64_t
next_start(struct build *b, size_t at)
{
	const struct raws *raws = &b->raws;

	if (b->strong < at)
		b->strong = at;
	while (b->strong < raws->len &&
	       raws->items[b->strong].rank == RANK_LOCAL_LABEL)
		b->strong = group_end(raws, b->strong);
	return b->strong < raws->len ? raws->items[b->strong].addr : UINT64_MAX;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The end of a function whose symbol does not tell its size. */
static uint64_t
guess_end(struct build *b, uint64_t addr, size_t behind)
{
	const struct section *sec = symfile_section(b->sf, addr);
	const size_t n = fdes_upto(b, addr);
	uint64_t end = smaller(sec->at.end, next_start(b, behind));

	if (n < b->fde_len)
		end = smaller(end, b->fdes[n].start);
	if (n > 0 && b->fdes[n - 1].end > addr)
		end = smaller(end, b->fdes[n - 1].end);
	return end;
}

/* The largest size the symbols of the group tell; 0: none does. */
static uint64_t
told_size(const struct raw *group, size_t n)
{
	uint64_t size = 0;

	for (size_t i = 0; i < n && group[i].rank <= RANK_LOCAL; i++)
		if (group[i].size > size)
			size = group[i].size;
	return size;
}

struct function *
function_add(struct functions *fns, uint64_t start, uint64_t end)
{
	fns->items = xgrow(fns->items, &fns->cap, fns->len + 1,
			   sizeof *fns->items);
	fns->items[fns->len] = (struct function){
		.start = start, .size = end - start,
	};
	return &fns->items[fns->len++];
}

/* Labels are names of a function only where nothing else names it. */
static const char **
add_names(struct build *b, const struct raw *group, size_t n)
{
	const char **names = b->fns->names + b->name_len;
	const bool labels = group[0].rank >= RANK_LABEL;

	for (size_t i = 0; i < n; i++) {
		if (!labels && group[i].rank >= RANK_LABEL)
			break;
		if (i > 0 && strcmp(group[i].name, group[i - 1].name) == 0)
			continue;
		b->fns->names[b->name_len++] = group[i].name;
	}
	b->fns->names[b->name_len++] = NULL;
	return names;
}

/*
 * One function for each address that deserves it. sized: how far functions
 * with a size reach; covered: how far any function reaches.
 */
static void
make_functions(struct build *b)
{
	uint64_t sized = 0, covered = 0;

	/* as many names as symbols, and an end for each function */
	b->fns->names = xcalloc(2 * b->raws.len + 1, sizeof *b->fns->names);
	for (size_t at = 0, behind; at < b->raws.len; at = behind) {
		const struct raw *group = &b->raws.items[at];

		behind = group_end(&b->raws, at);
		if ((group->rank == RANK_LABEL && group->addr < sized) ||
		    (group->rank == RANK_LOCAL_LABEL && group->addr < covered))
			continue;

		const uint64_t size = told_size(group, behind - at);
		const uint64_t end = size > 0 ? group->addr + size :
			guess_end(b, group->addr, behind);

		function_add(b->fns, group->addr, end)->names =
			add_names(b, group, behind - at);
		if (size > 0 && end > sized)
			sized = end;
		if (end > covered)
			covered = end;
	}
}

static int
by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Stubs of the procedure linkage table: one function per section. */
static void
add_stubs(struct build *b)
{
	static const char *stub_names[] = { "@plt", NULL };

	for (size_t i = 0; i < b->sf->section_len; i++) {
		const struct section *sec = &b->sf->sections[i];

		if (!sec->is_plt)
			continue;

		struct function *fn = function_add(b->fns, sec->at.start,
						   sec->at.end);

		fn->names = stub_names;
		fn->is_plt = true;
	}
}

void
functions_load(struct symfile *sf)
{
	struct build b = { .fns = &sf->functions, .sf = sf };

	if (sf->functions.loaded)
		return;
	sf->functions.loaded = true;
	if (!sf->main.elf)
		return;
	raws_collect(sf, &b.raws);
	if (b.raws.len > 0)
		qsort(b.raws.items, b.raws.len, sizeof *b.raws.items,
		      by_address);
	b.fdes = fde_list(sf, &b.fde_len);
	make_functions(&b);
	add_stubs(&b);
	if (b.fns->len > 0)
		qsort(b.fns->items, b.fns->len, sizeof *b.fns->items,
		      by_start);

	pieces_make(b.fns, b.fdes, b.fde_len);
	go_note_names(sf);
	/* a process has hundreds of libraries, and most have no lines */
	if (sf->debug_sought && !image_has_lines(sf->main.elf))
		image_release(&sf->main);
	free(b.raws.items);
	free(b.fdes);
}

void
functions_fini(struct functions *fns)
{
	vec_free_items(&fns->made);
	vec_fini(&fns->made);
	free(fns->names);
	free(fns->pieces);
	free(fns->items);
	*fns = (struct functions){0};
}
