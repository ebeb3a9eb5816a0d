/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Allocations that were never freed. Packets of the heap are taken in order
 * of time, whatever their order in the file, and each allocation is kept by
 * its address until something frees it. What is left at the end has leaked.
 *
 * An address that is handed out again was free before: collectors that miss a
 * free, or the old address of a realloc, make no leak of that.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET_HEAP = 5 };

struct event {
	uint64_t time_ns, address, size;
	uint32_t type;		/* HTYPE */
	uint32_t number;	/* of the packet */
};

struct region {			/* a piece of a mapping */
	uint64_t start, end;
	uint32_t number;
};

struct matching {
	struct leaks *leaks;
	struct event *events;
	size_t len, cap;
	uint32_t packets;
	struct map live;	/* address -> number + 1 */
	struct region *regions;	/* sorted, none overlap */
	size_t regions_len, regions_cap;
};

static void
add_event(struct matching *m, struct event ev)
{
	m->events = xgrow(m->events, &m->cap, m->len + 1, sizeof *m->events);
	m->events[m->len++] = ev;
}

static bool
collect(void *arg, const struct experiment_packet *p)
{
	struct matching *m = arg;

	struct event ev = {
		.time_ns = p->time_ns, .type = (uint32_t)p->value[HEAP_TYPE],
		.size = p->value[HEAP_SIZE], .address = p->value[HEAP_ADDRESS],
		.number = m->packets++,
	};
	const uint64_t old = p->value[HEAP_OLD_ADDRESS];
	/* one that fails leaves the block where it is */
	const bool moved = ev.type == HEAP_REALLOC && old &&
		(ev.address || !ev.size);

	if (moved)
		add_event(m, (struct event){ .time_ns = ev.time_ns,
			  .type = HEAP_FREE, .address = old });
	if (ev.address)
		add_event(m, ev);
	return true;
}

/* ---- order of time -------------------------------------------------- */

/* The end of the run of sorted events from there. */
static size_t
run_end(const struct event *ev, size_t from, size_t n)
{
	size_t to = from + 1;

	while (to < n && ev[to - 1].time_ns <= ev[to].time_ns)
		to++;
	return to;
}

static void
merge(const struct event *from, size_t a, size_t b, size_t end,
      struct event *to)
{
	const size_t middle = b;

	for (size_t i = a; i < end; i++)
		if (a < middle && (b == end ||
				   from[a].time_ns <= from[b].time_ns))
			to[i] = from[a++];
		else
			to[i] = from[b++];
}

/*
 * Each thread writes its own runs of packets, so there are few runs: merge
 * neighbours until one is left. Equals keep their order.
 */
static void
sort_events(struct matching *m)
{
	const size_t n = m->len;
	struct event *from = m->events, *to = NULL;

	while (n && run_end(from, 0, n) < n) {
		to = to ? to : xcalloc(n, sizeof *to);
		for (size_t a = 0; a < n;) {
			const size_t b = run_end(from, a, n);
			const size_t end = b < n ? run_end(from, b, n) : n;

			merge(from, a, b, end, to);
			a = end;
		}

		struct event *const sorted = to;

		to = from;
		from = sorted;
	}
	free(to);
	m->events = from;
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
unmap(struct matching *m, uint64_t start, uint64_t end)
{
	size_t at = region_at(m, start);

	while (at < m->regions_len && m->regions[at].start < end) {
		struct region *r = &m->regions[at];
		const struct region behind = { end, r->end, r->number };

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
end_of(const struct event *ev)
{
	return ev->size > UINT64_MAX - ev->address ? UINT64_MAX :
						     ev->address + ev->size;
}

static void
map_region(struct matching *m, const struct event *ev)
{
	unmap(m, ev->address, end_of(ev));
	if (ev->size)
		insert_region(m, region_at(m, ev->address), (struct region){
			      ev->address, end_of(ev), ev->number });
}

/* ---- the whole ------------------------------------------------------ */

/* What lived at that address does so no longer. */
static void
end_block(struct matching *m, const struct event *by)
{
	uint64_t event;

	if (map_get(&m->live, by->address, &event))
		m->leaks->until[m->events[event].number] = by->time_ns;
}

static void
match(struct matching *m)
{
	for (size_t i = 0; i < m->len; i++) {
		const struct event *ev = &m->events[i];

		switch (ev->type) {
		case HEAP_FREE:
			end_block(m, ev);
			map_remove(&m->live, ev->address);
			break;
		case HEAP_MMAP:
			map_region(m, ev);
			break;
		case HEAP_MUNMAP:
			unmap(m, ev->address, end_of(ev));
			break;
		default:
			end_block(m, ev);
			map_put(&m->live, ev->address, i);
		}
	}
}

static void
tell(struct matching *m)
{
	uint64_t *bytes = xcalloc(m->packets + 1, sizeof *bytes);
	uint64_t address, event;
	size_t at = 0;

	while (map_next(&m->live, &at, &address, &event))
		bytes[m->events[event].number] = m->events[event].size;
	for (size_t i = 0; i < m->regions_len; i++)
		bytes[m->regions[i].number] += m->regions[i].end -
			m->regions[i].start;
	m->leaks->bytes = bytes;
	m->leaks->len = m->packets;
}

void
leaks_find(struct source *src)
{
	struct matching m = { .leaks = &src->leaks };

	experiment_packets_of(src->reader, PACKET_HEAP, collect, &m);
	sort_events(&m);
	m.leaks->until = xmalloc((m.packets + 1) * sizeof *m.leaks->until);
	for (uint32_t i = 0; i < m.packets; i++)
		m.leaks->until[i] = UINT64_MAX;
	match(&m);
	tell(&m);
	map_fini(&m.live);
	free(m.events);
	free(m.regions);
}

void
leaks_free(struct leaks *leaks)
{
	free(leaks->bytes);
	free(leaks->until);
	*leaks = (struct leaks){ 0 };
}

void
leaks_next(struct leaks *leaks, struct experiment_packet *p)
{
	if (leaks->next >= leaks->len)
		return;
	p->value[HEAP_LEAKED] = leaks->bytes[leaks->next];
	p->value[HEAP_UNTIL] = leaks->until[leaks->next++];
}
