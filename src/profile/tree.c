/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who called whom: edges between functions, and the dynamic call tree.
 *
 * Under recursion a stack holds a function several times, but its time must
 * count once in that function's callers and once in its callees. The place
 * that counts is the one nearest to the leaf; the other calls are shown, with
 * nothing.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges ---------------------------------------------------------- */

struct edging {
	struct profile *prof;
	struct map known;	/* from << 32 | to -> edge + 1 */
	uint32_t *seen;
	uint64_t *at_callee, *at_caller;
	size_t callee_cap, caller_cap;
	uint32_t mark;
};

static size_t
edge(struct edging *e, uint32_t from, uint32_t to)
{
	struct profile *prof = e->prof;
	uint64_t *slot = map_slot_of(&e->known, (uint64_t)from << 32 | to);

	if (*slot)
		return *slot - 1;

	const size_t i = prof->edges_len++, slots = prof->slots;

	*slot = i + 1;
	prof->edges = xgrow(prof->edges, &prof->edges_cap, i + 1,
			    sizeof *prof->edges);
	prof->edges[i] = (struct edge_cost){ .from = from, .to = to };
	e->at_callee = xgrow(e->at_callee, &e->callee_cap, (i + 1) * slots + 1,
			     sizeof *e->at_callee);
	e->at_caller = xgrow(e->at_caller, &e->caller_cap, (i + 1) * slots + 1,
			     sizeof *e->at_caller);
	memset(&e->at_callee[i * slots], 0, slots * sizeof *e->at_callee);
	memset(&e->at_caller[i * slots], 0, slots * sizeof *e->at_caller);
	return i;
}

static void
add(const struct profile *prof, uint64_t *to, size_t at, const uint64_t *slots)
{
	for (size_t s = 0; s < prof->slots; s++)
		to[at * prof->slots + s] += slots[s];
}

static void
visit_edges(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct edging *e = arg;

	e->mark++;
	for (size_t i = 0; i < n; i++) {
		const uint32_t caller = i + 1 < n ? frames[i + 1] :
						    FUNCTION_TOTAL;
		const bool nearest = e->seen[frames[i]] != e->mark;
		const size_t above = edge(e, caller, frames[i]);

		e->seen[frames[i]] = e->mark;
		if (nearest)
			add(e->prof, e->at_callee, above, weight);
		if (nearest && i > 0)
			add(e->prof, e->at_caller,
			    edge(e, frames[i], frames[i - 1]), weight);
		if (caller == FUNCTION_TOTAL)
			add(e->prof, e->at_caller, above, weight);
	}
}

static void
keep_edges(struct edging *e)
{
	struct profile *prof = e->prof;
	const size_t n = prof->edges_len * prof->slots;

	prof->edge_values = xcalloc(2 * n + 1, sizeof *prof->edge_values);
	if (n) {
		memcpy(prof->edge_values, e->at_callee,
		       n * sizeof *prof->edge_values);
		memcpy(prof->edge_values + n, e->at_caller,
		       n * sizeof *prof->edge_values);
	}
	for (size_t i = 0; i < prof->edges_len; i++) {
		prof->edges[i].at_callee = &prof->edge_values[i * prof->slots];
		prof->edges[i].at_caller =
			&prof->edge_values[n + i * prof->slots];
	}
}

size_t
profile_edges(struct profile *prof, const struct edge_cost **out)
{
	if (!prof->edge_values) {
		struct edging e = { .prof = prof };

		e.seen = xcalloc(profile_function_count(prof) + 1,
				 sizeof *e.seen);
		profile_stacks(prof, visit_edges, &e);
		keep_edges(&e);
		map_fini(&e.known);
		free(e.seen);
		free(e.at_callee);
		free(e.at_caller);
	}
	*out = prof->edges;
	return prof->edges_len;
}

/* ---- tree ----------------------------------------------------------- */

struct growing {
	struct profile *prof;
	struct map child;	/* parent << 32 | function -> node */
	size_t values_cap;
};

static uint32_t
new_node(struct growing *g, uint32_t parent, uint32_t function)
{
	struct profile *prof = g->prof;
	const uint32_t node = (uint32_t)prof->tree_len++;

	prof->tree = xgrow(prof->tree, &prof->tree_cap, prof->tree_len,
			   sizeof *prof->tree);
	prof->tree[node] = (struct tree_node){ .function = function,
					       .parent = parent };
	prof->tree_values = xgrow(prof->tree_values, &g->values_cap,
				  prof->tree_len * prof->slots + 1,
				  sizeof *prof->tree_values);
	memset(&prof->tree_values[node * prof->slots], 0,
	       prof->slots * sizeof *prof->tree_values);
	return node;
}

static uint32_t
child_of(struct growing *g, uint32_t parent, uint32_t function)
{
	struct profile *prof = g->prof;
	uint64_t *slot = map_slot_of(&g->child,
				     (uint64_t)parent << 32 | function);

	if (!*slot) {
		*slot = new_node(g, parent, function);

		struct tree_node *node = &prof->tree[*slot];

		node->next_sibling = prof->tree[parent].first_child;
		prof->tree[parent].first_child = (uint32_t)*slot;
	}
	return (uint32_t)*slot;
}

static void
visit_tree(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct growing *g = arg;
	uint32_t node = 0;

	add(g->prof, g->prof->tree_values, node, weight);
	while (n-- > 0) {
		node = child_of(g, node, frames[n]);
		add(g->prof, g->prof->tree_values, node, weight);
	}
}

static void
forget_tree(struct profile *prof)
{
	free(prof->tree);
	free(prof->tree_values);
	prof->tree = NULL;
	prof->tree_values = NULL;
	prof->tree_len = prof->tree_cap = 0;
}

size_t
profile_tree(struct profile *prof, bool creators, const struct tree_node **out)
{
	if (prof->tree_created != creators)
		forget_tree(prof);
	prof->tree_created = creators;
	if (!prof->tree) {
		struct growing g = { .prof = prof };

		new_node(&g, 0, FUNCTION_TOTAL);
		if (creators)
			profile_created_stacks(prof, visit_tree, &g);
		else
			profile_stacks(prof, visit_tree, &g);
		map_fini(&g.child);
		for (size_t i = 0; i < prof->tree_len; i++)
			prof->tree[i].incl = &prof->tree_values[
				i * prof->slots];
	}
	*out = prof->tree;
	return prof->tree_len;
}
