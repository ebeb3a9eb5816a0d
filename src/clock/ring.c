/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading all rings together in order of time.
 *
 * A round indexes what the rings hold, sorts it by time and delivers
 * it in place (a record that wraps around the ring's end is copied first).
 * Sorting is within a ring too: an interrupt may write a sample between the
 * moment another record took its time stamp and the moment it was stored.
 * The space of a record is given back as soon as nothing before it in its
 * ring is still to be delivered.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEEP_MAX = 16 << 20,	/* per CPU, until there is a reader */
	AHEAD = 2,		/* records asked for before they are read */
};

struct entry {
	uint64_t time, at;
	uint64_t next;	/* the ring is free up to here once this is delivered */
	uint32_t ring;
	uint16_t size;
	bool sample;
};

/* ---- places in a ring ---------------------------------------------------- */

static uint64_t
ring_head(const struct ring *ring)
{
	if (!ring->page)
		return ring->from;
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Everything before from is delivered and before kept_end is copied. */
static void
ring_publish(struct ring *ring)
{
	const uint64_t tail = ring->from > ring->kept_end ? ring->from :
							    ring->kept_end;

	if (ring->page)
		__atomic_store_n(&ring->page->data_tail, tail,
				 __ATOMIC_RELEASE);
}

/* Records and their fields are 8-aligned: a word never wraps. */
static uint64_t
word_at(const struct ring *ring, uint64_t at)
{
	uint64_t word;

	if (at < ring->kept_end)
		memcpy(&word, ring->kept + (at - ring->kept_base),
		       sizeof word);
	else
		memcpy(&word, ring->data + (at & (ring->size - 1)),
		       sizeof word);
	return word;
}

static struct perf_event_header
header_at(const struct ring *ring, uint64_t at)
{
	const uint64_t word = word_at(ring, at);
	struct perf_event_header h;

	_Static_assert(sizeof h == sizeof word, "a header is one word");
	memcpy(&h, &word, sizeof h);
	return h;
}

static void
copy_out(const struct ring *ring, uint64_t at, unsigned char *to, size_t n)
{
	const uint64_t place = at & (ring->size - 1);
	const size_t first = n < ring->size - place ? n : ring->size - place;

	memcpy(to, ring->data + place, first);
	memcpy(to + first, ring->data, n - first);
}

static const unsigned char *
record_at(const struct ring *ring, uint64_t at, size_t size,
	  unsigned char *scratch)
{
	const uint64_t place = at & (ring->size - 1);

	if (at < ring->kept_end)
		return ring->kept + (at - ring->kept_base);
	if (place + size <= ring->size)
		return ring->data + place;
	copy_out(ring, at, scratch, size);
	return scratch;
}

/* A whole record with room for its identification? */
static bool
sound(const struct perf_event_header *h, uint64_t at, uint64_t head)
{
	enum { LEAST = sizeof *h + 4 * sizeof(uint64_t) };

	return h->size >= LEAST && h->size % 8 == 0 && h->size <= head - at;
}

static uint64_t
time_at(const struct ring *ring, uint64_t at,
	const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE)
		return word_at(ring, at + 4 * sizeof(uint64_t));
	return word_at(ring, at + h->size - 3 * sizeof(uint64_t));
}

/* ---- before there is a reader -------------------------------------------- */

void
rings_peek(struct rings *r, ring_sink sink, void *arg)
{
	for (size_t i = 0; i < r->len; i++) {
		struct ring *ring = &r->ring[i];
		const uint64_t head = ring_head(ring);

		if (ring->peeked < ring->from)
			ring->peeked = ring->from;
		while (ring->peeked < head) {
			const uint64_t at = ring->peeked;
			const struct perf_event_header h = header_at(ring, at);

			if (!sound(&h, at, head))
				break;
			if (h.type != PERF_RECORD_SAMPLE)
				sink(arg, i, record_at(ring, at, h.size,
						       r->scratch));
			ring->peeked += h.size;
		}
	}
}

static bool
half_full(const struct ring *ring)
{
	const uint64_t tail = ring->from > ring->kept_end ? ring->from :
							    ring->kept_end;

	return ring->page && ring_head(ring) - tail > ring->size / 2;
}

static bool
part_new(const struct ring *ring)
{
	return ring->page &&
		ring_head(ring) - ring->drained >= ring->size / RING_PARTS;
}

static bool
any_ring(const struct rings *r, bool (*is)(const struct ring *ring))
{
	for (size_t i = 0; i < r->len; i++)
		if (is(&r->ring[i]))
			return true;
	return false;
}

bool
rings_pressed(const struct rings *r)
{
	return any_ring(r, half_full);
}

bool
rings_ripe(const struct rings *r)
{
	return any_ring(r, part_new);
}

