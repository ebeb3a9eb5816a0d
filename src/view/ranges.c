/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of numbers as people write them: `2,4,9-11`, or `all`. Kept sorted,
 * and ranges that touch are one.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RANGES_MAX = 1000 };

static int
by_first(const void *a, const void *b)
{
	const struct numbers *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

void
ranges_add(struct ranges *r, struct numbers range)
{
	size_t n = 0;

	r->items = xgrow(r->items, &r->cap, r->len + 1, sizeof *r->items);
	r->items[r->len++] = range;
	qsort(r->items, r->len, sizeof *r->items, by_first);
	for (size_t i = 1; i < r->len; i++)
		if (r->items[i].first > r->items[n].last + 1)
			r->items[++n] = r->items[i];
		else if (r->items[i].last > r->items[n].last)
			r->items[n].last = r->items[i].last;
	r->len = n + 1;
}

/* The number that stands next; false: none does, or it is too large. */
static bool
take_number(const char **at, uint64_t *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return *out <= INT32_MAX;
}

bool
ranges_take(const char **at, struct ranges *r)
{
	if (str_starts(*at, "all")) {
		*at += 3;
		return true;
	}
	for (;;) {
		struct numbers range;

		if (!take_number(at, &range.first))
			return false;
		range.last = range.first;
		if (**at == '-' && (++*at, !take_number(at, &range.last)))
			return false;
		if (range.last < range.first || r->len >= RANGES_MAX)
			return false;
		ranges_add(r, range);
		if (**at != ',')
			return true;
		++*at;
	}
}

bool
ranges_have(const struct ranges *r, uint64_t number)
{
	for (size_t i = 0; i < r->len; i++)
		if (number >= r->items[i].first && number <= r->items[i].last)
			return true;
	return r->len == 0;
}

char *
ranges_text(const struct ranges *r)
{
	struct str text = {0};

	for (size_t i = 0; i < r->len; i++) {
		const struct numbers *range = &r->items[i];

		str_addf(&text, "%s%" PRIu64, i ? "," : "", range->first);
		if (range->last > range->first)
			str_addf(&text, "-%" PRIu64, range->last);
	}
	return r->len ? str_take(&text) : xstrdup("all");
}
