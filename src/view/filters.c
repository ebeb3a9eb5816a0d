/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which records count: an expression that the user wrote, and the selections
 * of select.c, as one expression. describe tells of what it can be made.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static bool
is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\n")];
}

/* Both of them; NULL: every record counts. The caller frees it. */
char *
viewer_filter(const struct viewer *v)
{
	char *selected = selection_expression(v);
	char *whole;

	if (!v->filter || !selected) {
		whole = v->filter ? xstrdup(v->filter) : NULL;
		return selected ? selected : whole;
	}
	whole = xasprintf("(%s) && (%s)", v->filter, selected);
	free(selected);
	return whole;
}

/* Words of a line as they stood there, but for quotes. */
static char *
join(size_t n, const char *const *words)
{
	struct str text = {0};

	for (size_t i = 0; i < n; i++) {
		str_add(&text, i ? " " : "");
		str_add(&text, words[i]);
	}
	return str_take(&text);
}

static char *
filter_of(size_t n, const char *const *words)
{
	char *text = join(n, words);

	if (strcmp(text, "1") && !is_blank(text))
		return text;
	free(text);
	return NULL;
}

void
viewer_expect_filter(struct viewer *v, size_t n, const char *const *words)
{
	free(v->expected);
	v->expected = filter_of(n, words);
	/* it may name what is not defined yet, or be wrong: that waits */
	if (v->expected &&
	    profile_expression_check(v->expected, v->index_types,
				     v->index_types_len) < 0) {
		free(v->expected);
		v->expected = NULL;
	}
}

/* Was the profile read with it already? Only once: then it may have grown. */
static bool
was_expected(struct viewer *v)
{
	const bool it_was = v->prof && !v->selections.len && v->expected &&
		v->filter && !strcmp(v->expected, v->filter);

	free(v->expected);
	v->expected = NULL;
	return it_was;
}

static int
set_filter(struct viewer *v, char *text)
{
	char *before = v->filter;

	v->filter = text;
	if (was_expected(v) || viewer_reload(v) == 0) {
		free(before);
		return 0;
	}
	free(text);
	v->filter = before;
	return -1;
}

int
view_filters(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		fprintf(out, "current filter setting: \"%s\"\n",
			v->filter ? v->filter : "1");
		return 0;
	}

	char *text = join(n - 1, words + 1);
	const int rc = profile_expression_check(text, v->index_types,
						v->index_types_len);

	free(text);
	return rc < 0 ? fail_in("filters") :
			set_filter(v, filter_of(n - 1, words + 1));
}

/* ---- describe -------------------------------------------------------- */

static const struct {
	int kind;
	const char *name;
} kinds[] = {
	{ 8, "clock" }, { 2, "waits" }, { 5, "heap" }, { 19, "I/O" },
	{ 3, "counters" },
};

static bool
note_kind(void *arg, const struct experiment_packet *p)
{
	uint32_t *seen = arg;

	*seen |= p->kind >= 0 && p->kind < 32 ? 1u << p->kind : 0;
	return true;
}

static uint32_t
recorded_kinds(const struct viewer *v)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < profile_experiment_count(v->prof); i++)
		experiment_packets(profile_experiment(v->prof, i), note_kind,
				   &seen);
	return seen;
}

static char *
kind_names(uint32_t mask)
{
	struct str text = {0};

	if (mask == UINT32_MAX)
		return xstrdup("all");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (mask >> kinds[i].kind & 1)
			str_addf(&text, "%s%s", text.len ? ", " : "",
				 kinds[i].name);
	return str_take(&text);
}

static void
describe_row(struct table *t, const char *token, char *records,
	     const char *meaning)
{
	const struct row *row = table_row(t, meaning);

	table_cell(t, row, 0)->text = xstrdup(token);
	table_cell(t, row, 1)->text = records;
}

int
view_describe(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct table t = { .color = v->color, .v = v };

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const uint32_t recorded = recorded_kinds(v);

	table_column(&t, (struct column){ .heading = xstrdup("Token"),
			 .kind = CELL_TEXT, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Records"),
			 .kind = CELL_TEXT, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Name"),
			 .key = "meaning", .kind = CELL_NAME,
			 .show = SHOW_VALUE });
	for (size_t i = 0; i < profile_field_count(); i++) {
		const struct profile_field f = profile_field(i);

		if (f.kinds & recorded)
			describe_row(&t, f.name,
				     kind_names(f.kinds == UINT32_MAX ?
						f.kinds : f.kinds & recorded),
				     f.help);
	}
	describe_row(&t, "FNAME(\"re\")", xstrdup("all"),
		     "functions whose whole name matches");
	if (recorded >> METRIC_IO & 1)
		describe_row(&t, "FILEIOVFD(\"re\")", xstrdup("all"),
			     "IOVFD of the files whose whole name matches");
	describe_row(&t, "HAS_PROP(token)", xstrdup("all"),
		     "1: the record has that; 0: it has not");
	for (size_t i = 0; i < v->index_types_len; i++)
		describe_row(&t, v->index_types[i].name, xstrdup("all"),
			     "index object: indxobj_list tells its expression");
	title_write(v, out, "What filters and index objects can ask of a "
		    "record");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
	return 0;
}
