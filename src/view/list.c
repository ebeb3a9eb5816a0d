/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of things with a cost: which columns, in which order, <Total> first.
 * Functions, PCs, lines, objects and threads differ in their names only.
 */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
title_write(const struct viewer *v, FILE *out, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	(void)str_tame_lines(text);
	if (v->report)
		report_title(v->report, text);
	else
		fprintf(out, "%s%s%s\n", v->color ? "\033[1m" : "", text,
			v->color ? "\033[0m" : "");
	free(text);
}

/* ---- columns -------------------------------------------------------- */

static struct column
static_column(enum flavor flavor)
{
	static const struct {
		const char *heading;
		enum cell_kind kind;
	} columns[] = {
		[STATIC_NAME] = { "Name", CELL_NAME },
		[STATIC_SIZE] = { "Size", CELL_COUNT },
		[STATIC_ADDRESS] = { "PC Addr.", CELL_TEXT },
	};

	return (struct column){ .heading = xstrdup(columns[flavor].heading),
				.kind = columns[flavor].kind,
				.show = SHOW_VALUE };
}

struct column
column_of(const struct viewer *v, const struct spec *spec,
	  const uint64_t *whole, const uint64_t *widest)
{
	static const char *const prefix[] = { "Excl.", "Incl.", "Attr." };

	if (spec->metric < 0)
		return static_column(spec->flavor);

	const struct metric *metric = profile_metric(v->prof, spec->metric);
	const int slot = viewer_slot(v, spec->metric);

	return (struct column){
		.heading = xasprintf("%s %s", prefix[spec->flavor],
				     metric->heading),
		.kind = metric->is_time ? CELL_TIME : CELL_COUNT,
		.show = spec->show, .whole = whole[slot],
		.widest = widest[slot], .metric = metric,
		.flavor = spec->flavor,
	};
}

void
table_columns(struct table *t, const struct viewer *v,
	      const struct specs *specs, const uint64_t *whole)
{
	const struct cost total = profile_total(v->prof);

	t->v = v;
	for (size_t i = 0; i < specs->len; i++)
		table_column(t, column_of(v, &specs->items[i], whole,
					  total.incl));
}

void
table_sorted(struct table *t, const struct specs *specs,
	     const struct sort *sort)
{
	for (size_t i = 0; i < specs->len && !t->sorted; i++)
		if (specs->items[i].flavor == sort->flavor &&
		    specs->items[i].metric == sort->metric)
			t->sorted = i + 1;
}

char *
place_address(const struct place *place)
{
	enum { TOTAL_INDEX = 1 };

	return xasprintf("%" PRIu32 ":0x%08" PRIx64, place->object ?
			 place->object->index : TOTAL_INDEX, place->address);
}

struct place
place_of(const struct item *item)
{
	const struct profile_function *fn = item->function;

	if (item->place.object || !fn)
		return item->place;
	return (struct place){ fn->object, fn->start, fn->size };
}

void
cell_static(struct cell *cell, enum flavor flavor, const struct place *place)
{
	if (flavor == STATIC_SIZE)
		cell->value = place->size;
	if (flavor == STATIC_ADDRESS) {
		free(cell->text);
		cell->text = place_address(place);
	}
}

/* Attributed values come as the inclusive ones of the given cost. */
void
table_cost(struct table *t, const struct viewer *v, const struct specs *specs,
	   const struct row *row, const struct cost *cost,
	   const struct profile_function *function)
{
	const struct place place = place_of(&(struct item){
		.function = function });

	for (size_t i = 0; i < specs->len; i++) {
		const struct spec *spec = &specs->items[i];
		struct cell *cell = table_cell(t, row, i);

		if (spec->metric < 0)
			cell_static(cell, spec->flavor, &place);
		else
			cell->value = (spec->flavor == EXCLUSIVE ?
				       cost->excl : cost->incl)
				[viewer_slot(v, spec->metric)];
	}
}

/* ---- order ---------------------------------------------------------- */

static uint64_t
sort_value(const struct viewer *v, const struct sort *sort,
	   const struct cost *cost)
{
	const int slot = sort->metric < 0 ? -1 : viewer_slot(v, sort->metric);

	if (slot < 0)
		return 0;
	return (sort->flavor == EXCLUSIVE ? cost->excl : cost->incl)[slot];
}

static const char *
item_name(struct viewer *v, const struct item *item)
{
	return item->name ? item->name : viewer_name(v, item->function->id);
}

static int
compare_values(const struct viewer *v, const struct sort *sort,
	       const struct item *a, const struct item *b)
{
	const uint64_t x = sort_value(v, sort, &a->cost);
	const uint64_t y = sort_value(v, sort, &b->cost);
	const int order = x != y ? (x > y ? -1 : 1) : 0;

	return sort->reverse ? -order : order;
}

static int
compare_names(struct viewer *v, const struct item *a, const struct item *b)
{
	if (!a->name && !b->name)
		return viewer_compare_names(v, a->function->id,
					    b->function->id);
	return strcmp(item_name(v, a), item_name(v, b));
}

