/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathering the stacks of a profile. Those that differ in instructions only
 * are one; one without frames is <Unknown>.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

int
viewer_sorted_slot(const struct viewer *v)
{
	const int slot = v->sort.metric < 0 ? -1 :
		viewer_slot(v, v->sort.metric);

	return slot >= 0 ? slot : v->slots ? 0 : -1;
}

const char *
metric_unit(const struct metric *m)
{
	if (m->is_time)
		return "ns";
	return str_ends(m->name, "bytes") ? "bytes" : "count";
}

static struct gathered_stack *
find(struct gathered *g, const uint32_t *frames, size_t n)
{
	const size_t size = n * sizeof *frames;
	uint64_t key = hash_bytes(frames, size, n), at;

	for (; map_get(&g->known, key, &at); key++)
		if (g->items[at].len == n &&
		    !memcmp(&g->frames[g->items[at].first], frames, size))
			return &g->items[at];
	map_put(&g->known, key, g->len);
	g->items = xgrow(g->items, &g->cap, g->len + 1, sizeof *g->items);
	g->items[g->len] = (struct gathered_stack){
		.first = g->frames_len, .len = (uint32_t)n,
		.weights = xcalloc(g->viewer_slots, sizeof(uint64_t)) };
	g->frames = xgrow(g->frames, &g->frames_cap, g->frames_len + n,
			  sizeof *g->frames);
	memcpy(&g->frames[g->frames_len], frames, size);
	g->frames_len += n;
	return &g->items[g->len++];
}

static void
visit(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct gathered *g = arg;
	const size_t len = n ? n : 1;
	uint32_t *outermost = xcalloc(len, sizeof *outermost);

	outermost[0] = FUNCTION_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		outermost[i] = frames[n - 1 - i];

	struct gathered_stack *s = find(g, outermost, len);

	for (size_t i = 0; i < g->viewer_slots; i++) {
		s->weights[i] += weight[i];
		g->totals[i] += weight[i];
	}
	free(outermost);
}

int
gathered_init(struct gathered *g, struct viewer *v)
{
	const int first = viewer_sorted_slot(v);

	*g = (struct gathered){ .viewer_slots = v->slots };
	if (v->slots && v->creators)
		profile_created_stacks(v->prof, visit, g);
	else if (v->slots)
		profile_stacks(v->prof, visit, g);
	for (size_t s = 0; s < v->slots; s++)
		if (g->totals[s] && (int)s == first)
			g->slots[g->slots_len++] = (int)s;
	for (size_t s = 0; s < v->slots; s++)
		if (g->totals[s] && (int)s != first)
			g->slots[g->slots_len++] = (int)s;
	if (g->slots_len)
		return 0;
	fail(FAIL_MISSING, "there are no stacks with any cost to export");
	return fail_remedy("sonde report EXP.er -header tells what was "
			   "recorded");
}

void
gathered_fini(struct gathered *g)
{
	for (size_t i = 0; i < g->len; i++)
		free(g->items[i].weights);
	free(g->items);
	free(g->frames);
	map_fini(&g->known);
}
