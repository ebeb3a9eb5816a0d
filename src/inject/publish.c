/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables for the handler in the target: rows for unwinding, and which memory
 * is stacks. They are written into the half of the record memory that nobody
 * reads; then the halves change places.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hazard.h"
#include "private.h"
#include "record.h"
#include "step.h"

enum { READERS_WAIT_MS = 500 };

size_t
guest_publish_need(const struct step_tables *tables)
{
	size_t need = 1 << 20, i;	/* ranges and stacks of most programs */

	for (i = 0; i < tables->count; i++)
		need += sizeof *tables->ranges +
			tables->ranges[i].count * sizeof(struct step_row);
	return need;
}

static int
await_readers(struct record_area *a, uint32_t half)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < READERS_WAIT_MS; i++) {
		if (__atomic_load_n(&a->readers[half], __ATOMIC_SEQ_CST) == 0)
			return 0;
		(void)nanosleep(&ms, NULL);
	}
	return fail(FAIL_PARTIAL, "a thread stands in the tables to be "
		    "replaced");
}

struct half {
	unsigned char *at;
	uint64_t used, size;
	struct map rows;	/* the tracer's pointer -> offset */
};

/* Offset of n bytes; 0: no room (the header stands at 0). */
static uint64_t
take(struct half *h, uint64_t n)
{
	const uint64_t at = h->used;

	if (n > h->size - h->used)
		return 0;
	h->used += (n + 15) / 16 * 16;
	if (h->used > h->size)
		h->used = h->size;
	return at;
}

/* Mappings of one object share its rows. */
static void
put_range(struct half *h, struct step_range *to, const struct step_range *r)
{
	const uint64_t bytes = (uint64_t)r->count * sizeof(struct step_row);
	uint64_t at = 0;

	*to = *r;
	to->rows = 0;
	to->count = 0;
	if (!r->count)
		return;
	if (!map_get(&h->rows, r->rows, &at)) {
		at = take(h, bytes);
		if (at)
			memcpy(h->at + at, (const void *)r->rows, bytes);
		map_put(&h->rows, r->rows, at);
	}
	/* What has no room is walked by frame pointers. */
	if (at) {
		to->rows = at;
		to->count = r->count;
	}
}

static void
put_stack(struct record_tables *head, struct record_stack *to, uint64_t start,
	  uint64_t end)
{
	if (start < end)
		to[head->stacks++] = (struct record_stack){ start, end };
}

/*
 * Something below that nobody can touch: what a stack of libc's has. Without,
 * stacks of the program's own may be in one mapping with a thread's, and come
 * and go between it and its descriptor. What is one mapping with the scratch,
 * above it, has none either: the scratch has a guard in its middle, which goes
 * with it.
 */
static bool
is_guarded(const struct modules *mods, size_t i)
{
	const struct module *below = i > 0 ? &mods->items[i - 1] : NULL;

	return !handled(HAZARD_STRAY_STACK) ||
		(below && below->end == mods->items[i].start &&
		 !(below->prot & (MODULE_READ | MODULE_WRITE | MODULE_EXEC)));
}

static int
put_stacks(struct guest *g, struct half *h, struct record_tables *head)
{
	struct modules mods = {0};
	struct record_stack *to;
	char *text = target_maps(g->t);
	size_t i;
	int r = text ? modules_parse(&mods, text) : -1;

	free(text);
	if (r < 0)
		return -1;
	head->stacks_at = take(h, mods.len * sizeof *to);
	to = (struct record_stack *)(h->at + head->stacks_at);
	for (i = 0; head->stacks_at && i < mods.len; i++) {
		const struct module *m = &mods.items[i];

		if (m->inode != 0 || !(m->prot & MODULE_WRITE) ||
		    !(m->prot & MODULE_READ) || !is_guarded(&mods, i))
			continue;
		if (g->passing_end <= m->start || g->passing >= m->end)
			put_stack(head, to, m->start, m->end);
		else
			put_stack(head, to, m->start, g->passing);
	}
	modules_fini(&mods);
	return 0;
}

static int
fill_half(struct guest *g, struct half *h, const struct step_tables *tables)
{
	struct record_tables head = {0};
	struct step_range *to;
	uint32_t i;

	(void)take(h, sizeof head);
	head.ranges_at = take(h, tables->count * sizeof *to);
	if (!head.ranges_at)
		return fail(FAIL_PARTIAL, "%u mappings do not fit into the "
			    "record memory", tables->count);
	if (put_stacks(g, h, &head) < 0)
		return -1;
	to = (struct step_range *)(h->at + head.ranges_at);
	for (i = 0; i < tables->count; i++)
		put_range(h, &to[i], &tables->ranges[i]);
	head.ranges = tables->count;
	head.used = h->used;
	memcpy(h->at, &head, sizeof head);
	return 0;
}

int
guest_publish(struct guest *g, const struct step_tables *tables)
{
	struct record_area *a = g->area;
	const uint32_t half = a->tables == RECORD_HALF_0 ? RECORD_HALF_1
							 : RECORD_HALF_0;
	struct half h = {
		.at = (unsigned char *)a + g->layout.tables_at[half],
		.size = g->layout.table_bytes,
	};
	int r;

	if (await_readers(a, half) < 0)
		return -1;
	r = fill_half(g, &h, tables);
	map_fini(&h.rows);
	if (r < 0)
		return -1;
	__atomic_store_n(&a->tables, half, __ATOMIC_SEQ_CST);
	/* who remembers a walk by those before remembers it by this number */
	__atomic_fetch_add(&a->published, 1, __ATOMIC_SEQ_CST);
	return 0;
}