int
item_compare(struct viewer *v, const struct sort *sort, const struct item *a,
	     const struct item *b)
{
	const int order = compare_values(v, sort, a, b);

	if (order)
		return order;
	return sort->reverse ? -compare_names(v, a, b) :
			       compare_names(v, a, b);
}

struct ordering {
	struct viewer *v;
	const struct sort *sort;
};

/* <Total> leads, also where it is but one of the callers. */
static bool
leads(const struct item *item)
{
	return item->function && item->function->id == FUNCTION_TOTAL;
}

/* All but the names. */
static int
compare_items(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const struct item *x = a, *y = b;

	if (leads(x) != leads(y))
		return leads(x) ? -1 : 1;

	const int order = compare_values(by->v, by->sort, x, y);

	if (order || x->order == y->order)
		return order;
	return (x->order < y->order) == by->sort->reverse ? 1 : -1;
}

static int
compare_equals(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;

	return item_compare(by->v, by->sort, a, b);
}

/* Of those that will not be seen nobody needs to know the names. */
void
items_sort(struct viewer *v, const struct sort *sort, struct item *items,
	   size_t n, size_t seen)
{
	struct ordering by = { v, sort };
	size_t end;

	if (n)
		qsort_r(items, n, sizeof *items, compare_items, &by);
	for (size_t i = 0; i < n && i < seen; i = end) {
		end = i + 1;
		while (end < n && !compare_items(&items[i], &items[end], &by))
			end++;
		qsort_r(&items[i], end - i, sizeof *items, compare_equals,
			&by);
	}
}

/* ---- the whole ------------------------------------------------------ */

static void
free_items(struct item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(items[i].name);
		free(items[i].key);
	}
}

/* Rows that are not written are counted, and need no name. */
static void
add_item(struct table *t, struct viewer *v, const struct specs *specs,
	 const struct item *item)
{
	const bool written = !v->limit || t->rows_len < v->limit;
	const struct row *row = table_row(t, written ? item_name(v, item) :
						       "");

	table_cost(t, v, specs, row, &item->cost, item->function);
	for (size_t i = 0; i < specs->len; i++)
		if (specs->items[i].metric < 0 && item->place.object)
			cell_static(table_cell(t, row, i),
				    specs->items[i].flavor, &item->place);
}

void
list_write_headings(struct viewer *v, const struct specs *specs,
		    const struct sort *sort, FILE *out)
{
	const struct cost total = profile_total(v->prof);
	struct table t = { .color = v->color };

	if (!viewer_is_delimited(v))
		return;
	table_columns(&t, v, specs, total.incl);
	table_sorted(&t, specs, sort);
	table_write(&t, 0, out);
	table_fini(&t);
}

void
list_write_specs(struct viewer *v, const char *what,
		 const struct specs *specs, const struct sort *sort,
		 struct item *items, size_t n, FILE *out)
{
	const struct cost total = profile_total(v->prof);
	struct table t = { .color = v->color };

	if (nothing_to_show(v, out)) {
		list_write_headings(v, specs, sort, out);
		free_items(items, n);
		return;
	}

	char *by = sort_title(v, sort);

	title_write(v, out, "%s sorted by metric: %s", what, by);
	putc('\n', out);
	free(by);
	items_sort(v, sort, items, n, v->limit ? v->limit : n);
	table_columns(&t, v, specs, total.incl);
	table_sorted(&t, specs, sort);
	table_cost(&t, v, specs, table_row(&t, "<Total>"), &total, NULL);
	for (size_t i = 0; i < n; i++)
		add_item(&t, v, specs, &items[i]);
	table_write(&t, v->limit, out);
	putc('\n', out);
	table_fini(&t);
	free_items(items, n);
}

enum { AS_THEY_ARE = -1 };

/* true: kept for the table of a comparison. */
static bool
gathered(struct viewer *v, const char *what, int flavor,
	 const struct sort *sort, struct item *items, size_t n)
{
	if (!compare_gathers(v))
		return false;
	compare_gather_list(v, what, flavor, sort, items, n);
	free_items(items, n);
	return true;
}

void
list_write(struct viewer *v, const char *what, struct item *items, size_t n,
	   FILE *out)
{
	if (gathered(v, what, AS_THEY_ARE, &v->sort, items, n))
		return;

	struct specs specs = specs_plain(v);

	list_write_specs(v, what, &specs, &v->sort, items, n, out);
	specs_fini(&specs);
}

void
list_write_flavored(struct viewer *v, const char *what, enum flavor flavor,
		    struct item *items, size_t n, FILE *out)
{
	const struct sort sort = sort_flavored(v, flavor);

	if (gathered(v, what, (int)flavor, &sort, items, n))
		return;

	struct specs specs = specs_folded(v, flavor);

	list_write_specs(v, what, &specs, &sort, items, n, out);
	specs_fini(&specs);
}