static void
ring_keep(struct ring *ring)
{
	const uint64_t head = ring_head(ring);

	if (ring->kept_end <= ring->from)
		ring->kept_base = ring->kept_end = ring->from;

	const size_t have = ring->kept_end - ring->kept_base;
	const size_t more = head - ring->kept_end;

	if (have + more > KEEP_MAX)
		return;		/* the kernel drops and counts from here */
	ring->kept = xgrow(ring->kept, &ring->kept_cap, have + more, 1);
	copy_out(ring, ring->kept_end, ring->kept + have, more);
	ring->kept_end = head;
	ring_publish(ring);
}

void
rings_keep(struct rings *r)
{
	for (size_t i = 0; i < r->len; i++)
		if (half_full(&r->ring[i]))
			ring_keep(&r->ring[i]);
}

/* ---- delivering ---------------------------------------------------------- */

static void
index_ring(struct rings *r, size_t i, size_t *n)
{
	struct ring *ring = &r->ring[i];
	const uint64_t head = ring_head(ring);
	uint64_t at = ring->from;

	ring->drained = head;
	while (at < head) {
		const struct perf_event_header h = header_at(ring, at);

		if (!sound(&h, at, head)) {
			r->broken++;
			if (at == ring->from) {
				ring->from = head;
				ring_publish(ring);
			}
			return;
		}
		/* samples are of one size: those to come are asked for */
		__builtin_prefetch(ring->data + ((at + 4ull * h.size) &
						 (ring->size - 1)));
		r->entries = xgrow(r->entries, &r->entries_cap, *n + 1,
				   sizeof *r->entries);
		r->entries[(*n)++] = (struct entry){
			.time = time_at(ring, at, &h),
			.at = at,
			.ring = (uint32_t)i,
			.size = h.size,
			.sample = h.type == PERF_RECORD_SAMPLE,
		};
		at += h.size;
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * Once an entry is delivered, its ring is free up to the first of the
 * entries that come later in time.
 */
static void
mark_free_places(struct rings *r, size_t n)
{
	uint64_t *first = xmalloc(r->len * sizeof *first);

	for (size_t i = 0; i < r->len; i++)
		first[i] = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		struct entry *e = &r->entries[i];
		const uint64_t end = e->at + e->size;

		if (first[e->ring] == UINT64_MAX || first[e->ring] < end)
			first[e->ring] = end;
	}
	for (size_t i = n; i-- > 0;) {
		struct entry *e = &r->entries[i];

		e->next = first[e->ring];
		if (e->at < first[e->ring])
			first[e->ring] = e->at;
	}
	free(first);
}

/*
 * Another processor has written what comes next: it is asked for while others
 * are unwound. The head of a sample, its registers, and as much of its stack as
 * most have: a quarter less CPU time a sample. To be inlined: gcc 12 takes calls
 * of functions that only prefetch for calls that do nothing.
 */
static inline __attribute__((always_inline)) void
ask_for(const struct rings *r, const struct entry *e)
{
	enum { LINE = 64, MOST = 3072 };
	const struct ring *ring = &r->ring[e->ring];
	const uint64_t place = e->at & (ring->size - 1);
	const size_t n = e->size < MOST ? e->size : MOST;

	if (!e->sample || e->at < ring->kept_end || place + n > ring->size)
		return;
	for (size_t i = 0; i < n; i += LINE)
		__builtin_prefetch(ring->data + place + i);
}

static void
deliver(struct rings *r, const struct entry *e, ring_sink sink, void *arg)
{
	struct ring *ring = &r->ring[e->ring];

	if (e->time < r->last)
		r->late++;
	else
		r->last = e->time;
	r->left--;
	r->left_samples -= e->sample;
	sink(arg, e->ring, record_at(ring, e->at, e->size, r->scratch));
	ring->from = e->next;
	ring_publish(ring);
	if (ring->kept && ring->from >= ring->kept_end) {
		free(ring->kept);
		ring->kept = NULL;
		ring->kept_cap = 0;
	}
}

size_t
rings_drain(struct rings *r, uint64_t limit, ring_sink sink, void *arg)
{
	size_t n = 0, done = 0;

	for (size_t i = 0; i < r->len; i++)
		index_ring(r, i, &n);
	if (n == 0)
		return 0;
	qsort(r->entries, n, sizeof *r->entries, by_time);
	mark_free_places(r, n);

	r->left = n;
	r->left_samples = 0;
	for (size_t i = 0; i < n; i++)
		r->left_samples += r->entries[i].sample;
	while (done < n && r->entries[done].time <= limit) {
		if (done + AHEAD < n)
			ask_for(r, &r->entries[done + AHEAD]);
		deliver(r, &r->entries[done++], sink, arg);
	}
	return done;
}
