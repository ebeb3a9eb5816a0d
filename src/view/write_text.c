/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table as text. Headings are words: they are broken into at most three
 * lines, as narrow as the cells allow, with the unit in the last. Values are
 * aligned at the point; an exact zero is "0.", so that what is small differs
 * from what is not there.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 3, PERCENT_WIDTH = 6, WORDS_MAX = 16, NAME_LEAST = 16 };

/* ---- cells ---------------------------------------------------------- */

/* A zero has its point where the others have it; snprintf's size rules. */
static int
format_value(char *buf, size_t size, const struct column *col,
	     const struct cell *cell)
{
	const int n = cell_value(buf, size, col, cell);

	if (n < 2 || (size_t)n + 4 > size || buf[n - 1] != '.' ||
	    (col->kind != CELL_TIME && col->relation != RATIO))
		return n;
	memcpy(buf + n, "   ", 4);
	return n + 3;
}

static void
format_percent(char *buf, size_t size, const struct column *col,
	       const struct row *row, const struct cell *cell)
{
	if (cell_percent(buf, size, col, row, cell) == 2)
		snprintf(buf, size, "0.  ");
}

struct layout {			/* of one column */
	size_t value_width, width;
	size_t most;		/* of a name on a terminal; 0: any */
	bool is_source;		/* no names, but text of a file */
	char *lines[LINES];
};

static size_t
value_width(const struct table *t, size_t column, size_t rows)
{
	const struct column *col = &t->columns[column];
	const struct cell widest = { .value = col->widest };
	char buf[64];

	if (!(col->show & SHOW_VALUE))
		return 0;

	size_t width = (size_t)format_value(buf, sizeof buf, col, &widest);

	for (size_t i = 0; i < rows; i++) {
		const int n = format_value(buf, sizeof buf, col,
					   &t->cells[t->rows[i].cells +
						     column]);

		if ((size_t)n > width)
			width = (size_t)n;
	}
	return width;
}

/* ---- headings ------------------------------------------------------- */

static size_t
split(char *text, const char *words[WORDS_MAX])
{
	char *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return n;
}

/* Fill lines greedily; false when max lines of that width are too few. */
static bool
fill(const char *const *words, size_t n, size_t width, size_t max,
     struct str lines[LINES])
{
	size_t line = 0;

	for (size_t i = 0; i < LINES; i++)
		str_clear(&lines[i]);
	for (size_t i = 0; i < n; i++) {
		const size_t len = strlen(words[i]);

		if (lines[line].len && lines[line].len + 1 + len > width)
			line++;
		if (line >= max || len > width)
			return false;
		str_addf(&lines[line], "%s%s", lines[line].len ? " " : "",
			 words[i]);
	}
	return true;
}

static const char *
unit_of(const struct column *col)
{
	static const char *const relations[] = { [DELTA] = "delta",
						 [RATIO] = "ratio" };

	return col->relation != AS_IT_IS ? relations[col->relation] :
	       col->kind == CELL_TIME ? "sec." : "";
}

static void
unit_line(const struct column *col, const struct layout *lay, struct str *out)
{
	str_clear(out);
	if (col->show & SHOW_VALUE)
		str_addf(out, "%*s", (int)lay->value_width, unit_of(col));
	if (col->show == (SHOW_VALUE | SHOW_PERCENT))
		str_add(out, " ");
	if (col->show & SHOW_PERCENT)
		str_addf(out, "%*s", PERCENT_WIDTH, "%");
}

/* Break the heading for this width; false: it needs a wider column. */
static bool
break_heading(const struct column *col, const struct layout *lay, size_t width,
	      const char **words, size_t n, struct str lines[LINES])
{
	const bool unit = *unit_of(col) || col->show & SHOW_PERCENT;

	if (!unit)
		return fill(words, n, width, LINES, lines);
	if (fill(words, n, width, LINES - 1, lines)) {
		unit_line(col, lay, &lines[LINES - 1]);
		return true;
	}
	if (col->show & SHOW_PERCENT || n == WORDS_MAX)
		return false;
	words[n] = unit_of(col);
	return fill(words, n + 1, width, LINES, lines);
}

