/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comparison: what was named on the command line, an experiment or a group
 * each, side by side. Their profiles are opened when the first view wants
 * them, beside the sum, and closed when anything is read anew. A view knows
 * nothing of it: it is run with one profile after the other in the viewer.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/* ---- profiles of single experiments --------------------------------- */

static void
exchange(struct viewer *v, struct compared_group *g)
{
	struct compared_group mine = { .name = g->name, .prof = v->prof,
				       .slots = v->slots, .names = v->names,
				       .total = g->total };

	memcpy(mine.metrics, v->metrics, sizeof mine.metrics);
	v->prof = g->prof;
	v->slots = g->slots;
	v->names = g->names;
	memcpy(v->metrics, g->metrics, sizeof g->metrics);
	*g = mine;
}

/* The group's profile into the viewer, the sum aside; and back. */
static void
enter(struct viewer *v, size_t group)
{
	struct comparison *c = v->comparison;

	c->now = group;
	exchange(v, &c->groups[group]);
	c->sum = c->groups[group];
	gathering_begin(v);
}

static void
leave(struct viewer *v)
{
	exchange(v, &v->comparison->groups[v->comparison->now]);
	v->comparison->sum = (struct compared_group){0};
}

static void
forget_names(struct compared_group *g)
{
	names_free(g->names);
	g->names = NULL;
}

void
compare_forget_names(struct viewer *v)
{
	for (size_t g = 0; v->comparison && g < v->comparison->len; g++)
		forget_names(&v->comparison->groups[g]);
}

void
compare_close(struct viewer *v)
{
	struct comparison *c = v->comparison;

	if (!c)
		return;
	compare_forget_names(v);
	v->comparison = NULL;
	for (size_t g = 0; g < c->len; g++) {
		profile_free(c->groups[g].prof);
		free(c->groups[g].name);
		free(c->groups[g].total);
	}
	free(c->groups);
	free(c);
}

/* What stands last on its path; where two do so, the path. */
static char *
group_name(const struct viewer *v, size_t group)
{
	char *path = xstrdup(v->paths.items[group]);
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	for (size_t i = 0; i < v->paths.len; i++)
		if (i != group && strcmp(path_base(v->paths.items[i]),
					 path_base(path)) == 0)
			return path;

	char *name = xstrdup(path_base(path));

	free(path);
	return name;
}

static int
compare_open(struct viewer *v)
{
	if (v->comparison)
		return 0;

	struct comparison *c = xcalloc(1, sizeof *c);

	c->groups = xcalloc(v->paths.len, sizeof *c->groups);
	v->comparison = c;
	for (; c->len < v->paths.len; c->len++) {
		struct compared_group *g = &c->groups[c->len];

		g->prof = viewer_open_group(v, c->len);
		if (!g->prof) {
			compare_close(v);
			return fail_in("compare");
		}
		g->name = group_name(v, c->len);
		g->slots = profile_metrics(g->prof, g->metrics);
	}
	return 0;
}

/* ---- running a view ------------------------------------------------- */

static int
run_in(struct viewer *v, size_t group, const struct view *view, size_t n,
       const char *const *words, FILE *out)
{
	enter(v, group);

	const int rc = view->run(v, n, words, out);

	leave(v);
	return rc;
}

/* Nothing that a view writes while it is gathered is wanted. */
static FILE *
nowhere(void)
{
	FILE *out = fopen("/dev/null", "we");

	if (!out)
		fail_errno("compare: open /dev/null");
	return out;
}

static int
gather(struct viewer *v, const struct view *view, size_t n,
       const char *const *words)
{
	struct comparison *c = v->comparison;
	const size_t limit = v->limit;
	struct report *report = v->report;
	FILE *out = nowhere();
	int rc = out ? 0 : -1;

	v->limit = 0;
	v->report = NULL;
	for (size_t g = 0; g < c->len && rc == 0; g++)
		rc = run_in(v, g, view, n, words, out);
	v->limit = limit;
	v->report = report;
	if (out)
		fclose(out);
	return rc;
}

