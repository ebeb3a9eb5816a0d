/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an address meant at a moment. Map records carry a range of addresses
 * and a range of time; both may overlap others (dlclose, reuse of an address,
 * code generated twice at one place). The addresses are cut at every start
 * and end into spans whose candidates are the same throughout, so a lookup is
 * one binary search and a glance at a short list.
 *
 * Of the records that live at that moment the youngest wins. Where none
 * lives, the next one to come serves: a load is often noticed after the first
 * samples in it. An address after its last unmapping is unknown.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum {
	REFS_MAX = 1 << 22,	/* candidates of all spans together */
	LIVE_MAX = 1 << 14,	/* ... of one */
};

static uint64_t
record_end(const struct experiment_map_record *rec)
{
	const uint64_t end = rec->start + rec->size;

	return end < rec->start ? UINT64_MAX : end;
}

static const struct experiment_map_record *
record(const struct space *sp, uint32_t i)
{
	return experiment_map_at(sp->reader, i);
}

static int
compare_words(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t
sort_unique(uint64_t *words, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(words, n, sizeof *words, compare_words);
	for (size_t i = 0; i < n; i++)
		if (!kept || words[kept - 1] != words[i])
			words[kept++] = words[i];
	return kept;
}

/* Readable and executable are the two outer bits, whichever is which. */
bool
space_holds_code(const struct experiment_map_record *rec)
{
	return rec->is_function || (rec->prot & 5) == 5;
}

struct start {
	uint64_t addr;
	uint32_t index;
};

static int
compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void
note_change(struct space *sp, uint64_t time_ns)
{
	sp->changes = xgrow(sp->changes, &sp->changes_cap,
			    sp->changes_len + 1, sizeof *sp->changes);
	sp->changes[sp->changes_len++] = time_ns;
}

static void
crowd(struct space *sp)
{
	if (!sp->crowded)
		experiment_note_damage(sp->reader, "map.xml", "too many load "
			"objects overlap at one address; only the most recent "
			"ones are used");
	sp->crowded = true;
}

/* Candidates in order of their load. Of the many of a file that means harm the
 * youngest alone. */
static void
add_span(struct space *sp, uint64_t from, uint64_t to, const uint32_t *live,
	 size_t n)
{
	const size_t first = sp->refs_len;

	if (!n)
		return;
	if (n > 1 && first + n > REFS_MAX) {
		crowd(sp);
		live += n - 1;
		n = 1;
	}
	sp->refs = xgrow(sp->refs, &sp->refs_cap, first + n, sizeof *sp->refs);
	memcpy(sp->refs + first, live, n * sizeof *live);
	sp->refs_len += n;
	sp->spans = xgrow(sp->spans, &sp->cap, sp->len + 1, sizeof *sp->spans);
	sp->spans[sp->len++] = (struct span){ from, to, (uint32_t)first,
					      (uint32_t)n };
}

static void
note_end(struct space *sp, const struct experiment_map_record *rec)
{
	if (rec->until_ns != UINT64_MAX)
		note_change(sp, rec->until_ns);
}

/* Those that are there at one address, in order of their load. */
struct live {
	uint32_t *items;
	size_t len, cap;
	uint64_t first_end;	/* of theirs */
};

/* Behind those that were loaded before it, or with it. When another one is
 * there it matters when they came. */
static void
put_live(struct space *sp, struct live *l, uint32_t index)
{
	const struct experiment_map_record *rec = record(sp, index);
	size_t low = 0, high;

	if (l->len == LIVE_MAX) {
		/* else it went long ago, as so many did at this address */
		if (record(sp, l->items[0])->until_ns > rec->time_ns)
			crowd(sp);
		memmove(l->items, l->items + 1, --l->len * sizeof *l->items);
	}
	if (l->len == 1)
		note_change(sp, record(sp, l->items[0])->time_ns);
	if (l->len)
		note_change(sp, rec->time_ns);
	note_end(sp, rec);
	high = l->len;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (record(sp, l->items[mid])->time_ns > rec->time_ns)
			high = mid;
		else
			low = mid + 1;
	}
	l->items = xgrow(l->items, &l->cap, l->len + 1, sizeof *l->items);
	memmove(l->items + low + 1, l->items + low,
		(l->len - low) * sizeof *l->items);
	l->items[low] = index;
	l->len++;
	if (record_end(rec) < l->first_end)
		l->first_end = record_end(rec);
}

static void
drop_ended(const struct space *sp, struct live *l, uint64_t addr)
{
	size_t kept = 0;

	if (l->first_end > addr)
		return;
	l->first_end = UINT64_MAX;
	for (size_t i = 0; i < l->len; i++) {
		const uint64_t end = record_end(record(sp, l->items[i]));

		if (end <= addr)
			continue;
		l->items[kept++] = l->items[i];
		if (end < l->first_end)
			l->first_end = end;
	}
	l->len = kept;
}

static void
sweep(struct space *sp, const struct start *starts, size_t n,
      const uint64_t *cuts, size_t n_cuts)
{
	struct live live = { .first_end = UINT64_MAX };
	size_t next = 0;

	for (size_t c = 0; c + 1 < n_cuts; c++) {
		drop_ended(sp, &live, cuts[c]);
		for (; next < n && starts[next].addr == cuts[c]; next++)
			put_live(sp, &live, starts[next].index);
		add_span(sp, cuts[c], cuts[c + 1], live.items, live.len);
	}
	free(live.items);
}

void
space_init(struct space *sp, const struct experiment_reader *rd)
{
	*sp = (struct space){ .reader = rd };

	const size_t count = experiment_map_count(rd);
	struct start *starts = xcalloc(count + 1, sizeof *starts);
	uint64_t *cuts = xcalloc(2 * count + 1, sizeof *cuts);
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct experiment_map_record *rec = record(sp, i);

		if (!rec->size || !space_holds_code(rec))
			continue;
		cuts[2 * n] = rec->start;
		cuts[2 * n + 1] = record_end(rec);
		starts[n++] = (struct start){ rec->start, i };
	}
	if (n)
		qsort(starts, n, sizeof *starts, compare_starts);
	sweep(sp, starts, n, cuts, sort_unique(cuts, 2 * n));
	sp->changes_len = sort_unique(sp->changes, sp->changes_len);
	free(starts);
	free(cuts);
}

void
space_fini(struct space *sp)
{
	free(sp->spans);
	free(sp->refs);
	free(sp->changes);
	*sp = (struct space){0};
}

static const struct span *
span_of(const struct space *sp, uint64_t pc)
{
	size_t low = 0, high = sp->len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (sp->spans[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == sp->len || sp->spans[low].start > pc)
		return NULL;
	return &sp->spans[low];
}

uint32_t
space_find(const struct space *sp, uint64_t pc, uint64_t time_ns, bool *varies)
{
	const struct span *span = span_of(sp, pc);
	uint32_t found = SPACE_NOWHERE;

	if (!span)
		return SPACE_NOWHERE;

	const uint32_t *refs = &sp->refs[span->first];

	if (span->count > 1 || record(sp, refs[0])->until_ns != UINT64_MAX)
		*varies = true;
	for (uint32_t i = 0; i < span->count; i++) {
		const struct experiment_map_record *rec = record(sp, refs[i]);

		if (rec->time_ns > time_ns)
			return found != SPACE_NOWHERE ? found : refs[i];
		if (time_ns < rec->until_ns)
			found = refs[i];
	}
	return found;
}

uint32_t
space_epoch(const struct space *sp, uint64_t time_ns)
{
	size_t low = 0, high = sp->changes_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (sp->changes[mid] <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return (uint32_t)low;
}