static void
lay_out(const struct table *t, size_t column, size_t rows, struct layout *lay)
{
	const struct column *col = &t->columns[column];
	char *text = xstrdup(col->heading);
	const char *words[WORDS_MAX + 1];
	const size_t n = split(text, words);
	struct str lines[LINES] = {{0}};

	lay->value_width = value_width(t, column, rows);
	lay->width = lay->value_width;
	if (col->show & SHOW_PERCENT)
		lay->width += PERCENT_WIDTH + (col->show & SHOW_VALUE ? 1 : 0);
	if (col->group && strlen(col->group) > lay->width)
		lay->width = strlen(col->group);
	while (!break_heading(col, lay, lay->width, words, n, lines))
		lay->width++;
	for (size_t i = 0; i < LINES; i++)
		lay->lines[i] = str_take(&lines[i]);
	free(text);
}

/* What the terminal leaves beside the other columns. */
static size_t
room_for_name(const struct table *t, const struct layout *lay)
{
	size_t others = 0;

	for (size_t c = 0; c < t->columns_len; c++)
		others += (c ? 2 : 0) + (t->columns[c].kind == CELL_NAME ? 0 :
					 lay[c].width);
	return others + NAME_LEAST < t->v->width ? t->v->width - others :
						   NAME_LEAST;
}

/* The others have been laid out. */
static void
lay_out_name(const struct table *t, size_t column, size_t rows,
	     struct layout *lay)
{
	struct layout *name = &lay[column];

	name->lines[0] = xasprintf(" %s", t->columns[column].heading);
	name->lines[1] = xstrdup("");
	name->lines[2] = xstrdup("");
	name->width = strlen(name->lines[0]);
	for (size_t i = 0; i < rows; i++)
		if (text_width(t->rows[i].name) + 1 > name->width)
			name->width = text_width(t->rows[i].name) + 1;
	for (size_t c = 0; c < t->columns_len; c++)
		name->is_source |= t->columns[c].kind == CELL_LINE;
	if (t->v && t->v->width) {
		name->most = room_for_name(t, lay);
		if (name->width > name->most)
			name->width = name->most;
	}
}

/* ---- lines of text -------------------------------------------------- */

/* Blanks at the end of a line are held back until something follows. */
struct writer {
	FILE *out;
	size_t pending;
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
	w->pending = 0;
}

static void
separate(struct writer *w, size_t column)
{
	if (column > 0)
		w->pending += 2;
}

static bool
has_groups(const struct table *t)
{
	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].group)
			return true;
	return false;
}

static void
write_headings(const struct table *t, const struct layout *lay, FILE *out)
{
	struct writer w = { .out = out };

	if (has_groups(t)) {
		for (size_t c = 0; c < t->columns_len; c++) {
			separate(&w, c);
			put(&w, t->columns[c].group ? t->columns[c].group : "",
			    lay[c].width);
		}
		end_line(&w);
	}
	for (size_t line = 0; line < LINES; line++) {
		for (size_t c = 0; c < t->columns_len; c++) {
			separate(&w, c);
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

	if (row->blank && (col->kind == CELL_TIME || col->kind == CELL_COUNT)) {
		put(w, "", lay->width);
		return;
	}

	if (col->show & SHOW_VALUE)
		format_value(value, sizeof value, col, cell);
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
		width += lay[c].width + (t->columns_len > c + 1 ? 2 : 0);
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
		separate(&w, c);
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
	struct layout *lay = xcalloc(t->columns_len + 1, sizeof *lay);

	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].kind != CELL_NAME)
			lay_out(t, c, rows, &lay[c]);
	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].kind == CELL_NAME)
			lay_out_name(t, c, rows, lay);
	write_headings(t, lay, out);
	for (size_t i = 0; i < rows; i++)
		write_row(t, &t->rows[i], lay, out);
	for (size_t c = 0; c < t->columns_len; c++)
		for (size_t i = 0; i < LINES; i++)
			free(lay[c].lines[i]);
	free(lay);
}

const struct table_writer text_writer = {
	.name = "text", .table = write_table,
};
