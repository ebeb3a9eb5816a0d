/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was gathered of all groups, as tables: for each metric a column of each
 * group, in the order in which they were named. The first group's values are
 * as they are; in `delta` and `ratio` the others' are told by it. Percent are
 * of the group's own whole.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

struct layout {			/* of one comparison */
	struct viewer *v;
	const struct comparison *c;
	struct specs specs;
};

enum relation
compare_relation(const struct viewer *v, size_t group)
{
	if (!group)
		return AS_IT_IS;
	return v->compare == COMPARE_DELTA ? DELTA :
	       v->compare == COMPARE_RATIO ? RATIO : AS_IT_IS;
}

static bool
is_name(const struct spec *spec)
{
	return spec->metric < 0 && spec->flavor == STATIC_NAME;
}

/* wholes: what 100 % is in each group. */
static void
add_columns(const struct layout *l, struct table *t,
	    const uint64_t *const *wholes)
{
	for (size_t i = 0; i < l->specs.len; i++) {
		const struct spec *spec = &l->specs.items[i];
		const size_t n = is_name(spec) ? 1 : l->c->len;

		for (size_t g = 0; g < n; g++) {
			struct column col = column_of(l->v, spec, wholes[g],
						      l->c->groups[g].total);

			if (!is_name(spec)) {
				col.group = l->c->groups[g].name;
				col.relation = spec->metric < 0 ? AS_IT_IS :
					compare_relation(l->v, g);
			}
			table_column(t, col);
		}
	}
}

/* Of inclusive values those of attributed columns are made. */
static uint64_t
value_of(const struct layout *l, const struct gathered *g,
	 const struct spec *spec)
{
	if (!g)
		return 0;
	return (spec->flavor == EXCLUSIVE ? g->excl : g->incl)
		[viewer_slot(l->v, spec->metric)];
}

static void
fill_row(const struct layout *l, struct table *t, const struct row *row,
	 const struct gathered *const *cells)
{
	const struct place nowhere = {0};
	size_t column = 0;

	for (size_t i = 0; i < l->specs.len; i++) {
		const struct spec *spec = &l->specs.items[i];

		for (size_t g = 0; g < (is_name(spec) ? 1 : l->c->len); g++) {
			struct cell *cell = table_cell(t, row, column++);

			if (spec->metric < 0) {
				cell_static(cell, spec->flavor, cells[g] ?
					    &cells[g]->place : &nowhere);
				continue;
			}
			cell->value = value_of(l, cells[g], spec);
			cell->base = value_of(l, cells[0], spec);
		}
	}
}

/* What it is called in all groups, or what makes it the same in them. */
static const char *
name_of(const struct layout *l, const struct joined *row)
{
	for (size_t g = 0; g < l->c->len; g++)
		if (row->cells[g] && !row->first->function &&
		    strcmp(row->cells[g]->name, row->first->name) != 0)
			return row->first->key;
	return row->first->name;
}

static void
add_rows(const struct layout *l, struct table *t, const struct join *j)
{
	for (size_t i = 0; i < j->len; i++)
		fill_row(l, t, table_row(t, name_of(l, &j->rows[i])),
			 j->rows[i].cells);
}

/* Rows follow the first group's column. */
static void
mark_sorted(const struct layout *l, struct table *t)
{
	const struct sort *sort = &l->c->sort;
	size_t column = 1;

	for (size_t i = 0; i < l->specs.len && !t->sorted; i++) {
		const struct spec *spec = &l->specs.items[i];

		if (spec->flavor == sort->flavor &&
		    spec->metric == sort->metric)
			t->sorted = column;
		column += is_name(spec) ? 1 : l->c->len;
	}
}

/* ---- a list --------------------------------------------------------- */

static void
add_total(const struct layout *l, struct table *t)
{
	struct gathered *totals = xcalloc(l->c->len, sizeof *totals);
	const struct gathered **cells = xcalloc(l->c->len, sizeof *cells);

	for (size_t g = 0; g < l->c->len; g++) {
		totals[g].excl = totals[g].incl = l->c->groups[g].total;
		cells[g] = &totals[g];
	}
	fill_row(l, t, table_row(t, "<Total>"), cells);
	free(cells);
	free(totals);
}

