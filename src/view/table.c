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

/* Others gave the names: one row stays one row. Columns of source keep their
 * tabs. */
static void
tame_cells(const struct table *t)
{
	for (size_t i = 0; i < t->cells_len; i++)
		if (t->cells[i].text)
			(void)str_tame(t->cells[i].text);
}

static char *
tame_name(const char *name)
{
	char *shown = str_tame_lines(xstrdup(name));

	for (char *c = shown; (c = strchr(c, '\n'));)
		*c = '?';
	return shown;
}

static void
write_tame(const struct table *t, size_t rows, FILE *out)
{
	struct table shown = *t;
	struct vec names = {0};

	tame_cells(t);
	shown.rows = xcalloc(rows + 1, sizeof *shown.rows);
	for (size_t i = 0; i < rows; i++) {
		shown.rows[i] = t->rows[i];
		if (str_is_tame(t->rows[i].name))
			continue;
		vec_push(&names, tame_name(t->rows[i].name));
		shown.rows[i].name = names.items[names.len - 1];
	}
	if (t->v && t->v->report)
		report_table(t->v->report, &shown, rows);
	else
		text_writer.table(&shown, rows, out);
	vec_free_items(&names);
	free(shown.rows);
}

void
table_write(const struct table *t, size_t limit, FILE *out)
{
	const size_t rows = limit && limit < t->rows_len ? limit : t->rows_len;

	/* JSON says any name whole */
	if (t->v && t->v->report && t->v->format == VIEW_JSON)
		report_table(t->v->report, t, rows);
	else
		write_tame(t, rows, out);
}
