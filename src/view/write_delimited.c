/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables for spreadsheets: quoted fields with a character between them. Behind
 * `printmode CHARACTER` the heading has four lines, as gprofng prints them,
 * and V marks the column that rows are sorted by; csv has one heading, and a
 * quote within a field is doubled in both (RFC 4180).
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT_WIDTH = 3 };

struct fields {
	FILE *out;
	char separator;
	bool more;		/* a field stands before in this line */
};

static void
field(struct fields *f, const char *text)
{
	if (f->more)
		putc(f->separator, f->out);
	putc('"', f->out);
	for (const char *c = text; *c; c++) {
		if (*c == '"')
			putc('"', f->out);
		putc(*c, f->out);
	}
	putc('"', f->out);
	f->more = true;
}

static void
end_record(struct fields *f)
{
	putc('\n', f->out);
	f->more = false;
}

static bool
has_both(const struct column *col)
{
	return col->show == (SHOW_VALUE | SHOW_PERCENT);
}

static void
cells(struct fields *f, const struct table *t, const struct row *row)
{
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];
		const struct cell *cell = &t->cells[row->cells + c];
		char text[64];

		if (col->kind == CELL_NAME) {
			char *name = row_name(t, row);

			field(f, name);
			free(name);
			continue;
		}
		if (cell_empty(col, row, cell)) {
			for (int i = 0; i <= has_both(col); i++)
				field(f, "");
			continue;
		}
		if (col->kind == CELL_TEXT) {
			field(f, cell->text ? cell->text : "");
			continue;
		}
		if (col->show & SHOW_VALUE) {
			(void)cell_value(text, sizeof text, col, cell);
			field(f, text);
		}
		if (col->show & SHOW_PERCENT) {
			(void)cell_percent(text, sizeof text, col, row, cell);
			field(f, text);
		}
	}
	end_record(f);
}

/* ---- four lines, or one --------------------------------------------- */

/* Line 0 is for the names of experiments that are compared. */
static void
heading_line(struct fields *f, const struct table *t, size_t line)
{
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];
		char *words[2];

		column_words(col, words);
		for (int i = 0; i <= has_both(col); i++)
			field(f, line ? words[line - 1] :
			      col->group ? col->group : "");
		free(words[0]);
		free(words[1]);
	}
	end_record(f);
}

static void
unit_line(struct fields *f, const struct table *t)
{
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];
		const char *mark = t->sorted == c + 1 ? "V" : "";
		char text[32];

		if (col->show & SHOW_VALUE) {
			snprintf(text, sizeof text, "%-*s%s", UNIT_WIDTH, mark,
				 column_unit(col));
			field(f, text);
		}
		if (col->show & SHOW_PERCENT) {
			snprintf(text, sizeof text, "%-*s%%", UNIT_WIDTH,
				 mark);
			field(f, text);
		}
	}
	end_record(f);
}

static void
write_delimited(const struct table *t, size_t rows, FILE *out)
{
	struct fields f = { .out = out, .separator = t->v->delimiter };

	heading_line(&f, t, 0);
	heading_line(&f, t, 1);
	heading_line(&f, t, 2);
	unit_line(&f, t);
	for (size_t i = 0; i < rows; i++)
		cells(&f, t, &t->rows[i]);
}

static void
one_heading(struct fields *f, const struct table *t)
{
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];
		char *words[2], *title;

		column_words(col, words);
		title = xasprintf("%s%s%s%s%s", col->group ? col->group : "",
				  col->group ? ": " : "", words[0],
				  *words[1] ? " " : "", words[1]);
		if (col->show & SHOW_VALUE) {
			char *text = xasprintf("%s%s%s", title,
					       *column_unit(col) ? " " : "",
					       column_unit(col));

			field(f, text);
			free(text);
		}
		if (col->show & SHOW_PERCENT) {
			char *text = xasprintf("%s (%%)", title);

			field(f, text);
			free(text);
		}
		free(words[0]);
		free(words[1]);
		free(title);
	}
	end_record(f);
}

static void
write_csv(const struct table *t, size_t rows, FILE *out)
{
	struct fields f = { .out = out, .separator = ',' };

	one_heading(&f, t);
	for (size_t i = 0; i < rows; i++)
		cells(&f, t, &t->rows[i]);
}

/* ---- the whole ------------------------------------------------------ */

/* A line between tables. What is no table is text, behind them. */
static void
before_table(struct report *r)
{
	if (r->count)
		putc('\n', r->tables);
}

static void
write_report(struct report *r, FILE *out)
{
	fwrite(r->tables_text, 1, r->tables_size, out);
	if (strspn(r->rest_text, "\n") == r->rest_size)
		return;
	if (r->tables_size)
		putc('\n', out);
	fputs(r->rest_text + strspn(r->rest_text, "\n"), out);
}

const struct table_writer delimited_writer = {
	.name = "delimited", .table = write_delimited,
	.before_table = before_table, .report = write_report,
};

const struct table_writer csv_writer = {
	.name = "csv", .table = write_csv, .before_table = before_table,
	.report = write_report,
};