static const uint64_t **
totals_of(const struct comparison *c)
{
	const uint64_t **wholes = xcalloc(c->len, sizeof *wholes);

	for (size_t g = 0; g < c->len; g++)
		wholes[g] = c->groups[g].total;
	return wholes;
}

static void
write_list(const struct layout *l, FILE *out)
{
	const struct comparison *c = l->c;
	struct viewer *v = l->v;
	const struct gathered_list **lists = xcalloc(c->len, sizeof *lists);
	const uint64_t **wholes = totals_of(c);
	struct table t = { .color = v->color, .v = v };
	char *by = sort_title(v, &c->sort);
	struct join join;

	for (size_t g = 0; g < c->len; g++)
		lists[g] = &c->gathered[g].list;
	join_make(&join, lists, c->len);
	join_sort(&join, v, &c->sort);
	title_write(v, out, "%s sorted by metric: %s", c->what, by);
	putc('\n', out);
	add_columns(l, &t, wholes);
	mark_sorted(l, &t);
	add_total(l, &t);
	add_rows(l, &t, &join);
	table_write(&t, v->limit, out);
	putc('\n', out);
	table_fini(&t);
	join_fini(&join);
	free(by);
	free(wholes);
	free(lists);
}

/* ---- callers and callees -------------------------------------------- */

struct pane {			/* of one function, by group; NULL: none */
	const struct gathered_pane **of;
	const struct joined *row;
};

static void
add_side(const struct layout *l, struct table *t, const struct pane *p,
	 bool callers)
{
	const struct sort sort = sort_flavored(l->v, ATTRIBUTED);
	const struct gathered_list **lists = xcalloc(l->c->len,
						     sizeof *lists);
	struct join join;

	for (size_t g = 0; g < l->c->len; g++)
		if (p->of[g])
			lists[g] = callers ? &p->of[g]->callers :
					     &p->of[g]->callees;
	join_make(&join, lists, l->c->len);
	join_sort(&join, l->v, &sort);
	if (l->c->is_fragment)
		table_row(t, callers ? (join.len ? "Callers" : "No Callers") :
			  join.len ? "Callees" : "No Callees")
			->kind = ROW_HEADING;
	add_rows(l, t, &join);
	join_fini(&join);
	free(lists);
}

/* The functions of the fragment but for the last, which is the centre. */
static void
add_fragment(const struct layout *l, struct table *t)
{
	table_row(t, "Stack Fragment")->kind = ROW_HEADING;
	for (size_t i = 0; i + 1 < l->v->fragment_len; i++)
		table_row(t, fragment_name(l->v, i))->kind = ROW_NAME;
}

/* Does no experiment have a stack that holds the fragment? */
static bool
is_nowhere(const struct layout *l, const struct pane *p)
{
	for (size_t g = 0; g < l->c->len; g++) {
		const struct gathered_pane *pane = p->of[g];

		if (!pane)
			continue;
		if (pane->callers.len || pane->callees.len)
			return false;
		for (size_t s = 0; s < l->v->slots; s++)
			if (pane->centre.items[0].incl[s])
				return false;
	}
	return true;
}

/* What its own spent itself stands in the centre. */
static void
add_centre(const struct layout *l, struct table *t, const struct pane *p)
{
	struct gathered *own = xcalloc(l->c->len, sizeof *own);
	const struct gathered **cells = xcalloc(l->c->len, sizeof *cells);
	struct row *row = table_row(t, p->row->first->name);

	for (size_t g = 0; g < l->c->len; g++) {
		if (!p->row->cells[g])
			continue;
		own[g] = *p->row->cells[g];
		own[g].incl = own[g].excl;
		cells[g] = &own[g];
	}
	row->mark = l->c->is_fragment ? ' ' : '*';
	if (l->c->is_fragment && is_nowhere(l, p))
		row->kind = ROW_NAME;
	row->no_percent = p->row->first->leads;
	fill_row(l, t, row, cells);
	free(cells);
	free(own);
}

