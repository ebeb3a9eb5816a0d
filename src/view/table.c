/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of cells: columns, rows, values. How it looks is the business of a
 * writer, which knows no view.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void
table_column(struct table *t, struct column column)
{
	t->columns = xgrow(t->columns, &t->columns_cap, t->columns_len + 1,
			   sizeof *t->columns);
	t->columns[t->columns_len++] = column;
}

struct row *
table_row(struct table *t, const char *name)
{
	const size_t first = t->cells_len;

	t->rows = xgrow(t->rows, &t->rows_cap, t->rows_len + 1,
			sizeof *t->rows);
	t->cells_len += t->columns_len;
	t->cells = xgrow(t->cells, &t->cells_cap, t->cells_len + 1,
			 sizeof *t->cells);
	memset(&t->cells[first], 0, t->columns_len * sizeof *t->cells);
	t->rows[t->rows_len] = (struct row){ .name = name, .mark = ' ',
					     .cells = first };
	return &t->rows[t->rows_len++];
}

struct cell *
table_cell(struct table *t, const struct row *row, size_t column)
{
	return &t->cells[row->cells + column];
}

void
table_fini(struct table *t)
{
	for (size_t i = 0; i < t->columns_len; i++)
		free(t->columns[i].heading);
	for (size_t i = 0; i < t->cells_len; i++)
		free(t->cells[i].text);
	free(t->columns);
	free(t->rows);
	free(t->cells);
	*t = (struct table){0};
}

void
table_write(const struct table *t, size_t limit, FILE *out)
{
	const size_t rows = limit && limit < t->rows_len ? limit : t->rows_len;
	struct report *r = t->v ? t->v->report : NULL;

	if (r)
		report_table(r, t, rows);
	else
		text_writer.table(t, rows, out);
}
