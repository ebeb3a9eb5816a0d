/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window per thread, a ring per window. One writer, one reader, no lock: a
 * record is there when `head` has passed it.
 */
#include "private.h"

enum {
	LEAST = sizeof(struct record) + RECORD_DEPTH_LEAST * sizeof(uint64_t)
};
_Static_assert(2 * LEAST <= RECORD_WINDOW_MIN, "two fit into a ring");

static struct record_window *
windows(struct record_area *area)
{
	return (struct record_window *)((char *)area + area->windows_at);
}

/* A tick that was meant for another recorder may carry a wrong number: two
 * must never write at once. */
static struct record_window *
enter(struct record_window *w)
{
	return __atomic_exchange_n(&w->busy, 1, __ATOMIC_ACQUIRE) ? NULL : w;
}

void
hot_ring_leave(struct record_window *w)
{
	__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
}

struct record_window *
hot_ring_window(struct record_area *area, uint32_t tid)
{
	struct record_window *all = windows(area);
	const uint32_t n = area->windows;
	const uint32_t first = tid * 2654435761u % n;
	uint32_t i;

	for (i = 0; i < RECORD_PROBES && i < n; i++) {
		struct record_window *w = &all[(first + i) % n];

		if (__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) == tid)
			return enter(w);
	}
	for (i = 0; i < RECORD_PROBES && i < n; i++) {
		struct record_window *w = &all[(first + i) % n];
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&w->tid, &none, tid, false,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return enter(w);
	}
	return NULL;
}

static char *
ring_of(struct record_area *area, const struct record_window *w)
{
	const uint64_t index = (uint64_t)(w - windows(area));

	return (char *)area + area->rings_at + index * area->window_bytes;
}

/* How many frames a record of so many bytes holds. */
static uint32_t
frames_in(uint64_t bytes)
{
	const uint64_t n = (bytes - sizeof(struct record)) / sizeof(uint64_t);

	return n < RECORD_DEPTH_MAX ? (uint32_t)n : RECORD_DEPTH_MAX;
}

/* The end of the ring is too small: go on at its beginning, where there is
 * room for a record of LEAST bytes or more. */
static struct record *
wrap(struct record_area *area, struct record_window *w, uint32_t *most)
{
	const uint64_t size = area->window_bytes;
	const uint64_t tail = __atomic_load_n(&w->tail, __ATOMIC_ACQUIRE);
	const uint64_t at = w->head % size, rest = size - at;
	const uint64_t used = w->head - tail + rest;
	char *ring = ring_of(area, w);
	struct record *filler = (struct record *)(ring + at);

	if (used + LEAST > size)
		return NULL;
	filler->size = (uint32_t)rest;
	filler->kind = RECORD_FILLER;
	__atomic_store_n(&w->head, w->head + rest, __ATOMIC_RELEASE);
	*most = frames_in(size - used);
	return (struct record *)ring;
}

struct record *
hot_ring_reserve(struct record_area *area, struct record_window *w,
		 uint32_t *most)
{
	const uint64_t size = area->window_bytes;
	const uint64_t tail = __atomic_load_n(&w->tail, __ATOMIC_ACQUIRE);
	const uint64_t at = w->head % size, rest = size - at;
	const uint64_t left = size - (w->head - tail);

	if (rest < LEAST)
		return wrap(area, w, most);
	if (left < LEAST)
		return NULL;
	*most = frames_in(rest < left ? rest : left);
	return (struct record *)(ring_of(area, w) + at);
}

struct record *
hot_ring_more(struct record_area *area, struct record_window *w,
	      const struct record *rec, uint32_t *most)
{
	const uint64_t size = area->window_bytes;
	const uint64_t tail = __atomic_load_n(&w->tail, __ATOMIC_ACQUIRE);
	const uint64_t rest = size - w->head % size;
	const uint64_t used = w->head - tail + rest;
	struct record kept, *again;

	if (*most == RECORD_DEPTH_MAX || used >= size || size - used <= rest)
		return NULL;
	kept = *rec;
	again = wrap(area, w, most);
	if (again)
		*again = kept;
	return again;
}

void
hot_ring_commit(struct record_window *w, struct record *rec)
{
	rec->size = (uint32_t)(sizeof *rec + rec->depth * sizeof rec->pcs[0]);
	rec->kind = RECORD_SAMPLE;
	__atomic_store_n(&w->head, w->head + rec->size, __ATOMIC_RELEASE);
}
