/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who owns which byte: functions, which may overlap and leave gaps, become
 * disjoint pieces in order. Where functions overlap, the inner one has the
 * bytes. A gap that an unwind entry covers belongs to the function that
 * starts with the entry, else to a nameless one.
 */
#include "symfile.h"

#include <stdlib.h>

struct pieces {
	struct piece *items;
	size_t len, cap;
};

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
add_piece(struct pieces *out, uint64_t start, uint64_t end, size_t function)
{
	if (start >= end)
		return;
	out->items = xgrow(out->items, &out->cap, out->len + 1,
			   sizeof *out->items);
	out->items[out->len++] = (struct piece){ start, end, function };
}

/* Functions that are open at one address; the innermost is the last. */
struct nest {
	size_t *items;
	size_t len, cap;
};

/* Hand out the bytes from *at up to limit to the innermost open function. */
static void
close_upto(struct pieces *out, const struct range *ranges,
	   struct nest *nest, uint64_t *at, uint64_t limit)
{
	while (nest->len > 0 && *at < limit) {
		const size_t top = nest->items[nest->len - 1];
		const uint64_t end = ranges[top].end;

		if (end <= *at) {
			nest->len--;
			continue;
		}
		add_piece(out, *at, smaller(end, limit), top);
		*at = smaller(end, limit);
	}
	*at = limit;
}

static struct pieces
cut_ranges(const struct range *ranges, size_t n)
{
	struct pieces out = {0};
	struct nest nest = {0};
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		close_upto(&out, ranges, &nest, &at, ranges[i].start);
		nest.items = xgrow(nest.items, &nest.cap, nest.len + 1,
				   sizeof *nest.items);
		nest.items[nest.len++] = i;
	}
	close_upto(&out, ranges, &nest, &at, UINT64_MAX);
	free(nest.items);
	return out;
}

struct piece *
pieces_cut(const struct range *ranges, size_t n, size_t *len)
{
	struct pieces out = cut_ranges(ranges, n);

	*len = out.len;
	return out.items;
}

static struct pieces
cut_pieces(const struct functions *fns)
{
	struct range *ranges = xcalloc(fns->len + 1, sizeof *ranges);

	for (size_t i = 0; i < fns->len; i++)
		ranges[i] = (struct range){
			fns->items[i].start,
			fns->items[i].start + fns->items[i].size,
		};

	struct pieces out = cut_ranges(ranges, fns->len);

	free(ranges);
	return out;
}

/* The function that starts there, among the first n. */
static bool
starting_at(const struct functions *fns, size_t n, uint64_t start,
	    size_t *found)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (fns->items[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	*found = low;
	return low < n && fns->items[low].start == start;
}

/*
 * Give the bytes of [from, to) to the unwind entry's function: the one that
 * starts with the entry if there is one, else a nameless one.
 */
static void
fill_gap(struct functions *fns, struct pieces *gaps, size_t named,
	 const struct range *fde, uint64_t from, uint64_t to, size_t *owner)
{
	if (from >= to)
		return;
	if (*owner == SIZE_MAX &&
	    !starting_at(fns, named, fde->start, owner)) {
		*owner = fns->len;
		function_add(fns, fde->start, fde->end)->is_static = true;
	}
	add_piece(gaps, from, to, *owner);
}

/* Pieces of all unwind entries, where no symbol's piece is. */
static struct pieces
fill_gaps(struct functions *fns, const struct pieces *taken,
	  const struct range *fdes, size_t fde_len)
{
	const size_t named = fns->len;
	struct pieces gaps = {0};
	uint64_t at = 0;
	size_t t = 0;

	for (size_t i = 0; i < fde_len; i++) {
		const struct range *fde = &fdes[i];
		size_t owner = SIZE_MAX;

		if (at < fde->start)
			at = fde->start;
		while (t < taken->len && taken->items[t].end <= at)
			t++;
		while (at < fde->end && t < taken->len &&
		       taken->items[t].start < fde->end) {
			fill_gap(fns, &gaps, named, fde, at,
				 taken->items[t].start, &owner);
			at = taken->items[t++].end;
		}
		fill_gap(fns, &gaps, named, fde, at, fde->end, &owner);
		if (at < fde->end)
			at = fde->end;
	}
	return gaps;
}

/* A function that got more bytes than its symbol told is that much larger. */
static void
stretch(struct functions *fns)
{
	for (size_t i = 0; i < fns->piece_len; i++) {
		struct function *fn = &fns->items[fns->pieces[i].function];

		if (fns->pieces[i].end - fn->start > fn->size)
			fn->size = fns->pieces[i].end - fn->start;
	}
}

static void
merge(struct functions *fns, const struct pieces *a, const struct pieces *b)
{
	size_t i = 0, j = 0;

	fns->pieces = xcalloc(a->len + b->len, sizeof *fns->pieces);
	while (i < a->len || j < b->len) {
		const bool first = j == b->len ||
			(i < a->len && a->items[i].start < b->items[j].start);

		fns->pieces[fns->piece_len++] =
			first ? a->items[i++] : b->items[j++];
	}
	stretch(fns);
}

/*
 * Nameless functions came last, as the unwind entries lie; put all in order
 * of their starts and let the pieces follow.
 */
static void
sort_functions(struct functions *fns)
{
	size_t *new_place = xcalloc(fns->len, sizeof *new_place);
	struct function *sorted = xcalloc(fns->len, sizeof *sorted);
	size_t named = 0, i = 0, j;

	while (named < fns->len && !fns->items[named].is_static)
		named++;
	j = named;
	for (size_t at = 0; at < fns->len; at++) {
		const bool first = j == fns->len || (i < named &&
			fns->items[i].start <= fns->items[j].start);
		const size_t old = first ? i++ : j++;

		sorted[at] = fns->items[old];
		new_place[old] = at;
	}
	for (size_t at = 0; at < fns->piece_len; at++)
		fns->pieces[at].function =
			new_place[fns->pieces[at].function];
	free(fns->items);
	fns->items = sorted;
	fns->cap = fns->len;
	free(new_place);
}

void
pieces_make(struct functions *fns, const struct range *fdes, size_t fde_len)
{
	struct pieces taken = cut_pieces(fns);
	struct pieces gaps = fill_gaps(fns, &taken, fdes, fde_len);

	merge(fns, &taken, &gaps);
	sort_functions(fns);
	free(taken.items);
	free(gaps.items);
}
