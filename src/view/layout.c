/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The columns of a table as text. Headings are words: they are broken into at
 * most three lines, as narrow as the cells allow, with the unit in the last.
 * On a terminal the columns that tell least are left out until names can be
 * read: a row that the terminal wraps is no row.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

enum {
	WORDS_MAX = 16,
	BETWEEN = 2,		/* blanks between two columns */
	NAME_LEAST = 16,	/* on the narrowest terminal */
	/* for these other columns make room */
	NAME_ROOM = 25, TREE_ROOM = 36, SOURCE_ROOM = 33, PLAIN_ROOM = 18,
};

int
layout_value(char *buf, size_t size, const struct column *col,
	     const struct cell *cell)
{
	if (col->kind == CELL_LINE && cell->text)
		return snprintf(buf, size, "%s", cell->text);

	const int n = cell_value(buf, size, col, cell);

	if (n < 2 || (size_t)n + 7 > size || buf[n - 1] != '.' ||
	    (col->kind != CELL_TIME && col->relation != RATIO))
		return n;
	return n + snprintf(buf + n, size - (size_t)n, "%*s",
			    col->precise ? 6 : 3, "");
}

static size_t
value_width(const struct table *t, size_t column, size_t rows)
{
	const struct column *col = &t->columns[column];
	const struct cell widest = { .value = col->widest };
	char buf[64];

	if (!(col->show & SHOW_VALUE))
		return 0;

	size_t width = (size_t)layout_value(buf, sizeof buf, col, &widest);

	for (size_t i = 0; i < rows; i++) {
		const int n = layout_value(buf, sizeof buf, col,
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

/* ---- what the terminal has room for ---------------------------------- */

static bool
is_number(const struct column *col)
{
	return col->kind == CELL_TIME || col->kind == CELL_COUNT ||
	       col->kind == CELL_TEXT;
}

/* With what is between it and the next one. */
static size_t
others_width(const struct table *t, const struct layout *lay)
{
	size_t others = 0;

	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].kind != CELL_NAME && !lay[c].left_out)
			others += lay[c].width + BETWEEN;
	return others;
}

/* What the terminal leaves beside the other columns. */
static size_t
room_for_name(const struct table *t, const struct layout *lay)
{
	const size_t others = others_width(t, lay);

	return others + NAME_LEAST < t->v->width ? t->v->width - others :
						   NAME_LEAST;
}

/* The room that the name is to have. Tables of one view have it alike,
 * whatever names each has. */
static size_t
wanted_for_name(const struct table *t, size_t rows, const struct layout *name)
{
	size_t most = 0;

	if (name->is_source)
		return SOURCE_ROOM;
	if (t->is_tree)
		return TREE_ROOM;
	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].metric)
			return NAME_ROOM;
	for (size_t i = 0; i < rows; i++)
		if (text_width(t->rows[i].name) + 1 > most)
			most = text_width(t->rows[i].name) + 1;
	return most < PLAIN_ROOM ? most : PLAIN_ROOM;
}

/* Not only zeros, nor the same text in each row. */
static bool
tells(const struct table *t, size_t column, size_t rows)
{
	const struct column *col = &t->columns[column];
	const char *first = NULL;

	if (col->metric)
		return col->widest;
	for (size_t i = 0; i < rows; i++) {
		const struct cell *cell = &t->cells[t->rows[i].cells + column];
		const char *text = cell->text ? cell->text : "";

		if (col->kind != CELL_TEXT ? cell->value :
		    first && strcmp(first, text))
			return true;
		first = text;
	}
	return false;
}

/* What its rows, or those of other tables, are sorted by; or NULL. */
static const struct metric *
sort_metric(const struct table *t)
{
	if (t->sorted)
		return t->columns[t->sorted - 1].metric;
	return t->v->sort.metric < 0 ? NULL :
		profile_metric(t->v->prof, t->v->sort.metric);
}

enum rank { FIXED, SORTED, SAME_METRIC, TELLING, THE_REST };

static enum rank
rank_of(const struct table *t, size_t column, size_t rows)
{
	const struct column *col = &t->columns[column];

	if (!is_number(col) || !*col->heading)
		return FIXED;
	if (column + 1 == t->sorted)
		return SORTED;
	if (col->metric && col->metric == sort_metric(t))
		return !t->sorted && col->flavor == t->v->sort.flavor ?
			SORTED : SAME_METRIC;
	return tells(t, column, rows) ? TELLING : THE_REST;
}

static void
tell_left_out(const struct table *t, const struct column *col)
{
	struct vec *left = t->v->left_out;

	for (size_t i = 0; left && i < left->len; i++)
		if (strcmp(left->items[i], col->heading) == 0)
			return;
	if (left)
		vec_push(left, xstrdup(col->heading));
}

/* What tells most comes first, and of that what stands first. */
static void
leave_out(const struct table *t, size_t rows, size_t wanted,
	  struct layout *lay)
{
	size_t used = wanted;

	if (others_width(t, lay) + wanted <= t->v->width)
		return;
	for (enum rank rank = FIXED; rank <= THE_REST; rank++)
		for (size_t c = 0; c < t->columns_len; c++) {
			const size_t width = lay[c].width + BETWEEN;

			if (t->columns[c].kind == CELL_NAME ||
			    rank_of(t, c, rows) != rank)
				continue;
			lay[c].left_out = rank > SORTED &&
				used + width > t->v->width;
			if (lay[c].left_out)
				tell_left_out(t, &t->columns[c]);
			else
				used += width;
		}
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
		leave_out(t, rows, wanted_for_name(t, rows, name), lay);
		name->most = room_for_name(t, lay);
		if (name->width > name->most)
			name->width = name->most;
	}
}

/* ---- the whole ------------------------------------------------------ */

struct layout *
layout_new(const struct table *t, size_t rows)
{
	struct layout *lay = xcalloc(t->columns_len + 1, sizeof *lay);

	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].kind != CELL_NAME)
			lay_out(t, c, rows, &lay[c]);
	for (size_t c = 0; c < t->columns_len; c++)
		if (t->columns[c].kind == CELL_NAME)
			lay_out_name(t, c, rows, lay);
	return lay;
}

void
layout_free(struct layout *lay, const struct table *t)
{
	for (size_t c = 0; c < t->columns_len; c++)
		for (size_t i = 0; i < LINES; i++)
			free(lay[c].lines[i]);
	free(lay);
}