/* 100 %: of <Total> what its callees sum up to, so without lost stacks. */
static uint64_t *
whole_of(const struct layout *l, const struct pane *p, size_t group)
{
	const size_t slots = l->v->slots;
	uint64_t *whole = xcalloc(slots + 1, sizeof *whole);
	const struct gathered_pane *pane = p->of[group];

	for (size_t s = 0; pane && s < slots; s++) {
		if (!p->row->first->leads)
			whole[s] = pane->centre.items[0].incl[s];
		for (size_t i = 0; p->row->first->leads &&
		     i < pane->callees.len; i++)
			whole[s] += pane->callees.items[i].incl[s];
	}
	return whole;
}

static void
write_pane(const struct layout *l, const struct pane *p, FILE *out)
{
	struct table t = { .color = l->v->color, .v = l->v };
	uint64_t **wholes = xcalloc(l->c->len, sizeof *wholes);

	for (size_t g = 0; g < l->c->len; g++)
		wholes[g] = whole_of(l, p, g);
	add_columns(l, &t, (const uint64_t *const *)wholes);
	add_side(l, &t, p, true);
	if (l->c->is_fragment)
		add_fragment(l, &t);
	add_centre(l, &t, p);
	add_side(l, &t, p, false);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
	for (size_t g = 0; g < l->c->len; g++)
		free(wholes[g]);
	free(wholes);
}

/* The centres of a group's panes, as a list; a view of them. */
static struct gathered_list
centres_of(const struct gathering *g)
{
	struct gathered_list l = {0};

	l.items = xcalloc(g->panes_len + 1, sizeof *l.items);
	l.len = g->panes_len;
	for (size_t i = 0; i < l.len; i++)
		l.items[i] = g->panes[i].centre.items[0];
	return l;
}

static void
write_joined_panes(const struct layout *l, const struct join *join, FILE *out)
{
	const size_t most = l->v->limit && l->v->limit < join->len ?
		l->v->limit : join->len;
	struct pane p = { .of = xcalloc(l->c->len, sizeof *p.of) };

	for (size_t i = 0; i < most; i++) {
		p.row = &join->rows[i];
		for (size_t g = 0; g < l->c->len; g++)
			p.of[g] = p.row->cells[g] ? &l->c->gathered[g]
				.panes[p.row->at[g]] : NULL;
		write_pane(l, &p, out);
	}
	free(p.of);
}

static void
write_panes(const struct layout *l, FILE *out)
{
	struct viewer *v = l->v;
	const size_t groups = l->c->len;
	const struct sort attributed = sort_flavored(v, ATTRIBUTED);
	struct gathered_list *centres = xcalloc(groups, sizeof *centres);
	const struct gathered_list **lists = xcalloc(groups, sizeof *lists);
	char *by = sort_title(v, &v->sort);
	char *attr_by = sort_title(v, &attributed);
	struct join join;

	for (size_t g = 0; g < groups; g++) {
		centres[g] = centres_of(&l->c->gathered[g]);
		lists[g] = &centres[g];
	}
	join_make(&join, lists, groups);
	join_sort(&join, v, &v->sort);
	if (!l->c->is_fragment)
		title_write(v, out, "Functions sorted by metric: %s", by);
	title_write(v, out, "Callers and callees sorted by metric: %s",
		    attr_by);
	putc('\n', out);
	write_joined_panes(l, &join, out);
	join_fini(&join);
	for (size_t g = 0; g < groups; g++)
		free(centres[g].items);
	free(centres);
	free(lists);
	free(by);
	free(attr_by);
}

void
compared_write(struct viewer *v, FILE *out)
{
	const struct comparison *c = v->comparison;
	struct layout l = { .v = v, .c = c };

	if (c->is_panes)
		l.specs = specs_folded(v, ATTRIBUTED);
	else if (c->is_list)
		l.specs = c->flavor < 0 ? specs_plain(v) :
			specs_folded(v, (enum flavor)c->flavor);
	if (c->is_panes)
		write_panes(&l, out);
	else if (c->is_list)
		write_list(&l, out);
	specs_fini(&l.specs);
}
