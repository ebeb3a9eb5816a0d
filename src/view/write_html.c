/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A view as a page: one HTML document, with a table for each table, the column
 * that rows are sorted by marked, and what else the view prints as it stands.
 * Whatever others named is text there, never markup.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

static void
text(FILE *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(*s, out);
		}
}

/* th_C th_L td_R td_L, with G where the column is sorted by */
static void
open_cell(const struct table *t, size_t column, const char *tag, FILE *out)
{
	const bool is_name = t->columns[column].kind == CELL_NAME;

	fprintf(out, "<%s class=\"%s_%c%s\"", tag, tag,
		is_name ? 'L' : tag[1] == 'h' ? 'C' : 'R',
		t->sorted == column + 1 ? "G" : "");
}

static bool
has_both(const struct column *col)
{
	return col->show == (SHOW_VALUE | SHOW_PERCENT);
}

static void
headings(const struct table *t, FILE *out)
{
	fputs("<tr>", out);
	for (size_t c = 0; c < t->columns_len; c++) {
		char *words[2];

		column_words(&t->columns[c], words);
		open_cell(t, c, "th", out);
		fprintf(out, "%s>",
			has_both(&t->columns[c]) ? " colspan=\"2\"" : "");
		text(out, t->columns[c].group ? t->columns[c].group : "");
		fprintf(out, "<br>%s",
			t->sorted == c + 1 ? "&nabla;&nbsp;" : "");
		text(out, words[0]);
		fputs("<br>", out);
		text(out, words[1]);
		fputs("</th>", out);
		free(words[0]);
		free(words[1]);
	}
	fputs("</tr>\n", out);
}

static void
units(const struct table *t, FILE *out)
{
	fputs("<tr>", out);
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];

		if (col->show & SHOW_VALUE) {
			open_cell(t, c, "th", out);
			fprintf(out, ">%s</th>", column_unit(col));
		}
		if (col->show & SHOW_PERCENT) {
			open_cell(t, c, "th", out);
			fputs(">(%)</th>", out);
		}
	}
	fputs("</tr>\n", out);
}

static void
cell(const struct table *t, const struct row *row, size_t c, FILE *out)
{
	const struct column *col = &t->columns[c];
	const struct cell *value = &t->cells[row->cells + c];
	char number[64];

	if (cell_empty(col, row, value)) {
		open_cell(t, c, "td", out);
		fprintf(out, "%s></td>", has_both(col) ?
			" colspan=\"2\"" : "");
		return;
	}
	if (col->kind == CELL_NAME || col->kind == CELL_TEXT) {
		char *name = col->kind == CELL_NAME ? row_name(t, row) :
			xstrdup(value->text ? value->text : "");

		open_cell(t, c, "td", out);
		putc('>', out);
		text(out, name);
		fputs("</td>", out);
		free(name);
		return;
	}
	if (col->show & SHOW_VALUE) {
		(void)cell_value(number, sizeof number, col, value);
		open_cell(t, c, "td", out);
		fprintf(out, ">%s</td>", number);
	}
	if (col->show & SHOW_PERCENT) {
		(void)cell_percent(number, sizeof number, col, row, value);
		open_cell(t, c, "td", out);
		fprintf(out, ">%s</td>", number);
	}
}

static void
write_title(FILE *out, const struct report *r)
{
	if (!r->title.len)
		return;
	fputs("<h3>", out);
	text(out, str_text(&r->title));
	fputs("</h3>\n", out);
}

static void
before_table(struct report *r)
{
	write_title(r->tables, r);
}

static void
write_table(const struct table *t, size_t rows, FILE *out)
{
	fputs("<table border=\"1\">\n", out);
	headings(t, out);
	units(t, out);
	for (size_t i = 0; i < rows; i++) {
		fputs("<tr>", out);
		for (size_t c = 0; c < t->columns_len; c++)
			cell(t, &t->rows[i], c, out);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static const char style[] =
	"<style>\n"
	"body { font-family: sans-serif; }\n"
	"h3 { white-space: pre-line; }\n"
	"table { border-collapse: collapse; }\n"
	"th, td { padding: 1px 6px; }\n"
	"th { background-color: lightgoldenrodyellow; }\n"
	".th_L, .th_LG { text-align: left; }\n"
	".td_R, .td_RG { text-align: right; font-family: monospace; }\n"
	".td_L, .td_LG { white-space: pre; font-family: monospace; }\n"
	".th_CG, .th_LG, .td_RG, .td_LG { background-color: #ffff33; }\n"
	"</style>\n";

static void
write_report(struct report *r, FILE *out)
{
	const char *title = r->first_title ? r->first_title : r->words[0];

	fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\">\n<title>",
	      out);
	text(out, title);
	fprintf(out, "</title>\n%s</head><body>\n", style);
	fwrite(r->tables_text, 1, r->tables_size, out);
	if (strspn(r->rest_text, "\n") < r->rest_size) {
		fputs("<pre>\n", out);
		text(out, r->rest_text + strspn(r->rest_text, "\n"));
		fputs("</pre>\n", out);
	}
	fputs("</body></html>\n", out);
}

const struct table_writer html_writer = {
	.name = "html", .table = write_table, .before_table = before_table,
	.report = write_report,
};
