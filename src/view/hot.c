/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the eye shall find first: the rows where the time is spent.
 */
#include "report.h"

#include <string.h>

enum { HOT = 10, WARM = 3 };	/* percent of all */

/* Its share of all, where time is spent, not through what: the first column
 * that is exclusive; of a tree, what the rows below have not. */
static double
heat(const struct table *t, const struct row *row)
{
	size_t c = t->is_tree ? t->sorted - 1 : 0;

	while (!t->is_tree && c < t->columns_len &&
	       (!t->columns[c].metric || t->columns[c].flavor != EXCLUSIVE))
		c++;
	if (c >= t->columns_len || !t->columns[c].whole)
		return 0;
	return 100 * (double)(t->is_tree ? row->own :
			      t->cells[row->cells + c].value) /
		(double)t->columns[c].whole;
}

/* The escape that begins its color, "" for none. */
const char *
row_color(const struct table *t, const struct row *row)
{
	if (!t->color)
		return "";
	if (row->hot)
		return "\033[1;31m";
	if (row->mark == '*')
		return "\033[1m";
	if (!t->v || row->is_sum || row->kind != ROW_VALUES ||
	    !strcmp(row->name, "<Total>"))
		return "";

	const double share = heat(t, row);

	return share >= HOT ? "\033[1;31m" : share >= WARM ? "\033[33m" : "";
}
