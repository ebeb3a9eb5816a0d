/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A view as one JSON object in one line, so that several views are one object
 * a line. Values are exact integers in the unit of their column. The schema is
 * a promise: man/report-schema.json, and the manual page tells it.
 */
#include "report.h"
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

static const char *const flavors[] = {
	[EXCLUSIVE] = "exclusive", [INCLUSIVE] = "inclusive",
	[ATTRIBUTED] = "attributed",
};

static const char *
unit(const struct column *col)
{
	if (col->metric)
		return metric_unit(col->metric);
	if (col->kind == CELL_TIME)
		return "ns";
	if (col->kind != CELL_COUNT)
		return NULL;
	return strcmp(column_unit(col), "(bytes)") ? "count" : "bytes";
}

/* "Excl. PC Addr." -> pc_addr */
static char *
word_of(const char *heading)
{
	struct str out = {0};

	for (const char *c = heading; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
			str_addn(&out, c, 1);
		else if (*c >= 'A' && *c <= 'Z')
			str_addf(&out, "%c", *c - 'A' + 'a');
		else if (out.len && c[1] && *c == ' ')
			str_add(&out, "_");
	return str_take(&out);
}

static char *
column_name(const struct column *col)
{
	if (col->key)
		return xstrdup(col->key);
	return col->metric ? xasprintf("%c.%s", flavors[col->flavor][0],
				       col->metric->name) :
		word_of(col->heading);
}

/* The name of a row and its mark are fields of their own. */
static bool
is_value(const struct column *col)
{
	return col->kind != CELL_NAME && col->kind != CELL_MARK;
}

static void
put_column(struct json *j, const struct table *t, size_t c)
{
	const struct column *col = &t->columns[c];
	char *words[2], *title, *name = column_name(col);

	column_words(col, words);
	title = *words[0] ? xasprintf("%s%s%s", words[0],
				      *words[1] ? " " : "", words[1]) :
			    xstrdup(name);
	json_begin(j, NULL, '{');
	json_text(j, "name", name);
	json_text(j, "title", title);
	json_text(j, "metric", col->metric ? col->metric->name : NULL);
	json_text(j, "flavor", col->metric ? flavors[col->flavor] : NULL);
	json_text(j, "unit", unit(col));
	if (col->show & SHOW_PERCENT)
		json_unsigned(j, "whole", col->whole);
	if (col->group)
		json_text(j, "of", col->group);
	json_end(j, '}');
	free(words[0]);
	free(words[1]);
	free(title);
	free(name);
}

static void
put_values(struct json *j, const struct table *t, const struct row *row)
{
	json_begin(j, "values", '[');
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];
		const struct cell *cell = &t->cells[row->cells + c];

		if (!is_value(col))
			continue;
		if (cell_empty(col, row, cell))
			json_text(j, NULL, NULL);
		else if (col->kind == CELL_TEXT)
			json_text(j, NULL, cell->text);
		else
			json_unsigned(j, NULL, cell->value);
	}
	json_end(j, ']');
}

static void
put_percents(struct json *j, const struct table *t, const struct row *row)
{
	json_begin(j, "percents", '[');
	for (size_t c = 0; c < t->columns_len; c++) {
		const struct column *col = &t->columns[c];

		if (!is_value(col))
			continue;
		if (col->show & SHOW_PERCENT && !row->no_percent &&
		    !cell_empty(col, row, &t->cells[row->cells + c]))
			json_real(j, NULL, cell_share(col, row,
						      &t->cells[row->cells +
								c]));
		else
			json_text(j, NULL, NULL);
	}
	json_end(j, ']');
}

static void
put_row(struct json *j, const struct table *t, const struct row *row)
{
	json_begin(j, NULL, '{');
	json_text(j, "name", row->name);
	if (row->mark != ' ')
		json_text(j, "mark", (char[]){ row->mark, '\0' });
	else if (row->hot)
		json_text(j, "mark", "##");
	if (row->is)
		json_text(j, "kind", row->is);
	if (row->kind == ROW_HEADING)
		json_bool(j, "heading", true);
	if (t->is_tree) {
		json_unsigned(j, "depth", row->depth);
		if (row->depth)
			json_unsigned(j, "parent", row->parent);
		else
			json_text(j, "parent", NULL);
	}
	put_values(j, t, row);
	put_percents(j, t, row);
	json_end(j, '}');
}

static void
put_title(struct json *j, const char *title)
{
	json_text(j, "title", *title ? title : NULL);
}

