/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames that one PC stands for. A location may be more than one function: what
 * was inlined there stands before it (inlines.c), the function that an outlined
 * part belongs to behind it (parts.c). Every stack is written anew with them.
 * A stack keeps its weight and its leaf its time, so all sums stay what they
 * were; only whose they are is told more finely.
 */
#include "private.h"

#include <stdlib.h>

void
frames_push(struct frames *f, uint32_t location)
{
	f->items = xgrow(f->items, &f->cap, f->len + 1, sizeof *f->items);
	f->items[f->len++] = location;
}

static void
expand_location(struct profile *prof, uint32_t location, struct frames *out)
{
	if (prof->options.inlines)
		inlines_add(prof, location, out);
	frames_push(out, location);
	if (!prof->options.keep_parts)
		parts_add(prof, location, out);
}

/* The frames of each of the first n locations, from start[i] on. */
static struct frames
expand_locations(struct profile *prof, uint32_t *start, size_t n)
{
	struct frames all = {0};

	for (uint32_t i = 0; i < n; i++) {
		start[i] = (uint32_t)all.len;
		expand_location(prof, i, &all);
	}
	start[n] = (uint32_t)all.len;
	return all;
}

static void
rewrite(struct profile *prof, const struct frames *all, const uint32_t *start)
{
	struct frames out = {0};

	for (size_t i = 0; i < prof->stacks_len; i++) {
		struct stack *st = &prof->stacks[i];
		const size_t first = out.len;

		for (uint32_t f = 0; f < st->len; f++) {
			const uint32_t loc = prof->frames[st->first + f];

			for (uint32_t k = start[loc]; k < start[loc + 1]; k++)
				frames_push(&out, all->items[k]);
		}
		st->first = first;
		st->len = (uint32_t)(out.len - first);
	}
	free(prof->frames);
	frames_push(&out, 0);		/* the pool is never NULL */
	prof->frames = out.items;
	prof->frames_len = out.len - 1;
	prof->frames_cap = out.cap;
}

void
expand_stacks(struct profile *prof)
{
	const size_t n = prof->locations_len;
	uint32_t *start = xcalloc(n + 1, sizeof *start);
	struct frames all = expand_locations(prof, start, n);

	if (all.len > n)
		rewrite(prof, &all, start);
	free(all.items);
	free(start);
}
