/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Allocations that were never freed. Packets of the heap are taken in order
 * of time, whatever their order in the file, and each allocation is kept by
 * its address until something frees it. What is left at the end has leaked.
 *
 * An address that is handed out again was free before: collectors that miss a
 * free, or the old address of a realloc, make no leak of that.
 */
#include "heap_order.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET_HEAP = 5 };

struct region {			/* a piece of a mapping */
	uint64_t start, end;
	uint32_t number;
};

struct matching {
	struct source *src;
	struct leaks *leaks;
	leaks_change *changed;	/* NULL: nobody wants to know */
	void *arg;
	struct heap_order order;
	uint64_t used, freed;	/* now; by the event that is looked at */
	bool dates;		/* what is freed has its time */
	bool follows;		/* what its course needs */
	bool late;		/* packets are less in order than thought */
	bool again;		/* numbers of what is gone are given again */
	uint32_t *spare;	/* these */
	size_t spare_len, spare_cap;
	uint32_t last;		/* number that was given */
	uint32_t *numbers;	/* of packets, in order of time */
	size_t numbers_len, numbers_cap;
	struct map live;	/* address -> number */
	struct region *regions;	/* sorted, none overlap */
	size_t regions_len, regions_cap;
};

/* ---- what lives ------------------------------------------------------ */

/* 0 is nobody's number. */
static void
set_live(struct matching *m, uint64_t number, uint64_t bytes, uint64_t time_ns)
{
	const uint64_t before = m->leaks->bytes[number];

	if (!number)
		return;
	m->leaks->bytes[number] = bytes;
	m->used += bytes - before;
	m->freed += bytes < before ? before - bytes : 0;
	if (m->changed && before != bytes)
		m->changed(m->arg, number, time_ns, before, bytes);
}

/* All of it is gone. */
static void
end_number(struct matching *m, uint32_t number, uint64_t time_ns)
{
	if (m->dates)
		m->leaks->until[number] = time_ns;
	if (!m->again || !number)
		return;
	m->spare = xgrow(m->spare, &m->spare_cap, m->spare_len + 1,
			 sizeof *m->spare);
	m->spare[m->spare_len++] = number;
}

/* ---- mappings: parts of them may go --------------------------------- */

