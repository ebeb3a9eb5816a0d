/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events of the heap in order of time, whatever their order in the file.
 */
#ifndef PROFILE_HEAP_ORDER_H
#define PROFILE_HEAP_ORDER_H

#include "private.h"

struct heap_event {
	uint64_t time_ns, address, size;
	uint32_t type;		/* HTYPE */
	uint32_t number;	/* of the packet */
};

struct heap_course {		/* of one packet's process, in bytes */
	uint64_t used;		/* when it was done */
	uint64_t freed;		/* by it */
	uint64_t kept;		/* allocated until then, and never freed */
};

struct heap_order {
	enum heap_ordered how;
	void (*next)(void *arg, const struct heap_event *ev);
	void *arg;
	struct heap_event *events;	/* not handed out yet */
	size_t len, cap;
	struct heap_event *scratch;
	size_t scratch_cap;
	uint64_t time_ns;	/* none may be earlier */
};

/* next gets them, in order. */
void heap_order_init(struct heap_order *o, enum heap_ordered how,
		     void (*next)(void *arg, const struct heap_event *ev),
		     void *arg);
/* false: it is too late for that: they are less in order. */
bool heap_order_add(struct heap_order *o, const struct heap_event *ev);
/* There are no more. */
void heap_order_end(struct heap_order *o);
void heap_order_fini(struct heap_order *o);

#endif