static void
write_table(const struct table *t, size_t rows, FILE *out)
{
	struct json j = { .out = out, .depth = 1, .one_line = true };
	char *sort = t->sorted ? column_name(&t->columns[t->sorted - 1]) :
		NULL;

	if (t->v->report->count)
		fputs(", ", out);
	json_begin(&j, NULL, '{');
	put_title(&j, str_text(&t->v->report->title));
	json_text(&j, "sort", sort);
	json_begin(&j, "columns", '[');
	for (size_t c = 0; c < t->columns_len; c++)
		if (is_value(&t->columns[c]))
			put_column(&j, t, c);
	json_end(&j, ']');
	json_begin(&j, "rows", '[');
	for (size_t i = 0; i < rows; i++)
		put_row(&j, t, &t->rows[i]);
	json_end(&j, ']');
	json_unsigned(&j, "rows_in_all", t->rows_len);
	json_end(&j, '}');
	free(sort);
}

/* ---- panels --------------------------------------------------------- */

static void
put_pair(struct json *j, const struct pair *pair)
{
	json_begin(j, NULL, '{');
	json_text(j, "key", pair->key);
	if (pair->kind == PAIR_LIST) {
		json_begin(j, "value", '[');
		for (size_t i = 0; i < pair->len; i++)
			json_text(j, NULL, pair->texts[i]);
		json_end(j, ']');
	} else if (pair->kind == PAIR_TEXT) {
		json_text(j, "value", pair->len ? pair->texts[0] : NULL);
	} else {
		json_unsigned(j, "value", pair->value);
		json_text(j, "unit", pair->kind == PAIR_TIME ? "ns" : "count");
	}
	if ((pair->kind == PAIR_TIME || pair->kind == PAIR_AMOUNT) &&
	    pair->whole)
		json_real(j, "percent", 100.0 * (double)pair->value /
			  (double)pair->whole);
	json_end(j, '}');
}

static void
write_panel(const struct panel *p, struct report *r)
{
	struct json j = { .out = r->panels, .depth = 1, .one_line = true };

	if (r->panel_count)
		fputs(", ", r->panels);
	json_begin(&j, NULL, '{');
	put_title(&j, str_text(&r->title));
	json_text(&j, "name", p->name);
	json_begin(&j, "pairs", '[');
	for (size_t i = 0; i < p->len; i++)
		put_pair(&j, &p->pairs[i]);
	json_end(&j, ']');
	json_end(&j, '}');
}

/* ---- the whole ------------------------------------------------------ */

static void
put_words(struct json *j, const struct report *r)
{
	json_begin(j, "words", '[');
	for (size_t i = 0; i < r->words_len; i++)
		json_text(j, NULL, r->words[i]);
	json_end(j, ']');
}

static void
put_experiments(struct json *j, const struct viewer *v)
{
	json_begin(j, "experiments", '[');
	for (size_t e = 0; v->prof && e < profile_experiment_count(v->prof);
	     e++)
		json_text(j, NULL, experiment_reader_path(
				  profile_experiment(v->prof, e)));
	json_end(j, ']');
}

static void
put_sort(struct json *j, const struct viewer *v)
{
	struct str text = {0};

	str_add(&text, v->sort.reverse ? "-" : "");
	spec_write(v, &text, &(struct spec){ v->sort.flavor, v->sort.metric,
					  SHOW_VALUE });
	json_text(j, "sort", str_text(&text));
	str_fini(&text);
}

/* Lines that stand in no table, without the empty ones. */
static void
put_rest(struct json *j, struct report *r)
{
	char *save = NULL;

	json_begin(j, "text", '[');
	for (char *line = strtok_r(r->rest_text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		json_text(j, NULL, line);
	json_end(j, ']');
}

static void
write_report(struct report *r, FILE *out)
{
	struct json j = { .out = out, .one_line = true };
	char *tables = xasprintf("[%s]", r->tables_text);
	char *panels = xasprintf("[%s]", r->panels_text);

	json_begin(&j, NULL, '{');
	json_text(&j, "format", "sonde-report");
	json_number(&j, "version", FORMAT_VERSION);
	json_text(&j, "view", r->words[0]);
	put_words(&j, r);
	json_text(&j, "title", r->first_title);
	put_experiments(&j, r->v);
	put_sort(&j, r->v);
	json_raw(&j, "tables", tables);
	json_raw(&j, "panels", panels);
	put_rest(&j, r);
	json_end(&j, '}');
	free(tables);
	free(panels);
}

const struct table_writer json_writer = {
	.name = "json", .table = write_table, .panel = write_panel,
	.report = write_report,
};
