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
	uint64_t *values;	/* of each edge at its callee, at its caller */
	size_t values_cap;
	uint32_t mark;
	uint32_t *edges;	/* to each frame of this stack */
	size_t edges_cap;
};

static uint64_t
edge_key(uint32_t from, uint32_t to)
{
	return (uint64_t)from << 32 | to;
}

static size_t
edge(struct edging *e, uint32_t from, uint32_t to)
{
	struct profile *prof = e->prof;
	uint64_t *slot = map_slot_of(&e->known, edge_key(from, to));

	if (*slot)
		return *slot - 1;

	const size_t i = prof->edges_len++, width = 2 * prof->packed;

	*slot = i + 1;
	prof->edges = xgrow(prof->edges, &prof->edges_cap, i + 1,
			    sizeof *prof->edges);
	prof->edges[i] = (struct edge_cost){ .from = from, .to = to };
	e->values = xgrow(e->values, &e->values_cap, (i + 1) * width + 1,
			  sizeof *e->values);
	memset(&e->values[i * width], 0, width * sizeof *e->values);
	return i;
}

static uint32_t
caller_of(const uint32_t *frames, size_t n, size_t i)
{
	return i + 1 < n ? frames[i + 1] : FUNCTION_TOTAL;
}

/*
 * There may be many edges, far more than caches hold. What a whole stack needs
 * is asked for at once, so that the memory is waited for once.
 */
static void
find_edges(struct edging *e, const uint32_t *frames, size_t n)
{
	e->edges = xgrow(e->edges, &e->edges_cap, n + 1, sizeof *e->edges);
	for (size_t i = 0; i < n; i++)
		map_ask(&e->known, edge_key(caller_of(frames, n, i),
					    frames[i]));
	for (size_t i = 0; i < n; i++) {
		e->edges[i] = (uint32_t)edge(e, caller_of(frames, n, i),
					     frames[i]);
		__builtin_prefetch(&e->values[2 * (size_t)e->edges[i] *
					      e->prof->packed], 1);
	}
}

static void
add_edge(const struct edging *e, size_t value, const uint64_t *weight)
{
	packed_add(e->prof, e->values, value, weight);
}

static void
visit_edges(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct edging *e = arg;

	find_edges(e, frames, n);
	e->mark++;
	for (size_t i = 0; i < n; i++) {
		const size_t above = e->edges[i];
		const bool nearest = e->seen[frames[i]] != e->mark;

		e->seen[frames[i]] = e->mark;
		if (nearest)
			add_edge(e, 2 * above, weight);
		if (nearest && i > 0)
			add_edge(e, 2 * (size_t)e->edges[i - 1] + 1, weight);
		if (caller_of(frames, n, i) == FUNCTION_TOTAL)
			add_edge(e, 2 * above + 1, weight);
	}
}

size_t
profile_edges(struct profile *prof, const struct edge_cost **out)
{
	if (!prof->edge_values) {
		struct edging e = { .prof = prof };

		e.seen = xcalloc(profile_function_count(prof) + 1,
				 sizeof *e.seen);
		stacks_each(prof, visit_edges, &e);
		prof->edge_values = xgrow(e.values, &e.values_cap, 1,
					  sizeof *e.values);
		map_fini(&e.known);
		free(e.seen);
		free(e.edges);
	}
	*out = prof->edges;
	return prof->edges_len;
}

void
profile_edge_at_callee(const struct profile *prof, size_t edge,
		       uint64_t *slots)
{
	profile_unpack(prof, &prof->edge_values[2 * edge * prof->packed],
		       slots);
}

void
profile_edge_at_caller(const struct profile *prof, size_t edge,
		       uint64_t *slots)
{
	profile_unpack(prof, &prof->edge_values[(2 * edge + 1) * prof->packed],
		       slots);
}

/* ---- tree ----------------------------------------------------------- */

/*
 * Stacks that begin alike at the root stand beside each other once they are
 * sorted, so a node is new exactly where a stack differs from the one before.
 */
struct path {
	uint64_t begin;		/* the two outermost functions; 0: none */
	size_t first;		/* of its functions, outermost first */
	uint32_t len, number;
};

