/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which columns tables have and what they are sorted by. The choice is kept
 * as it was made; each table takes from it what it can show.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- what tables use ------------------------------------------------ */

static struct sort
default_sort(const struct specs *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->items[i].metric >= 0 && s->items[i].show)
			return (struct sort){ s->items[i].flavor,
					      s->items[i].metric, false };
	return (struct sort){ STATIC_NAME, -1, false };
}

void
specs_default(struct viewer *v)
{
	const int cpu = spec_metric("totalcpu");

	specs_fini(&v->columns);
	if (!v->prof || viewer_slot(v, cpu) >= 0) {
		specs_add(&v->columns, (struct spec){ EXCLUSIVE, cpu,
			SHOW_VALUE | SHOW_PERCENT });
		specs_add(&v->columns, (struct spec){ INCLUSIVE, cpu,
			SHOW_VALUE | SHOW_PERCENT });
	}
	specs_add_name(&v->columns);
	v->sort = default_sort(&v->columns);
	v->default_columns = true;
}

static bool
is_shown(const struct viewer *v, const struct spec *spec)
{
	return spec->show &&
	       (spec->metric < 0 || viewer_slot(v, spec->metric) >= 0);
}

struct specs
specs_plain(const struct viewer *v)
{
	struct specs out = {0};

	for (size_t i = 0; i < v->columns.len; i++)
		if (is_shown(v, &v->columns.items[i]))
			specs_add(&out, v->columns.items[i]);
	return out;
}

struct specs
specs_folded(const struct viewer *v, enum flavor flavor)
{
	struct specs out = {0};

	for (size_t i = 0; i < v->columns.len; i++) {
		struct spec spec = v->columns.items[i];

		if (!is_shown(v, &spec))
			continue;
		if (spec.metric >= 0)
			spec.flavor = flavor;
		specs_add(&out, spec);
	}
	return out;
}

struct sort
sort_flavored(const struct viewer *v, enum flavor flavor)
{
	struct sort sort = v->sort;

	if (sort.metric >= 0)
		sort.flavor = flavor;
	return sort;
}

/* ---- commands ------------------------------------------------------- */

static const struct spec *
sorted_column(const struct viewer *v)
{
	for (size_t i = 0; i < v->columns.len; i++)
		if (v->columns.items[i].flavor == v->sort.flavor &&
		    v->columns.items[i].metric == v->sort.metric)
			return &v->columns.items[i];
	return NULL;
}

static void
show_sort(const struct viewer *v, FILE *out)
{
	const struct spec *spec = sorted_column(v);
	char *title = sort_title(&v->sort);
	struct str text = {0};

	if (spec)
		spec_write(&text, spec);
	fprintf(out, "Current Sort Metric: %s ( %s%s )\n", title,
		v->sort.reverse ? "-" : "", str_text(&text));
	str_fini(&text);
	free(title);
}

static void
show_metrics(const struct viewer *v, FILE *out)
{
	struct str text = {0};

	for (size_t i = 0; i < v->columns.len; i++) {
		str_add(&text, i ? ":" : "");
		spec_write(&text, &v->columns.items[i]);
	}
	fprintf(out, "Current metrics: %s\n", str_text(&text));
	str_fini(&text);
	show_sort(v, out);
}

int
view_metrics(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct specs specs = {0};

	if (n == 1) {
		show_metrics(v, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (!strcmp(words[1], "default")) {
		specs_default(v);
		return 0;
	}
	if (specs_parse(v, words[1], &specs) < 0)
		return -1;
	specs_fini(&v->columns);
	v->columns = specs;
	v->sort = default_sort(&specs);
	v->default_columns = false;
	return 0;
}

static bool
sort_by(struct viewer *v, const struct spec *want, bool reverse)
{
	for (size_t i = 0; i < v->columns.len; i++) {
		const struct spec *spec = &v->columns.items[i];

		if (!spec_same(spec, want) ||
		    (spec->metric >= 0 && v->prof &&
		     viewer_slot(v, spec->metric) < 0))
			continue;
		v->sort = (struct sort){ spec->flavor, spec->metric, reverse };
		return true;
	}
	return false;
}

int
view_sort(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		show_sort(v, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (!strcmp(words[1], "default")) {
		v->sort = default_sort(&v->columns);
		return 0;
	}

	const bool reverse = words[1][0] == '-';
	struct specs specs = {0};

	if (specs_parse(v, words[1] + reverse, &specs) < 0)
		return fail_in("sort");

	/* the first one that has a column; parse appended `name` itself */
	const size_t given = specs.len > 1 ? specs.len - 1 : 1;
	bool done = false;

	for (size_t i = 0; i < given && !done; i++)
		done = sort_by(v, &specs.items[i], reverse);
	specs_fini(&specs);
	if (done)
		return 0;
	fail(FAIL_USAGE, "sort: no column for %s", words[1]);
	return fail_remedy("`metrics` shows the columns; add it there first "
			   "(hidden, if need be: `e!user`)");
}

static void
list_metric(const char *flavor, const char *title, const char *spec,
	    size_t width, FILE *out)
{
	fprintf(out, "%*s%s%s: %s\n",
		(int)(width - strlen(flavor) - strlen(title)), "", flavor,
		title, spec);
}

int
view_metric_list(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	size_t width = strlen("PC Address");

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	show_metrics(v, out);
	fputs("Available metrics:\n", out);
	for (size_t i = 0; i < v->slots; i++) {
		const size_t len = strlen("Exclusive ") +
			strlen(metric_table[v->metrics[i]].title);

		width = len > width ? len : width;
	}
	for (size_t i = 0; i < 2 * v->slots; i++) {
		const struct metric *m = &metric_table[v->metrics[i / 2]];
		char *spec = xasprintf("%c%s%s", "ei"[i % 2],
				       m->is_time ? ".%" : "+%", m->name);

		list_metric(i % 2 ? "Inclusive " : "Exclusive ", m->title,
			    spec, width, out);
		free(spec);
	}
	list_metric("", "Size", "size", width, out);
	list_metric("", "PC Address", "address", width, out);
	list_metric("", "Name", "name", width, out);
	putc('\n', out);
	return 0;
}
