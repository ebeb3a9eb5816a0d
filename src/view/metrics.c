/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which columns tables have and what they are sorted by. The choice is kept
 * as it was made; each table takes from it what it can show.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- what tables use ------------------------------------------------ */

/* The first exclusive column, else the first one. */
static struct sort
default_sort(const struct viewer *v)
{
	const struct spec *first = NULL;

	for (size_t i = 0; i < v->columns.len; i++) {
		const struct spec *spec = &v->columns.items[i];

		if (spec->metric < 0 || !spec->show)
			continue;
		if (!first || (first->flavor != EXCLUSIVE &&
			       spec->flavor == EXCLUSIVE))
			first = spec;
	}
	return first ? (struct sort){ first->flavor, first->metric, false } :
		       (struct sort){ STATIC_NAME, -1, false };
}

struct shown {
	const char *name;
	bool exclusive;		/* as well, both with percent */
};

/* Of each kind of data what tells most; the hardware counters between. */
static const struct shown shown_first[] = {
	{ "heapleakbytes", false }, { "heapleakcnt", false },
	{ "heapallocbytes", false }, { "heapalloccnt", false },
	{ "totalcpu", true },
}, shown_last[] = {
	{ "sync", false }, { "syncn", false }, { "ioreadtime", false },
	{ "iowritetime", false }, { "ioothertime", false },
	{ "ioerrortime", false },
};

static void
add_column(struct viewer *v, int metric, enum flavor flavor, unsigned show)
{
	if (viewer_slot(v, metric) >= 0 ||
	    (!v->prof && metric == spec_metric(v, "totalcpu")))
		specs_add(&v->columns, (struct spec){ flavor, metric, show });
}

static void
add_default(struct viewer *v, const struct shown *s)
{
	const int metric = spec_metric(v, s->name);

	if (s->exclusive)
		add_column(v, metric, EXCLUSIVE, SHOW_VALUE | SHOW_PERCENT);
	add_column(v, metric, INCLUSIVE, SHOW_VALUE |
		   (s->exclusive ? SHOW_PERCENT : 0));
}

static void
add_defaults(struct viewer *v)
{
	const struct metric *m;

	for (size_t i = 0; i < ARRAY_LEN(shown_first); i++)
		add_default(v, &shown_first[i]);
	for (int i = 0; (m = profile_metric(v->prof, i)); i++)
		if (m->packet_kind == METRIC_COUNTER)
			add_column(v, i, EXCLUSIVE, SHOW_VALUE | SHOW_PERCENT);
	for (size_t i = 0; i < ARRAY_LEN(shown_last); i++)
		add_default(v, &shown_last[i]);
}

void
specs_default(struct viewer *v)
{
	specs_fini(&v->columns);
	if (!defaults_columns(v))
		add_defaults(v);
	specs_add_name(&v->columns);
	v->sort = default_sort(v);
	defaults_sort(v);
	v->default_columns = true;
}

/* Counters have other numbers in another profile; -1: it has none such. */
static int
rebound(const struct viewer *v, const struct profile *old, int metric)
{
	return metric < 0 || profile_metric(NULL, metric) ? metric :
		spec_metric(v, profile_metric(old, metric)->name);
}

void
specs_rebind(struct viewer *v, const struct profile *old)
{
	struct specs kept = {0};

	for (size_t i = 0; i < v->columns.len; i++) {
		struct spec spec = v->columns.items[i];
		const bool is_static = spec.metric < 0;

		spec.metric = rebound(v, old, spec.metric);
		if (is_static || spec.metric >= 0)
			specs_add(&kept, spec);
	}
	specs_fini(&v->columns);
	v->columns = kept;
	if (v->sort.metric < 0)
		return;
	v->sort.metric = rebound(v, old, v->sort.metric);
	if (v->sort.metric < 0)
		v->sort = default_sort(v);
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

bool
specs_have_place(const struct viewer *v)
{
	for (size_t i = 0; i < v->columns.len; i++)
		if (v->columns.items[i].metric < 0 &&
		    v->columns.items[i].flavor != STATIC_NAME)
			return true;
	return false;
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
	char *title = sort_title(v, &v->sort);
	struct str text = {0};

	if (spec)
		spec_write(v, &text, spec);
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
		spec_write(v, &text, &v->columns.items[i]);
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
	v->sort = default_sort(v);
	v->default_columns = false;
	return 0;
}

bool
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
		v->sort = default_sort(v);
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

/* Every metric in each of these flavours, then the static ones. */
static void
list_flavors(const struct viewer *v, const char *flavors, FILE *out)
{
	static const char *const titles[] = {
		['a'] = "Attributed ", ['e'] = "Exclusive ",
		['i'] = "Inclusive ",
	};
	const size_t count = strlen(flavors);
	const size_t flavor_width = strlen(titles[(int)flavors[0]]);
	size_t width = strlen("PC Address");

	fputs("Available metrics:\n", out);
	for (size_t i = 0; i < v->slots; i++) {
		const size_t len = flavor_width +
			strlen(profile_metric(v->prof, v->metrics[i])->title);

		width = len > width ? len : width;
	}
	for (size_t i = 0; i < count * v->slots; i++) {
		const struct metric *m = profile_metric(
			v->prof, v->metrics[i / count]);
		const char flavor = flavors[i % count];
		char *spec = xasprintf("%c%s%s", flavor,
				       m->is_time ? ".%" : "+%", m->name);

		list_metric(titles[(int)flavor], m->title, spec, width, out);
		free(spec);
	}
	list_metric("", "Size", "size", width, out);
	list_metric("", "PC Address", "address", width, out);
	list_metric("", "Name", "name", width, out);
	putc('\n', out);
}

/* What the tables of callers and callees are made of. */
int
view_caller_metrics(struct viewer *v, size_t n, const char *const *words,
		    FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	struct specs specs = specs_folded(v, ATTRIBUTED);
	const struct sort sort = sort_flavored(v, ATTRIBUTED);
	char *title = sort_title(v, &sort);
	struct str text = {0};

	for (size_t i = 0; i < specs.len; i++) {
		str_add(&text, i ? ":" : "");
		spec_write(v, &text, &specs.items[i]);
	}
	fprintf(out, "Current caller-callee metrics: %s\n"
		"Current caller-callee sort Metric: %s\n", str_text(&text),
		title);
	str_fini(&text);
	specs_fini(&specs);
	free(title);
	list_flavors(v, "a", out);
	return 0;
}

int
view_metric_list(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	show_metrics(v, out);
	list_flavors(v, "ei", out);
	return 0;
}
