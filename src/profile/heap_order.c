/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events are handed out soon while they come in order, so that what they need
 * of memory can be asked for before. Where threads write beside each other a
 * few come late: then so many are held back. Only what is later than that needs
 * room for all of them.
 */
#include "heap_order.h"

#include <stdlib.h>
#include <string.h>

enum { ASKED_AHEAD = 16, HELD_BACK = 1 << 17 };

void
heap_order_init(struct heap_order *o, enum heap_ordered how,
		void (*next)(void *arg, const struct heap_event *ev),
		void *arg)
{
	*o = (struct heap_order){ .how = how, .next = next, .arg = arg };
}

void
heap_order_fini(struct heap_order *o)
{
	free(o->events);
	free(o->scratch);
	*o = (struct heap_order){0};
}

/* ---- sorting ------------------------------------------------------------- */

/* The end of the run of sorted events from there. */
static size_t
run_end(const struct heap_event *ev, size_t from, size_t n)
{
	size_t to = from + 1;

	while (to < n && ev[to - 1].time_ns <= ev[to].time_ns)
		to++;
	return to;
}

/* The first in a run that is later than that time. */
static size_t
later_than(const struct heap_event *ev, size_t low, size_t high,
	   uint64_t time_ns)
{
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ev[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Two runs are one. Those of the first that stay where they are, mostly nearly
 * all, are not touched. */
static void
merge(struct heap_order *o, size_t first, size_t second, size_t end)
{
	struct heap_event *ev = o->events;
	size_t to = later_than(ev, first, second, ev[second].time_ns);
	const size_t n = second - to;
	size_t a = 0, b = second;

	o->scratch = xgrow(o->scratch, &o->scratch_cap, n + 1,
			   sizeof *o->scratch);
	memcpy(o->scratch, &ev[to], n * sizeof *ev);
	while (a < n)
		ev[to++] = b == end ||
			o->scratch[a].time_ns <= ev[b].time_ns ?
			o->scratch[a++] : ev[b++];
}

/*
 * Each thread writes its own runs of packets, so there are few runs: merge
 * neighbours until one is left. Equals keep their order.
 */
static void
sort(struct heap_order *o)
{
	const size_t n = o->len;

	while (n && run_end(o->events, 0, n) < n)
		for (size_t a = 0; a < n;) {
			const size_t b = run_end(o->events, a, n);
			const size_t end = b < n ? run_end(o->events, b, n) :
						   n;

			if (b < n)
				merge(o, a, b, end);
			a = end;
		}
}

/* ---- handing out --------------------------------------------------------- */

static void
hand_out(struct heap_order *o, size_t n)
{
	for (size_t i = 0; i < n; i++)
		o->next(o->arg, &o->events[i]);
	if (n && o->how != HEAP_IN_ORDER)
		o->time_ns = o->events[n - 1].time_ns;
	o->len -= n;
	memmove(o->events, &o->events[n], o->len * sizeof *o->events);
}

bool
heap_order_add(struct heap_order *o, const struct heap_event *ev)
{
	if (ev->time_ns < o->time_ns)
		return false;
	if (o->how == HEAP_IN_ORDER)
		o->time_ns = ev->time_ns;
	o->events = xgrow(o->events, &o->cap, o->len + 1, sizeof *o->events);
	o->events[o->len++] = *ev;
	if (o->how == HEAP_IN_ORDER && o->len == 2 * ASKED_AHEAD)
		hand_out(o, ASKED_AHEAD);
	if (o->how == HEAP_NEARLY_SO && o->len == 2 * (size_t)HELD_BACK) {
		sort(o);
		hand_out(o, HELD_BACK);
	}
	return true;
}

void
heap_order_end(struct heap_order *o)
{
	sort(o);
	if (o->len)
		hand_out(o, o->len);
}
