/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table as text. Values are aligned at the point; an exact zero is "0.", so
 * that what is small differs from what is not there.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

static void
format_percent(char *buf, size_t size, const struct column *col,
	       const struct row *row, const struct cell *cell)
{
	if (cell_percent(buf, size, col, row, cell) == 2)
		snprintf(buf, size, "0.  ");
}

/* ---- lines of text -------------------------------------------------- */

/* Blanks at the end of a line are held back until something follows. */
struct writer {
	FILE *out;
	size_t pending;
	size_t columns;		/* of this line, so far */
};

static void
put(struct writer *w, const char *text, size_t width)
{
	size_t len = strlen(text);
	const size_t shown = text_width(text);
	const size_t pad = width > shown ? width - shown : 0;

	while (len && text[len - 1] == ' ')
		len--;
	if (len) {
		fprintf(w->out, "%*s%.*s", (int)w->pending, "", (int)len, text);
		w->pending = 0;
	}
	w->pending += strlen(text) - len + pad;
}

/* At most so wide; 0: as it is. */
static void
put_cut(struct writer *w, const char *text, const struct layout *lay)
{
	char *cut = !lay->most ? NULL : lay->is_source ?
		text_cut(text, lay->most) : text_fit(text, lay->most);

	put(w, cut ? cut : text, lay->width);
	free(cut);
}

static void
end_line(struct writer *w)
{
	putc('\n', w->out);
	w->pending = w->columns = 0;
}

/* Before each column but the first; false: it is left out. */
static bool
begins(struct writer *w, const struct layout *lay)
{
	if (lay->left_out)
		return false;
	w->pending += w->columns++ ? 2 : 0;
	return true;
}

static bool
has_groups(const struct table *t)
{
	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].group)
			return true;
	return false;
}

/* Short headings without units are of one line. */
static bool
is_used(const struct table *t, const struct layout *lay, size_t line)
{
	for (size_t c = 0; c < t->columns_len; c++)
		if (!lay[c].left_out && *lay[c].lines[line])
			return true;
	return false;
}

static void
write_headings(const struct table *t, const struct layout *lay, FILE *out)
{
	struct writer w = { .out = out };

	if (has_groups(t)) {
		for (size_t c = 0; c < t->columns_len; c++) {
			const char *group = t->columns[c].group;

			if (begins(&w, &lay[c]))
				put(&w, group ? group : "", lay[c].width);
		}
		end_line(&w);
	}
	for (size_t line = 0; line < LINES; line++) {
		if (!is_used(t, lay, line))
			continue;
		for (size_t c = 0; c < t->columns_len; c++) {
			if (begins(&w, &lay[c]))
				put(&w, lay[c].lines[line], lay[c].width);
		}
		end_line(&w);
	}
}

/* Source text: what stood below each other stays so. */
static char *
expand_tabs(char mark, const char *name)
{
	enum { TAB = 8 };
	struct str out = {0};

	str_addn(&out, &mark, 1);
	for (size_t n; *name; name += n) {
		n = strcspn(name, "\t");
		str_addn(&out, name, n);
		if (name[n] != '\t')
			continue;
		str_addf(&out, "%*s", (int)(TAB - (out.len - 1) % TAB), "");
		n++;
	}
	return str_take(&out);
}

static void
write_name(const struct table *t, const struct row *row,
	   const struct layout *lay, struct writer *w)
{
	char *marked;

	if (!t->print_prefix) {
		marked = expand_tabs(row->mark, row->name);
		put_cut(w, marked, lay);
		free(marked);
		return;
	}
	fprintf(w->out, "%*s ", (int)w->pending, "");
	w->pending = 0;
	if (lay->most) {
		marked = row_fit(t, row, lay->most - 1);
		put(w, marked, 0);
		free(marked);
		return;
	}
	t->print_prefix(t->arg, row, w->out);
	put(w, row->name, 0);
}

static void
write_cell(const struct table *t, const struct row *row, size_t column,
	   const struct layout *lay, struct writer *w)
{
	const struct column *col = &t->columns[column];
	const struct cell *cell = &t->cells[row->cells + column];
	char value[64] = "", percent[32] = "", both[128];

	if (row->blank && cell_empty(col, row, cell)) {
		put(w, "", lay->width);
		return;
	}

	if (col->show & SHOW_VALUE)
		layout_value(value, sizeof value, col, cell);
	if (col->show & SHOW_PERCENT)
		format_percent(percent, sizeof percent, col, row, cell);
	snprintf(both, sizeof both, "%*s%s%*s", (int)lay->value_width, value,
		 col->show == (SHOW_VALUE | SHOW_PERCENT) ? " " : "",
		 col->show & SHOW_PERCENT ? PERCENT_WIDTH : 0, percent);
	put(w, both, lay->width);
}

/* A rule as wide as what stands left of names. */
static void
write_heading_row(const struct table *t, const struct row *row,
		  const struct layout *lay, FILE *out)
{
	size_t width = 0;

	for (size_t c = 0; c < t->columns_len; c++) {
		if (t->columns[c].kind == CELL_NAME)
			break;
		if (!lay[c].left_out)
			width += lay[c].width +
				(t->columns_len > c + 1 ? 2 : 0);
	}
	if (row > t->rows)
		putc('\n', out);
	while (width-- > 0)
		putc('=', out);
	fprintf(out, " %s\n", row->name);
}

static void
write_row(const struct table *t, const struct row *row,
	  const struct layout *lay, FILE *out)
{
	struct writer w = { .out = out };
	const char *color = row_color(t, row);

	if (row->kind == ROW_HEADING) {
		write_heading_row(t, row, lay, out);
		return;
	}
	fputs(color, out);
	for (size_t c = 0; c < t->columns_len; c++) {
		if (!begins(&w, &lay[c]))
			continue;
		if (t->columns[c].kind == CELL_NAME)
			write_name(t, row, &lay[c], &w);
		else if (row->kind == ROW_NAME)
			put(&w, "", lay[c].width);
		else
			write_cell(t, row, c, &lay[c], &w);
	}
	if (*color)
		fputs("\033[0m", out);
	end_line(&w);
}

static void
write_table(const struct table *t, size_t rows, FILE *out)
{
	struct layout *lay = layout_new(t, rows);

	write_headings(t, lay, out);
	for (size_t i = 0; i < rows; i++)
		write_row(t, &t->rows[i], lay, out);
	layout_free(lay, t);
}

const struct table_writer text_writer = {
	.name = "text", .table = write_table,
};
