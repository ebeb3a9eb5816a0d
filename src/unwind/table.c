/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is mapped where, and the row of a pc. The ranges are sorted and
 * disjoint at all times; each knows its own bias, since one file may be
 * mapped at several (V8 maps its text twice).
 *
 * A program returns to few addresses, over and over: a direct-mapped cache
 * from pc to row makes the search a rare event. A change of the map only
 * marks it stale; the next walk empties it.
 */
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "base.h"
#include "full.h"
#include "space.h"

enum { CALL_BYTES = 16 };	/* no instruction is longer than 15 */

struct unwind_space *
unwind_space_new(void)
{
	struct unwind_space *space = xcalloc(1, sizeof *space);

	space->cache = xcalloc(1u << CACHE_BITS, sizeof *space->cache);
	return space;
}

void
unwind_space_free(struct unwind_space *space)
{
	if (!space)
		return;
	full_free(space->full);
	for (size_t i = 0; i < space->count; i++)
		unwind_object_free(space->objects[i]);
	free(space->objects);
	free(space->ranges);
	free(space->cache);
	free(space);
}

static void
tell_tables(struct unwind_space *space)
{
	space->stale = true;
	space->tables = (struct step_tables){
		.ranges = space->ranges, .count = (uint32_t)space->count,
	};
}

static void
map_changed(struct unwind_space *space)
{
	space->changes++;
	tell_tables(space);
}

uint64_t
unwind_space_changes(const struct unwind_space *space)
{
	return space->changes;
}

void
space_refresh(struct unwind_space *space)
{
	if (!space->stale)
		return;
	memset(space->cache, 0, sizeof *space->cache << CACHE_BITS);
	full_flush(space->full);
	space->stale = false;
}