struct growing {
	struct profile *prof;
	struct path *paths;
	size_t len, cap;
	uint32_t *functions;
	size_t functions_len, functions_cap;
	uint64_t *weights;	/* by number of the path */
	size_t weights_cap, values_cap;
};

static void
visit_path(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct growing *g = arg;
	const size_t width = g->prof->packed, number = g->len;

	g->paths = xgrow(g->paths, &g->cap, g->len + 1, sizeof *g->paths);
	g->functions = xgrow(g->functions, &g->functions_cap,
			     g->functions_len + n + 1, sizeof *g->functions);
	g->weights = xgrow(g->weights, &g->weights_cap,
			   (number + 1) * width + 1, sizeof *g->weights);
	if (width)
		memcpy(&g->weights[number * width], weight,
		       width * sizeof *weight);
	g->paths[g->len++] = (struct path){
		.begin = n ? (uint64_t)frames[n - 1] << 32 |
			     (n > 1 ? frames[n - 2] : 0) : 0,
		.first = g->functions_len, .len = (uint32_t)n,
		.number = (uint32_t)number,
	};
	while (n-- > 0)
		g->functions[g->functions_len++] = frames[n];
}

/* How many of their outermost functions are the same. */
static uint32_t
shared(const struct growing *g, const struct path *a, const struct path *b)
{
	const uint32_t *x = &g->functions[a->first];
	const uint32_t *y = &g->functions[b->first];
	const uint32_t least = a->len < b->len ? a->len : b->len;
	uint32_t i = 0;

	while (i < least && x[i] == y[i])
		i++;
	return i;
}

static int
compare_paths(const void *a, const void *b, void *arg)
{
	const struct growing *g = arg;
	const struct path *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;

	const uint32_t i = shared(g, x, y);

	if (i == x->len || i == y->len)
		return x->len < y->len ? -1 : x->len > y->len;
	return g->functions[x->first + i] < g->functions[y->first + i] ? -1 :
									 1;
}

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
				  prof->tree_len * prof->packed + 1,
				  sizeof *prof->tree_values);
	memset(&prof->tree_values[(size_t)node * prof->packed], 0,
	       prof->packed * sizeof *prof->tree_values);
	if (node) {
		prof->tree[node].next_sibling = prof->tree[parent].first_child;
		prof->tree[parent].first_child = node;
	}
	return node;
}

/* Each stack's weight to the node of its leaf, which is behind its callers. */
static void
grow_paths(struct growing *g)
{
	struct profile *prof = g->prof;
	const struct path *before = NULL;
	uint32_t *nodes = NULL;	/* of the path before, <Total> first */
	size_t cap = 0;

	for (size_t i = 0; i < g->len; i++) {
		const struct path *p = &g->paths[i];

		nodes = xgrow(nodes, &cap, p->len + 1u, sizeof *nodes);
		nodes[0] = 0;
		for (uint32_t d = before ? shared(g, before, p) : 0;
		     d < p->len; d++)
			nodes[d + 1] = new_node(g, nodes[d],
						g->functions[p->first + d]);
		packed_add(prof, prof->tree_values, nodes[p->len],
			   &g->weights[(size_t)p->number * prof->packed]);
		before = p;
	}
	free(nodes);
}

static void
grow_tree(struct profile *prof, bool creators)
{
	struct growing g = { .prof = prof };

	if (creators)
		stacks_each_created(prof, visit_path, &g);
	else
		stacks_each(prof, visit_path, &g);
	if (g.len)
		qsort_r(g.paths, g.len, sizeof *g.paths, compare_paths, &g);
	new_node(&g, 0, FUNCTION_TOTAL);
	grow_paths(&g);
	for (size_t i = prof->tree_len; i-- > 1;)
		packed_add(prof, prof->tree_values, prof->tree[i].parent,
			   &prof->tree_values[i * prof->packed]);
	free(g.paths);
	free(g.functions);
	free(g.weights);
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
	if (!prof->tree)
		grow_tree(prof, creators);
	*out = prof->tree;
	return prof->tree_len;
}

void
profile_tree_value(const struct profile *prof, uint32_t node, uint64_t *slots)
{
	profile_unpack(prof, &prof->tree_values[(size_t)node * prof->packed],
		       slots);
}
