/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Callers and callees: one pane per function. Above the function, marked
 * `*`, stand its callers with what of its cost came through each; below, its
 * callees with what it spent in each; its own line is what it spent itself.
 * Percent are of the function's inclusive cost.
 */
#include "private.h"

#include <stdlib.h>

struct panes {			/* what is fixed while panes are written */
	struct viewer *v;
	struct specs specs;
	struct sort sort;
	const struct edge_cost *edges;
	uint32_t *by_from, *by_to;	/* edges, grouped */
	uint32_t *from_start, *to_start;	/* of each function's group */
};

/* Group the edges by one end: a counting sort. */
static void
group(const struct edge_cost *edges, size_t n, size_t functions,
      bool by_caller, uint32_t **order, uint32_t **start)
{
	*order = xcalloc(n + 1, sizeof **order);
	*start = xcalloc(functions + 2, sizeof **start);
	for (size_t i = 0; i < n; i++)
		(*start)[(by_caller ? edges[i].from : edges[i].to) + 2 - 1]++;
	for (size_t f = 1; f <= functions; f++)
		(*start)[f] += (*start)[f - 1];

	uint32_t *next = xcalloc(functions + 1, sizeof *next);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t f = by_caller ? edges[i].from : edges[i].to;

		(*order)[(*start)[f] + next[f]++] = i;
	}
	free(next);
}

struct neighbours {
	struct item *items;
	uint64_t *values;	/* of each, by slot */
	size_t len;
};

static void
neighbours_fini(struct neighbours *near)
{
	free(near->items);
	free(near->values);
}

/* The functions at the far ends of a group, most expensive first. */
static struct neighbours
neighbours_of(struct panes *p, uint32_t function, bool callers)
{
	const struct viewer *v = p->v;
	const uint32_t *start = callers ? p->to_start : p->from_start;
	const uint32_t *order = (callers ? p->by_to : p->by_from) +
		start[function];
	const size_t n = start[function + 1] - start[function];
	struct neighbours near = {
		.items = xcalloc(n + 1, sizeof *near.items), .len = n,
		.values = xcalloc(n * v->slots + 1, sizeof *near.values),
	};

	for (size_t i = 0; i < n; i++) {
		const struct edge_cost *e = &p->edges[order[i]];
		uint64_t *value = &near.values[i * v->slots];

		if (callers)
			profile_edge_at_callee(v->prof, order[i], value);
		else
			profile_edge_at_caller(v->prof, order[i], value);
		near.items[i] = (struct item){
			.cost = { value, value },
			.function = profile_function(v->prof, callers ?
						     e->from : e->to),
		};
	}
	items_sort(p->v, &p->sort, near.items, n, n);
	return near;
}

static void
add_neighbours(struct panes *p, struct table *t, const struct neighbours *near)
{
	const struct item *items = near->items;

	for (size_t i = 0; i < near->len; i++)
		table_cost(t, p->v, &p->specs, table_row(t, viewer_name(
			   p->v, items[i].function->id)),
			   &items[i].cost, items[i].function);
}

/* Of <Total>: what its callees sum up to, so without lost stacks. */
static void
sum_items(const struct viewer *v, const struct neighbours *near, uint64_t *sum)
{
	for (size_t s = 0; s < v->slots; s++) {
		sum[s] = 0;
		for (size_t i = 0; i < near->len; i++)
			sum[s] += near->values[i * v->slots + s];
	}
}

/* true: kept for the tables of a comparison. */
static bool
gathered(struct panes *p, uint32_t function, const struct cost *cost,
	 const struct neighbours *callers, const struct neighbours *callees)
{
	const struct item centre = {
		.cost = *cost,
		.function = profile_function(p->v->prof, function),
	};

	if (!compare_gathers(p->v))
		return false;
	compare_gather_pane(p->v, &centre, callers->items, callers->len,
			    callees->items, callees->len);
	return true;
}

static void
write_table(struct panes *p, uint32_t function, const struct cost *cost,
	    const struct neighbours *callers, const struct neighbours *callees,
	    FILE *out)
{
	struct table t = { .color = p->v->color };
	const bool is_total = function == FUNCTION_TOTAL;
	uint64_t sum[METRIC_MAX];

	sum_items(p->v, callees, sum);
	table_columns(&t, p->v, &p->specs, is_total ? sum : cost->incl);
	table_sorted(&t, &p->specs, &p->sort);
	add_neighbours(p, &t, callers);

	struct row *centre = table_row(&t, viewer_name(p->v, function));

	centre->mark = '*';
	centre->no_percent = is_total;
	table_cost(&t, p->v, &p->specs, centre,
		   &(struct cost){ cost->excl, cost->excl },
		   profile_function(p->v->prof, function));
	add_neighbours(p, &t, callees);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
}

static void
write_pane(struct panes *p, uint32_t function, const struct cost *cost,
	   FILE *out)
{
	struct neighbours callers = neighbours_of(p, function, true);
	struct neighbours callees = neighbours_of(p, function, false);

	if (!gathered(p, function, cost, &callers, &callees))
		write_table(p, function, cost, &callers, &callees, out);
	neighbours_fini(&callers);
	neighbours_fini(&callees);
}

static void
write_panes(struct panes *p, FILE *out)
{
	struct viewer *v = p->v;
	const struct function_cost *costs;
	const size_t n = profile_functions(v->prof, &costs);
	const size_t most = v->limit && v->limit < n + 1 ? v->limit : n + 1;
	struct item *items = xcalloc(n + 1, sizeof *items);
	const struct cost total = profile_total(v->prof);

	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){
			.cost = costs[i].cost,
			.function = profile_function(v->prof,
						     costs[i].function),
		};
	items_sort(v, &v->sort, items, n, most);
	write_pane(p, FUNCTION_TOTAL, &total, out);
	for (size_t i = 0; i + 1 < most; i++)
		write_pane(p, items[i].function->id, &items[i].cost, out);
	free(items);
}

int
view_callers(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (viewer_exports(v))
		return viewer_export(v, out);

	struct panes p = { .v = v, .specs = specs_folded(v, ATTRIBUTED),
			   .sort = sort_flavored(v, ATTRIBUTED) };

	if (nothing_to_show(v, out)) {
		list_write_headings(v, &p.specs, &p.sort, out);
		specs_fini(&p.specs);
		return 0;
	}

	const size_t edges = profile_edges(v->prof, &p.edges);
	const size_t functions = profile_function_count(v->prof);
	char *by = sort_title(v, &v->sort), *attr_by = sort_title(v, &p.sort);

	group(p.edges, edges, functions, true, &p.by_from, &p.from_start);
	group(p.edges, edges, functions, false, &p.by_to, &p.to_start);
	title_write(v, out, "Functions sorted by metric: %s", by);
	title_write(v, out, "Callers and callees sorted by metric: %s",
		    attr_by);
	putc('\n', out);
	write_panes(&p, out);
	free(by);
	free(attr_by);
	free(p.by_from);
	free(p.by_to);
	free(p.from_start);
	free(p.to_start);
	specs_fini(&p.specs);
	return 0;
}
