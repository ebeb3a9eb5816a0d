/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns and order that .er.rc files ask for. They name more metrics than any
 * experiment has: those without data, and those that nobody here knows, are
 * passed over. Of a metric that is named twice the first counts.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static char *
copy_of(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

void
viewer_set_defaults(struct viewer *v, const char *metrics, const char *sort)
{
	free(v->dmetrics);
	free(v->dsort);
	v->dmetrics = copy_of(metrics);
	v->dsort = copy_of(sort);
	if (v->default_columns)
		specs_default(v);
}

/* The specs of one keyword without the name that is added to any; none when
 * there is no such metric or no data for it. */
static struct specs
parse_keyword(const struct viewer *v, const char *keyword)
{
	struct specs specs = {0};

	if (specs_parse(v, keyword, &specs) < 0) {
		fail_clear();
		return (struct specs){0};
	}
	if (specs.len > 1)
		specs.len--;
	return specs;
}

bool
defaults_columns(struct viewer *v)
{
	char *text = v->dmetrics ? xstrdup(v->dmetrics) : NULL, *save = NULL;
	bool any = false;

	if (!text)
		return false;
	for (char *word = strtok_r(text, ":", &save); word;
	     word = strtok_r(NULL, ":", &save)) {
		struct specs specs = parse_keyword(v, word);

		for (size_t i = 0; i < specs.len; i++) {
			specs_add(&v->columns, specs.items[i]);
			any |= specs.items[i].metric >= 0 &&
			       specs.items[i].show;
		}
		specs_fini(&specs);
	}
	free(text);
	if (!any)
		specs_fini(&v->columns);
	return any;
}

void
defaults_sort(struct viewer *v)
{
	char *text = v->dsort ? xstrdup(v->dsort) : NULL, *save = NULL;
	bool done = false;

	for (char *word = text ? strtok_r(text, ":", &save) : NULL;
	     word && !done; word = strtok_r(NULL, ":", &save)) {
		const bool reverse = word[0] == '-';
		struct specs specs = parse_keyword(v, word + reverse);

		for (size_t i = 0; i < specs.len && !done; i++)
			done = sort_by(v, &specs.items[i], reverse);
		specs_fini(&specs);
	}
	free(text);
}

int
viewer_set_descendants(struct viewer *v, const char *which)
{
	const bool known = !strcmp(which, "on") || !strcmp(which, "off") ||
		(which[0] == '=' && which[1]);

	if (!known) {
		fail(FAIL_USAGE, "en_desc: %s is none of on, off and =REGEXP",
		     which);
		return fail_remedy("en_desc on");
	}
	free(v->descendants);
	v->descendants = strcmp(which, "on") ? xstrdup(which) : NULL;
	return viewer_reload(v);
}
