/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call tree: one line per distinct path, most expensive child first, with
 * rails that lead down to later siblings. Paths are as deep as the deepest
 * stack, so the walk keeps its own stack and the rails are drawn on demand.
 */
#include "private.h"

#include <stdlib.h>

struct drawing {
	struct viewer *v;
	struct specs specs;
	struct sort sort;
	const struct tree_node *nodes;
	bool *last;		/* by node: no sibling follows it */
	uint32_t *rows;		/* by node */
	uint32_t *path;		/* scratch for print_rails */
	size_t path_cap;
};

static int
compare_children(const void *a, const void *b, void *arg)
{
	const struct drawing *d = arg;

	return item_compare(d->v, &d->sort, a, b);
}

struct children {		/* of one node */
	struct item *items;
	uint64_t *values;	/* of each, by slot */
	size_t len, cap, values_cap;
};

static size_t
count_children(const struct drawing *d, uint32_t node)
{
	size_t n = 0;

	for (uint32_t c = d->nodes[node].first_child; c;
	     c = d->nodes[c].next_sibling)
		n++;
	return n;
}

static void
find_children(struct drawing *d, uint32_t node, struct children *ch)
{
	const size_t slots = d->v->slots, n = count_children(d, node);

	ch->items = xgrow(ch->items, &ch->cap, n, sizeof *ch->items);
	ch->values = xgrow(ch->values, &ch->values_cap, n * slots + 1,
			   sizeof *ch->values);
	ch->len = 0;
	for (uint32_t c = d->nodes[node].first_child; c;
	     c = d->nodes[c].next_sibling) {
		uint64_t *value = &ch->values[ch->len * slots];

		profile_tree_value(d->v->prof, c, value);
		ch->items[ch->len++] = (struct item){
			.index = c, .cost = { value, value },
			.function = profile_function(d->v->prof,
						     d->nodes[c].function),
		};
	}
	if (n)
		qsort_r(ch->items, n, sizeof *ch->items, compare_children, d);
}

static void
print_rails(void *arg, const struct row *row, FILE *out)
{
	struct drawing *d = arg;
	size_t depth = 0;

	for (uint32_t n = row->tag; n; n = d->nodes[n].parent) {
		d->path = xgrow(d->path, &d->path_cap, depth + 1,
				sizeof *d->path);
		d->path[depth++] = n;
	}
	if (depth)
		fputs("  ", out);
	while (depth-- > 1)
		fputs(d->last[d->path[depth]] ? "  " : "|  ", out);
	fputs("+-", out);
}

/* Of what rows are sorted by: what no child has. */
static uint64_t
own_value(const struct drawing *d, const uint64_t *incl,
	  const struct children *ch)
{
	const int slot = d->sort.metric < 0 ? -1 :
		viewer_slot(d->v, d->sort.metric);
	uint64_t below = 0;

	if (slot < 0)
		return 0;
	for (size_t i = 0; i < ch->len; i++)
		below += ch->items[i].cost.incl[slot];
	return incl[slot] - below;
}

static void
add_node(struct drawing *d, struct table *t, uint32_t node,
	 const struct children *ch)
{
	const struct tree_node *n = &d->nodes[node];
	uint64_t incl[METRIC_MAX];
	const struct cost cost = { incl, incl };
	struct row *row = table_row(t, viewer_name(d->v, n->function));

	profile_tree_value(d->v->prof, node, incl);
	row->tag = node;
	row->own = own_value(d, incl, ch);
	d->rows[node] = (uint32_t)(t->rows_len - 1);
	if (node) {
		row->parent = d->rows[n->parent];
		row->depth = t->rows[row->parent].depth + 1;
	}
	table_cost(t, d->v, &d->specs, row, &cost,
		   profile_function(d->v->prof, n->function));
}

/* Depth first; the stack holds nodes yet to be drawn, the next on top. */
static void
walk(struct drawing *d, struct table *t)
{
	const size_t most = d->v->limit ? d->v->limit : SIZE_MAX;
	uint32_t *todo = NULL;
	size_t cap = 0, n = 0;
	struct children ch = {0};

	todo = xgrow(todo, &cap, 1, sizeof *todo);
	todo[n++] = 0;
	while (n > 0 && t->rows_len < most) {
		const uint32_t node = todo[--n];

		find_children(d, node, &ch);
		add_node(d, t, node, &ch);
		todo = xgrow(todo, &cap, n + ch.len + 1, sizeof *todo);
		for (size_t i = ch.len; i-- > 0;) {
			d->last[ch.items[i].index] = i + 1 == ch.len;
			todo[n++] = (uint32_t)ch.items[i].index;
		}
	}
	free(ch.items);
	free(ch.values);
	free(todo);
}

int
view_calltree(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (viewer_exports(v))
		return viewer_export(v, out);

	struct drawing d = { .v = v, .specs = specs_folded(v, ATTRIBUTED),
			     .sort = sort_flavored(v, ATTRIBUTED) };

	if (nothing_to_show(v, out)) {
		list_write_headings(v, &d.specs, &d.sort, out);
		specs_fini(&d.specs);
		return 0;
	}

	const size_t count = profile_tree(v->prof, v->creators, &d.nodes);
	struct table t = { .color = v->color, .is_tree = true,
			   .print_prefix = print_rails, .arg = &d };
	char *by = sort_title(v, &d.sort);

	d.last = xcalloc(count + 1, sizeof *d.last);
	d.rows = xcalloc(count + 1, sizeof *d.rows);
	title_write(v, out, "Functions Call Tree. Metric: %s", by);
	if (v->creators)
		creators_write(v, out);
	putc('\n', out);
	table_columns(&t, v, &d.specs, profile_total(v->prof).incl);
	table_sorted(&t, &d.specs, &d.sort);
	walk(&d, &t);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
	specs_fini(&d.specs);
	free(by);
	free(d.last);
	free(d.rows);
	free(d.path);
	return 0;
}
