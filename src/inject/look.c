/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's memory as it was when we first looked: headers, symbol tables
 * and names are read in hundreds of small pieces, many of them twice. What is
 * read is kept by pages, a few at a time. For what does not change while we
 * look, and for one plan only.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

enum { PAGE = 4096, AHEAD = 4 };

static void
correct(const struct collector_moved *m, uint64_t page, unsigned char *bytes)
{
	const uint64_t at = m->at - page;

	if (at <= PAGE - sizeof m->now &&
	    memcmp(bytes + at, &m->now, sizeof m->now) == 0)
		memcpy(bytes + at, &m->before, sizeof m->before);
}

static void
keep(struct look *k, uint64_t page, const unsigned char *bytes)
{
	uint64_t *slot = map_slot_of(&k->pages, page);

	if (*slot)
		return;
	*slot = (uintptr_t)xmalloc(PAGE);
	memcpy((void *)(uintptr_t)*slot, bytes, PAGE);
	for (size_t i = 0; i < k->nmoved; i++)
		correct(&k->moved[i], page, (void *)(uintptr_t)*slot);
}

void
look_without(struct look *k, uint64_t books)
{
	const size_t size = COLLECTOR_MOVED * sizeof *k->moved, n = k->nmoved;
	size_t at = 0;
	uint64_t page, bytes;

	k->moved = xgrow(k->moved, &k->moved_cap, n + COLLECTOR_MOVED,
			 sizeof *k->moved);
	if (target_read(k->t, books, k->moved + n, size) < 0)
		return;
	k->nmoved = n + COLLECTOR_MOVED;
	while (map_next(&k->pages, &at, &page, &bytes))
		for (size_t i = n; i < k->nmoved; i++)
			correct(&k->moved[i], page, (void *)(uintptr_t)bytes);
}

static const unsigned char *
page_of(struct look *k, uint64_t page)
{
	unsigned char bytes[AHEAD * PAGE];
	uint64_t at;
	size_t n = AHEAD, i;

	if (map_get(&k->pages, page, &at))
		return (const unsigned char *)(uintptr_t)at;
	/* the mapping may end with this page */
	if (target_read(k->t, page, bytes, n * PAGE) < 0) {
		n = 1;
		if (target_read(k->t, page, bytes, PAGE) < 0)
			return NULL;
	}
	for (i = 0; i < n; i++)
		keep(k, page + i * PAGE, bytes + i * PAGE);
	return page_of(k, page);
}

int
look_read(struct look *k, uint64_t addr, void *buf, size_t n)
{
	unsigned char *to = buf;

	while (n > 0) {
		const size_t at = addr % PAGE;
		const size_t piece = n < PAGE - at ? n : PAGE - at;
		const unsigned char *page = page_of(k, addr - at);

		if (!page)
			return -1;
		memcpy(to, page + at, piece);
		to += piece;
		addr += piece;
		n -= piece;
	}
	return 0;
}

void
look_fini(struct look *k)
{
	map_free_values(&k->pages);
	free(k->moved);
}
