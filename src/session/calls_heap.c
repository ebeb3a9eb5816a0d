/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets of calls that gave or took memory. Where one byte in so many was
 * chosen, a block of s bytes was with 1 - exp(-s / interval), so it stands for
 * the inverse of that many calls, and for their bytes.
 */
#include <math.h>

#include "calls.h"
#include "inject.h"

static int
type_of(const struct trace_event *ev)
{
	switch (ev->function) {
	case TRACE_MMAP: return HEAP_MMAP;
	case TRACE_MUNMAP: return HEAP_MUNMAP;
	case TRACE_MREMAP:
		return ev->kind == TRACE_RELEASE ? HEAP_MUNMAP : HEAP_MMAP;
	default: break;
	}
	return ev->kind == TRACE_MOVE ? HEAP_REALLOC :
		ev->kind == TRACE_RELEASE ? HEAP_FREE : HEAP_ALLOC;
}

/* A block that moved was somebody else's from the moment on when realloc gave
 * it back, which is before it returned. */
static void
put_moved(struct experiment *exp, const struct trace_event *ev)
{
	experiment_heap(exp, &(struct experiment_allocation){
		.time_ns = ev->old_time_ns, .tid = ev->tid, .type = HEAP_FREE,
		.address = ev->old_address,
	});
}

/* ---- what was chosen ----------------------------------------------------- */

/* Between 0 and 1. */
static double
draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) * 0x1p-53;
}

/* Whole ones: up or down by chance, as what is over says. */
static uint64_t
whole(struct calls_heap *h, double n)
{
	const uint64_t below = (uint64_t)n;

	return below + (draw(&h->random) < n - (double)below);
}

static void
weigh(struct calls_heap *h, struct experiment_allocation *a)
{
	const double size = a->size ? (double)a->size : 1;
	const double calls = -1 / expm1(-size / (double)h->interval);

	a->calls = whole(h, calls);
	a->size = whole(h, (double)a->size * calls);
}

/* ---- the door ------------------------------------------------------------ */

void
calls_heap_init(struct calls_heap *h, struct experiment *exp, uint64_t interval)
{
	*h = (struct calls_heap){
		.exp = exp, .interval = interval, .random = now_ns() | 1,
	};
	experiment_heap_interval(exp, interval);
}

void
calls_heap_put(struct calls_heap *h, const struct trace_event *ev,
	       uint64_t frinfo)
{
	const bool moved = ev->kind == TRACE_MOVE &&
		ev->address != ev->old_address;
	struct experiment_allocation a = {
		.time_ns = ev->time_ns, .tid = ev->tid, .type = type_of(ev),
		.size = ev->size, .address = ev->address, .calls = 1,
		.old_address = moved ? 0 : ev->old_address,
		.frinfo = frinfo,
	};

	if (moved)
		put_moved(h->exp, ev);
	if (h->interval && a.type == HEAP_ALLOC)
		weigh(h, &a);
	experiment_heap(h->exp, &a);
}
