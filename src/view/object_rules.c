/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of each load object is shown. What the user said is kept as a list
 * of rules, of which the last that fits an object counts: it holds for
 * experiments that are opened later, too, and with nothing said all is shown.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

void
rules_fini(struct rules *r)
{
	for (size_t i = 0; i < r->len; i++)
		free((char *)r->items[i].name);
	free(r->items);
	*r = (struct rules){0};
}

static void
rules_add(struct rules *r, const char *name, enum object_show show)
{
	const bool all = !name || !strcmp(name, "all");

	r->items = xgrow(r->items, &r->cap, r->len + 1, sizeof *r->items);
	r->items[r->len++] = (struct object_rule){
		all ? NULL : xstrdup(name), show };
}

/* ---- names ----------------------------------------------------------- */

static bool
is_object(const struct viewer *v, const char *name)
{
	const size_t n = profile_object_count(v->prof);

	for (size_t i = 0; i < n; i++)
		if (profile_object_named(profile_object_at(v->prof, i), name))
			return true;
	return false;
}

/* Without experiments there is nothing to compare names with. */
static int
check_name(const struct viewer *v, const char *command, const char *name)
{
	if (!v->prof || !strcmp(name, "all") || is_object(v, name))
		return 0;
	fail(FAIL_USAGE, "%s: no load object is named %s", command,
	     *name ? name : "\"\"");
	return fail_remedy("object_list shows them; several are separated by "
			   "commas, without blanks");
}

/* A path may hold commas: where the whole is a name it is one. */
static int
add_names(const struct viewer *v, const char *const *words,
	  enum object_show show, struct rules *rules)
{
	const char *at = words[1];

	if (v->prof && is_object(v, at)) {
		rules_add(rules, at, show);
		return 0;
	}
	for (;; at++) {
		const size_t n = strcspn(at, ",");
		char *name = xstrndup(at, n);
		const int known = check_name(v, words[0], name);

		rules_add(rules, name, show);
		free(name);
		if (known < 0)
			return -1;
		at += n;
		if (!*at)
			return 0;
	}
}

/* Takes the rules. The old ones stay if it fails. */
static int
adopt_rules(struct viewer *v, struct rules rules)
{
	struct rules before = v->rules;

	v->rules = rules;
	if (viewer_reload(v) < 0) {
		v->rules = before;
		rules_fini(&rules);
		return -1;
	}
	rules_fini(&before);
	return 0;
}

/* ---- commands -------------------------------------------------------- */

static const char *const show_names[] = {
	[OBJECT_SHOWN] = "show", [OBJECT_HIDDEN] = "hide",
	[OBJECT_API] = "API-only",
};

static void
list_objects(struct viewer *v, FILE *out)
{
	const size_t count = profile_object_count(v->prof);
	struct table t = { .color = v->color, .v = v };
	struct vec names = {0};

	table_column(&t, (struct column){ .heading = xstrdup("Sel"),
		.kind = CELL_TEXT, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Index"),
		.kind = CELL_COUNT, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Name"),
		.kind = CELL_NAME, .show = SHOW_VALUE });
	for (size_t i = 0; i < count; i++) {
		const struct profile_object *obj = profile_object_at(v->prof,
								     i);

		if (!strcmp(obj->name, "<Total>"))
			continue;
		vec_push(&names, obj->is_file ?
			 xasprintf("<%s> (%s)", obj->name, obj->path) :
			 xstrdup(obj->name));

		const struct row *row = table_row(&t, names.items[names.len -
								  1]);

		table_cell(&t, row, 0)->text = xstrdup(show_names[obj->show]);
		table_cell(&t, row, 1)->value = obj->index;
	}
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
	vec_free_items(&names);
}

int
view_object_list(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	list_objects(v, out);
	return 0;
}

static int
set_show(struct viewer *v, size_t n, const char *const *words,
	 enum object_show show, FILE *out)
{
	struct rules rules = {0};

	if (n == 1)
		return view_object_list(v, n, words, out);
	if (words_check(n, words, 2) < 0)
		return -1;
	for (size_t i = 0; i < v->rules.len; i++)
		rules_add(&rules, v->rules.items[i].name,
			  v->rules.items[i].show);
	if (add_names(v, words, show, &rules) < 0) {
		rules_fini(&rules);
		return -1;
	}
	return adopt_rules(v, rules);
}

int
view_object_show(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	return set_show(v, n, words, OBJECT_SHOWN, out);
}

int
view_object_hide(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	return set_show(v, n, words, OBJECT_HIDDEN, out);
}

int
view_object_api(struct viewer *v, size_t n, const char *const *words,
		FILE *out)
{
	return set_show(v, n, words, OBJECT_API, out);
}

int
view_object_select(struct viewer *v, size_t n, const char *const *words,
		   FILE *out)
{
	struct rules rules = {0};

	if (n == 1)
		return view_object_list(v, n, words, out);
	if (words_check(n, words, 2) < 0)
		return -1;
	rules_add(&rules, "all", OBJECT_HIDDEN);
	if (add_names(v, words, OBJECT_SHOWN, &rules) < 0) {
		rules_fini(&rules);
		return -1;
	}
	return adopt_rules(v, rules);
}

int
view_objects_default(struct viewer *v, size_t n, const char *const *words,
		     FILE *out)
{
	(void)out;
	if (words_check(n, words, 1) < 0)
		return -1;
	return adopt_rules(v, (struct rules){0});
}
