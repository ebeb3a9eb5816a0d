/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of a profile, gathered for a file of another tool: each distinct
 * one once, outermost frame first, with its weights.
 */
#ifndef VIEW_STACKS_H
#define VIEW_STACKS_H

#include "private.h"

struct gathered {
	struct gathered_stack {
		size_t first;		/* in frames */
		uint32_t len;
		uint64_t *weights;	/* by slot of the viewer */
	} *items;
	size_t len, cap;
	uint32_t *frames;		/* function ids */
	size_t frames_len, frames_cap;
	int slots[METRIC_MAX];		/* those with data; sorted by: first */
	size_t slots_len;
	uint64_t totals[METRIC_MAX];	/* by slot of the viewer */
	struct map known;		/* hash of frames -> stack */
	size_t viewer_slots;
};

/* FAIL_MISSING when there is nothing. Undone by gathered_fini in any case. */
int gathered_init(struct gathered *g, struct viewer *v);
void gathered_fini(struct gathered *g);
/* The slot of the metric that rows are sorted by, or the first. -1: none. */
int viewer_sorted_slot(const struct viewer *v);
/* "ns", "bytes" or "count" */
const char *metric_unit(const struct metric *m);

#endif
