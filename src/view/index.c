/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of index objects: what records are counted by, as an expression. A
 * record has one index, so there is exclusive cost only. -1 is <Unknown>.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- types -------------------------------------------------------------- */

static void
add_type(struct viewer *v, const char *name, const char *expression)
{
	v->index_types = xgrow(v->index_types, &v->index_types_cap,
			       v->index_types_len + 1,
			       sizeof *v->index_types);
	v->index_types[v->index_types_len++] = (struct profile_index_type){
		xstrdup(name), xstrdup(expression) };
}

void
index_types_init(struct viewer *v)
{
	for (size_t i = 0; i < INDEX_TYPES; i++)
		add_type(v, profile_index_types[i].name,
			 profile_index_types[i].expression);
}

void
index_types_free(struct viewer *v)
{
	for (size_t i = 0; i < v->index_types_len; i++) {
		free((char *)v->index_types[i].name);
		free((char *)v->index_types[i].expression);
	}
	free(v->index_types);
}

static const struct profile_index_type *
find_type(const struct viewer *v, const char *name)
{
	for (size_t i = 0; i < v->index_types_len; i++)
		if (strcasecmp(v->index_types[i].name, name) == 0)
			return &v->index_types[i];
	return NULL;
}

bool
viewer_has_index(const struct viewer *v, const char *name)
{
	return find_type(v, name) != NULL;
}

/* ---- commands ----------------------------------------------------------- */

static int
write_type(struct viewer *v, const struct profile_index_type *type, FILE *out)
{
	const struct index_cost *costs;
	const ssize_t n = profile_index(v->prof, type->expression,
					v->index_types,
					(size_t)(type - v->index_types),
					&costs);

	if (n < 0)
		return fail_in("%s", type->name);

	struct item *items = xcalloc((size_t)n + 1, sizeof *items);

	for (ssize_t i = 0; i < n; i++)
		items[i] = (struct item){
			.name = index_name(v, type, costs[i].index),
			.key = index_key(v, type, costs[i].index),
			.cost = { costs[i].excl, costs[i].excl },
			.order = (uint32_t)i + 1,
		};
	list_write_flavored(v, "Objects", EXCLUSIVE, items, (size_t)n, out);
	free(items);
	return 0;
}

/* threads, cpus ...: the command is the type. */
int
view_index_type(struct viewer *v, size_t n, const char *const *words,
		FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	return write_type(v, find_type(v, words[0]), out);
}

int
view_index(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct profile_index_type *type;

	if (words_check(n, words, 2) < 0 || viewer_check(v) < 0)
		return -1;
	type = find_type(v, words[1]);
	if (type)
		return write_type(v, type, out);
	fail(FAIL_USAGE, "indxobj: there is no index object '%s'", words[1]);
	return fail_remedy("indxobj_list lists them; indxobj_define makes one");
}

int
view_index_metrics(struct viewer *v, size_t n, const char *const *words,
		   FILE *out)
{
	struct specs specs;
	struct sort sort;
	struct str text = {0};
	char *title;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	specs = specs_folded(v, EXCLUSIVE);
	sort = sort_flavored(v, EXCLUSIVE);
	title = sort_title(v, &sort);
	for (size_t i = 0; i < specs.len; i++) {
		str_add(&text, i ? ":" : "");
		spec_write(v, &text, &specs.items[i]);
	}
	fprintf(out, "Current index-object metrics: %s\n"
		"Current index-object sort Metric: %s\n", str_text(&text),
		title);
	free(title);
	str_fini(&text);
	specs_fini(&specs);
	return 0;
}

int
view_index_list(struct viewer *v, size_t n, const char *const *words,
		FILE *out)
{
	struct table t = { .color = v->color, .v = v };

	if (words_check(n, words, 1) < 0)
		return -1;
	table_column(&t, (struct column){ .heading = xstrdup("Type"),
			 .kind = CELL_TEXT, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Name"),
			 .key = "expression", .kind = CELL_NAME,
			 .show = SHOW_VALUE });
	for (size_t i = 0; i < v->index_types_len; i++) {
		const struct profile_index_type *type = &v->index_types[i];
		const struct row *row = table_row(&t, type->expression);

		table_cell(&t, row, 0)->text = xstrdup(type->name);
	}
	title_write(v, out, "Index objects and what they count by");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
	return 0;
}

/* Letters, digits and _, a letter first, and nobody else's. */
static int
check_name(const struct viewer *v, const char *name)
{
	size_t i = isalpha((unsigned char)name[0]) ? 1 : 0;

	while (i && (isalnum((unsigned char)name[i]) || name[i] == '_'))
		i++;
	if (!i || name[i]) {
		fail(FAIL_USAGE, "indxobj_define: '%s' is no name", name);
		return fail_remedy("a letter, then letters, digits and _");
	}
	for (i = 0; i < profile_field_count(); i++)
		if (strcasecmp(profile_field(i).name, name) == 0)
			return fail(FAIL_USAGE, "indxobj_define: %s is a "
				    "field of records", name);
	for (i = 0; view_table[i].name && !find_type(v, name); i++)
		if (strcasecmp(view_table[i].name, name) == 0)
			return fail(FAIL_USAGE, "indxobj_define: %s is a "
				    "command", name);
	return 0;
}

int
view_index_define(struct viewer *v, size_t n, const char *const *words,
		  FILE *out)
{
	const struct profile_index_type *old;

	(void)out;
	if (n == 1)
		return view_index_list(v, n, words, out);
	if (words_check(n, words, 3) < 0 || check_name(v, words[1]) < 0)
		return -1;
	old = find_type(v, words[1]);
	if (old && strcmp(old->expression, words[2]) == 0)
		return 0;	/* a file may say it again */
	if (old) {
		fail(FAIL_USAGE, "indxobj_define: there is an index object %s "
		     "already: %s", old->name, old->expression);
		return fail_remedy("choose another name");
	}
	if (profile_expression_check(words[2], v->index_types,
				     v->index_types_len) < 0)
		return fail_in("indxobj_define %s", words[1]);
	add_type(v, words[1], words[2]);
	return 0;
}