static int
write_joined(struct viewer *v, const struct view *view, size_t n,
	     const char *const *words, FILE *out)
{
	struct comparison *c = v->comparison;

	c->gathered = xcalloc(c->len, sizeof *c->gathered);
	c->is_list = c->is_panes = c->is_fragment = false;

	const int rc = gather(v, view, n, words);
	struct gathering *gathered = c->gathered;

	if (rc == 0)
		compared_write(v, out);
	for (size_t g = 0; g < c->len; g++)
		gathering_fini(&gathered[g]);
	free(gathered);
	c->gathered = NULL;
	free(c->what);
	c->what = NULL;
	return rc;
}

static int
write_each(struct viewer *v, const struct view *view, size_t n,
	   const char *const *words, FILE *out)
{
	int rc = 0;

	for (size_t g = 0; g < v->comparison->len && rc == 0; g++) {
		title_write(v, out, "Experiment: %s",
			    v->comparison->groups[g].name);
		rc = run_in(v, g, view, n, words, out);
	}
	return rc;
}

/* The header is that of the first group which has the listing; where others
 * have none, they have no cost there. */
static int
take_listings(struct viewer *v, const struct view *view, size_t n,
	      const char *const *words, FILE *out)
{
	struct comparison *c = v->comparison;
	struct report *report = v->report;
	FILE *none = nowhere();
	int rc = -1;

	v->report = NULL;
	for (size_t g = 0; g < c->len && none; g++)
		if (run_in(v, g, view, n, words, rc < 0 ? out : none) == 0)
			rc = 0;
	v->report = report;
	if (none)
		fclose(none);
	if (rc == 0)
		fail_clear();
	return rc;
}

static int
write_listings(struct viewer *v, const struct view *view, size_t n,
	       const char *const *words, FILE *out)
{
	struct comparison *c = v->comparison;

	c->listings = xcalloc(c->len, sizeof *c->listings);

	const int rc = take_listings(v, view, n, words, out);
	struct listing *listings = c->listings;

	if (rc == 0)
		compared_listing_write(v, out);
	c->listings = NULL;
	for (size_t g = 0; g < c->len; g++)
		listing_fini(&listings[g]);
	free(listings);
	return rc;
}

/* What a view shows of several: their sum, each on its own, or a table with
 * columns of each. */
enum comparing { COMPARES_SUM, COMPARES_EACH, COMPARES_COLUMNS,
		 COMPARES_LISTINGS };

static enum comparing
comparing_of(const struct view *view)
{
	static const struct {
		view_run *run;
		enum comparing how;
	} known[] = {
		{ view_functions, COMPARES_COLUMNS },
		{ view_callers, COMPARES_COLUMNS },
		{ view_fragment, COMPARES_COLUMNS },
		{ view_lines, COMPARES_COLUMNS },
		{ view_pcs, COMPARES_COLUMNS },
		{ view_objects, COMPARES_COLUMNS },
		{ view_index_type, COMPARES_COLUMNS },
		{ view_index, COMPARES_COLUMNS },
		{ view_source, COMPARES_LISTINGS },
		{ view_disasm, COMPARES_LISTINGS },
		{ view_calltree, COMPARES_EACH },
		{ view_overview, COMPARES_EACH },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].run == view->run)
			return known[i].how;
	return COMPARES_SUM;
}

int
compare_run(struct viewer *v, const struct view *view, size_t n,
	   const char *const *words, FILE *out)
{
	const enum comparing how = comparing_of(view);

	if (v->compare == COMPARE_OFF || how == COMPARES_SUM ||
	    v->paths.len < 2 || !v->prof || viewer_exports(v))
		return view->run(v, n, words, out);
	if (compare_open(v) < 0)
		return -1;
	if (how == COMPARES_LISTINGS)
		return write_listings(v, view, n, words, out);
	return how == COMPARES_COLUMNS ?
		write_joined(v, view, n, words, out) :
		write_each(v, view, n, words, out);
}

/* ---- the setting ---------------------------------------------------- */

int
view_compare(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	static const char *const names[] = {
		[COMPARE_OFF] = "off", [COMPARE_ON] = "on",
		[COMPARE_DELTA] = "delta", [COMPARE_RATIO] = "ratio",
	};

	if (n == 1) {
		fprintf(out, "compare %s\n", names[v->compare]);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(words[1], names[i]) == 0) {
			v->compare = (enum compare_mode)i;
			return 0;
		}
	fail(FAIL_USAGE, "compare: %s is none of on, off, delta and ratio",
	     words[1]);
	return fail_remedy("compare delta");
}