/* The first region that ends behind that address. */
static size_t
region_at(const struct matching *m, uint64_t address)
{
	size_t low = 0, high = m->regions_len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->regions[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
insert_region(struct matching *m, size_t at, struct region r)
{
	m->regions = xgrow(m->regions, &m->regions_cap, m->regions_len + 1,
			   sizeof *m->regions);
	memmove(&m->regions[at + 1], &m->regions[at],
		(m->regions_len++ - at) * sizeof *m->regions);
	m->regions[at] = r;
}

static void
remove_region(struct matching *m, size_t at)
{
	memmove(&m->regions[at], &m->regions[at + 1],
		(--m->regions_len - at) * sizeof *m->regions);
}

static void
lose(struct matching *m, const struct region *r, uint64_t start, uint64_t end,
     uint64_t time_ns)
{
	const uint64_t from = r->start > start ? r->start : start;
	const uint64_t to = r->end < end ? r->end : end;

	const uint64_t left = m->leaks->bytes[r->number] - (to - from);

	set_live(m, r->number, left, time_ns);
	if (!left)
		end_number(m, r->number, time_ns);
}

static void
unmap(struct matching *m, uint64_t start, uint64_t end, uint64_t time_ns)
{
	size_t at = region_at(m, start);

	while (at < m->regions_len && m->regions[at].start < end) {
		struct region *r = &m->regions[at];
		const struct region behind = { end, r->end, r->number };

		lose(m, r, start, end, time_ns);
		if (r->start < start) {
			r->end = start;
			at++;
		} else {
			remove_region(m, at);
		}
		if (behind.end > end)
			insert_region(m, at++, behind);
	}
}

static uint64_t
end_of(const struct heap_event *ev)
{
	return ev->size > UINT64_MAX - ev->address ? UINT64_MAX :
						     ev->address + ev->size;
}

static void
map_region(struct matching *m, const struct heap_event *ev)
{
	unmap(m, ev->address, end_of(ev), ev->time_ns);
	if (ev->size)
		insert_region(m, region_at(m, ev->address), (struct region){
			      ev->address, end_of(ev), ev->number });
	set_live(m, ev->number, end_of(ev) - ev->address, ev->time_ns);
}

/* ---- one event ------------------------------------------------------- */

static void
end_block(struct matching *m, uint64_t number, const struct heap_event *by)
{
	set_live(m, number, 0, by->time_ns);
	end_number(m, (uint32_t)number, by->time_ns);
}

static void
release(struct matching *m, const struct heap_event *ev)
{
	uint64_t number;

	if (map_take(&m->live, ev->address, &number))
		end_block(m, number, ev);
	else
		m->leaks->older++;
}

static void
take(struct matching *m, const struct heap_event *ev)
{
	uint64_t *number = map_slot_of(&m->live, ev->address);

	/* a block that nobody freed there was freed all the same */
	if (*number)
		m->leaks->reused++;
	end_block(m, *number, ev);
	*number = ev->number;
	set_live(m, ev->number, ev->size, ev->time_ns);
}

static void
match(struct matching *m, const struct heap_event *ev)
{
	switch (ev->type) {
	case HEAP_FREE:
		release(m, ev);
		break;
	case HEAP_MMAP:
		map_region(m, ev);
		break;
	case HEAP_MUNMAP:
		unmap(m, ev->address, end_of(ev), ev->time_ns);
		break;
	default:
		take(m, ev);
	}
}

/* ---- the whole ------------------------------------------------------ */

/* What frees has one only where its course is asked for. */
bool
leaks_numbers(const struct source *src, const struct experiment_packet *p)
{
	return src->wants_course || (p->value[HEAP_TYPE] != HEAP_FREE &&
				     p->value[HEAP_TYPE] != HEAP_MUNMAP);
}

/* The number of a new packet. 0 is nobody's: what is empty points to it. */
static uint32_t
next_number(struct matching *m)
{
	struct leaks *leaks = m->leaks;

	if (m->spare_len)
		return m->spare[--m->spare_len];
	leaks->bytes = xgrow(leaks->bytes, &leaks->cap, leaks->len + 1,
			     sizeof *leaks->bytes);
	leaks->bytes[leaks->len] = 0;
	if (m->dates) {
		leaks->until = xgrow(leaks->until, &leaks->until_cap,
				     leaks->len + 1, sizeof *leaks->until);
		leaks->until[leaks->len] = UINT64_MAX;
	}
	if (m->follows) {
		leaks->course = xgrow(leaks->course, &leaks->course_cap,
				      leaks->len + 1, sizeof *leaks->course);
		leaks->course[leaks->len] = (struct heap_course){0};
	}
	return (uint32_t)leaks->len++;
}

/* A realloc is two events of one packet, one behind the other. */
static void
match_next(void *arg, const struct heap_event *ev)
{
	struct matching *m = arg;

	m->freed = 0;
	match(m, ev);
	if (!m->follows)
		return;

	struct heap_course *c = &m->leaks->course[ev->number];

	c->used = m->used;
	c->freed += m->freed;
	m->numbers = xgrow(m->numbers, &m->numbers_cap, m->numbers_len + 1,
			   sizeof *m->numbers);
	m->numbers[m->numbers_len++] = ev->number;
}

/* What is never freed is known once all has been matched. */
static void
find_kept(struct matching *m)
{
	uint64_t kept = 0;
	uint32_t last = 0;

	for (size_t i = 0; i < m->numbers_len; i++) {
		const uint32_t number = m->numbers[i];

		kept += number != last ? m->leaks->bytes[number] : 0;
		m->leaks->course[number].kept = kept;
		last = number;
	}
}

/* False: they are less in order of time than was thought. */
static bool
collect(void *arg, const struct experiment_packet *p)
{
	struct matching *m = arg;
	const struct heap_event ev = {
		.time_ns = p->time_ns, .type = (uint32_t)p->value[HEAP_TYPE],
		.size = p->value[HEAP_SIZE], .address = p->value[HEAP_ADDRESS],
		.number = leaks_numbers(m->src, p) ? next_number(m) : 0,
	};
	const uint64_t old = p->value[HEAP_OLD_ADDRESS];
	/* one that fails leaves the block where it is */
	const bool moved = ev.type == HEAP_REALLOC && old &&
		(ev.address || !ev.size);

	m->last = ev.number;
	map_ask(&m->live, ev.address);
	if (moved && !heap_order_add(&m->order, &(struct heap_event){
		    .time_ns = ev.time_ns, .type = HEAP_FREE,
		    .address = old, .number = ev.number }))
		return false;
	return !ev.address || heap_order_add(&m->order, &ev);
}

static void
begin(struct matching *m, enum heap_ordered how)
{
	map_fini(&m->live);
	m->regions_len = m->numbers_len = 0;
	m->used = 0;
	m->leaks->len = m->spare_len = 0;
	m->leaks->older = m->leaks->reused = 0;
	(void)next_number(m);
	heap_order_init(&m->order, how, match_next, m);
}

static bool
run(struct matching *m, enum heap_ordered how)
{
	begin(m, how);

	const bool done = experiment_packets_of(m->src->reader, PACKET_HEAP,
						collect, m);

	if (done)
		heap_order_end(&m->order);
	heap_order_fini(&m->order);
	return done;
}

static void
matching_fini(struct matching *m)
{
	m->leaks->next = 1;
	map_fini(&m->live);
	free(m->regions);
	free(m->numbers);
	free(m->spare);
}

void
leaks_find(struct source *src)
{
	struct matching m = { .src = src, .leaks = &src->leaks, .dates = true,
			      .follows = src->wants_course };

	while (!run(&m, src->heap_ordered))
		src->heap_ordered++;
	find_kept(&m);
	matching_fini(&m);
}

/* ---- while the packets are read ---------------------------------------- */

struct matching *
leaks_begin(struct source *src)
{
	struct matching *m = xcalloc(1, sizeof *m);

	m->src = src;
	m->leaks = &src->leaks;
	m->again = true;
	begin(m, src->heap_ordered);
	return m;
}

uint32_t
leaks_see(struct matching *m, const struct experiment_packet *p)
{
	m->late = m->late || !collect(m, p);
	return m->late ? 0 : m->last;
}

/* What came too late is found by going over all of them again. */
bool
leaks_end(struct matching *m)
{
	struct source *src = m->src;
	const bool late = m->late;

	if (!late)
		heap_order_end(&m->order);
	heap_order_fini(&m->order);
	matching_fini(m);
	free(m);
	if (late) {
		src->heap_ordered++;
		leaks_find(src);
	}
	return !late;
}

void
leaks_follow(struct source *src, leaks_change *changed, void *arg)
{
	struct matching m = { .src = src, .leaks = &src->leaks,
			      .changed = changed, .arg = arg };

	(void)run(&m, src->heap_ordered);
	matching_fini(&m);
}

void
leaks_free(struct leaks *leaks)
{
	free(leaks->bytes);
	free(leaks->until);
	free(leaks->course);
	*leaks = (struct leaks){ 0 };
}

void
leaks_next(struct source *src, struct experiment_packet *p)
{
	struct leaks *leaks = &src->leaks;

	p->value[HEAP_UNTIL] = UINT64_MAX;
	if (leaks->next >= leaks->len || !leaks_numbers(src, p))
		return;
	p->value[HEAP_LEAKED] = leaks->bytes[leaks->next];
	p->value[HEAP_UNTIL] = leaks->until[leaks->next++];
}