/* The first range that ends beyond addr. */
static size_t
first_after(const struct unwind_space *space, uint64_t addr)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (space->ranges[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

long
space_index(const struct unwind_space *space, uint64_t addr)
{
	const size_t i = first_after(space, addr);

	if (i == space->count || addr < space->ranges[i].start)
		return -1;
	return (long)i;
}

/* Make room for one range at index i; takes the reference to obj. */
static void
insert(struct unwind_space *space, size_t i, struct step_range range,
       struct unwind_object *obj)
{
	const size_t after = space->count - i;

	space->ranges = xgrow(space->ranges, &space->range_cap,
			      space->count + 1, sizeof *space->ranges);
	space->objects = xgrow(space->objects, &space->object_cap,
			       space->count + 1, sizeof *space->objects);
	memmove(space->ranges + i + 1, space->ranges + i,
		after * sizeof *space->ranges);
	memmove(space->objects + i + 1, space->objects + i,
		after * sizeof *space->objects);
	space->ranges[i] = range;
	space->objects[i] = obj;
	space->count++;
}

static void
drop(struct unwind_space *space, size_t from, size_t to)
{
	const size_t after = space->count - to;

	for (size_t i = from; i < to; i++)
		unwind_object_free(space->objects[i]);
	memmove(space->ranges + from, space->ranges + to,
		after * sizeof *space->ranges);
	memmove(space->objects + from, space->objects + to,
		after * sizeof *space->objects);
	space->count -= to - from;
}

/* Take [start, end) out; the index where it would be put back. */
static size_t
cut(struct unwind_space *space, uint64_t start, uint64_t end)
{
	size_t from = first_after(space, start), to;

	if (from < space->count && space->ranges[from].start < start) {
		struct step_range tail = space->ranges[from];

		space->ranges[from].end = start;
		if (tail.end > end) {
			tail.start = end;
			insert(space, from + 1, tail,
			       object_hold(space->objects[from]));
			return from + 1;
		}
		from++;
	}
	for (to = from; to < space->count && space->ranges[to].end <= end; )
		to++;
	if (to < space->count && space->ranges[to].start < end)
		space->ranges[to].start = end;
	if (to > from)
		drop(space, from, to);
	return from;
}

void
unwind_space_map(struct unwind_space *space, uint64_t start, uint64_t end,
		 uint64_t offset, struct unwind_object *obj)
{
	struct step_range range = { .start = start, .end = end };

	if (start >= end)
		return;
	if (obj)
		range.base = obj->image.base +
			     elf_image_bias(&obj->image, start, offset);
	insert(space, cut(space, start, end), range, object_hold(obj));
	map_changed(space);
}

void
unwind_space_unmap(struct unwind_space *space, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	(void)cut(space, start, end);
	map_changed(space);
}

/* Let range i point at the rows of its object, compiled now if need be. */
static void
attach_rows(struct unwind_space *space, size_t i)
{
	struct step_range *range = &space->ranges[i];

	if (space->objects[i] && !range->rows)
		range->rows = (uintptr_t)unwind_object_rows(space->objects[i],
							    &range->count);
}

const struct step_tables *
unwind_space_tables(struct unwind_space *space)
{
	for (size_t i = 0; i < space->count; i++)
		attach_rows(space, i);
	tell_tables(space);
	return &space->tables;
}

static uint64_t
object_address(const struct unwind_space *space, size_t i, uint64_t addr)
{
	return addr - space->ranges[i].base + space->objects[i]->image.base;
}

size_t
space_read(const struct unwind_space *space, uint64_t addr, void *buf,
	   size_t n)
{
	const long i = space_index(space, addr);

	if (i < 0 || !space->objects[i])
		return 0;
	return elf_image_read(&space->objects[i]->image,
			  object_address(space, (size_t)i, addr), buf, n);
}

const struct frame_fde *
space_fde(struct unwind_space *space, uint64_t pc,
	  const struct frames **frames, uint64_t *bias)
{
	const long i = space_index(space, pc);

	if (i < 0 || !space->objects[i])
		return NULL;
	*frames = object_frames(space->objects[i]);
	*bias = space->ranges[i].base - space->objects[i]->image.base;
	return elf_frames_find(*frames, pc - *bias);
}

static unsigned
call_length(const struct unwind_space *space, size_t i, uint64_t ret)
{
	const struct unwind_object *obj = space->objects[i];
	const uint64_t vaddr = object_address(space, i, ret);
	unsigned char code[CALL_BYTES];
	size_t n = CALL_BYTES;

	if (ret - space->ranges[i].start < n)
		n = ret - space->ranges[i].start;
	if (elf_image_read(&obj->image, vaddr - n, code, n) != n)
		return 0;
	return (unsigned)arch.call_length(code, n);
}

/* No unwind data for an instruction: what does it do? */
static struct step_row
row_of_code(const struct unwind_space *space, size_t i, uint64_t pc)
{
	unsigned char code[GUESS_BYTES] = { 0 };
	size_t n = space->ranges[i].end - pc;

	if (n > sizeof code - GUESS_BEFORE)
		n = sizeof code - GUESS_BEFORE;
	for (uint64_t k = 1; k <= GUESS_BEFORE; k++)
		(void)space_read(space, pc - k, code + GUESS_BEFORE - k, 1);
	n = space_read(space, pc, code + GUESS_BEFORE, n);
	return guess_row(code, GUESS_BEFORE + n);
}

void
space_fill(struct unwind_space *space, struct cached_row *entry, uint64_t pc,
	   bool exact)
{
	const uint64_t at = pc - !exact;
	const long i = space_index(space, at);

	entry->key = pc << 1 | exact;
	entry->row = (struct step_row){ .kind = STEP_NONE };
	if (i < 0 || !space->objects[i])
		return;
	attach_rows(space, (size_t)i);
	entry->row = exact ?
		step_row_find(&space->tables, &space->ranges[i], pc) :
		step_row_returned(&space->tables, &space->ranges[i], pc);
	if (exact && entry->row.kind == STEP_NONE)
		entry->row = row_of_code(space, (size_t)i, pc);
	entry->row.pc = exact ? 0 : call_length(space, (size_t)i, pc);
}

uint64_t
unwind_call_address(struct unwind_space *space, uint64_t ret)
{
	struct step_row row;

	space_refresh(space);
	row = space_row(space, ret, false);
	/* nobody called the restorer: a handler returns to its first byte */
	if (row.kind == STEP_SIGNAL)
		return ret;
	return ret - (row.pc ? row.pc : 1);
}
