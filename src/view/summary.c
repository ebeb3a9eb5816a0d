/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Summaries: of functions, lines and instructions all that is known, one panel
 * each. Every metric that has data is there, also those without a column.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct topic {			/* of a panel */
	const struct cost *cost;
	const struct profile_function *fn;
	const char *file;
	struct place place;
};

struct summaries {
	struct viewer *v;
	struct item *items;	/* in order */
	size_t count;
	/* what the items stand for: one of these, by their index */
	const struct function_cost *functions;
	const struct line_cost *lines;
	const struct location_cost *pcs;
};

static void
add_metrics(const struct viewer *v, struct panel *p, const struct cost *cost)
{
	static const char *const flavors[] = { "Exclusive", "Inclusive" };
	const struct cost total = profile_total(v->prof);

	for (size_t i = 0; i < 2 * v->slots; i++) {
		const size_t slot = i / 2;
		const struct metric *m = profile_metric(v->prof,
							v->metrics[slot]);

		panel_metric(p, xasprintf("%s %s", flavors[i % 2], m->title),
			     m->is_time,
			     (i % 2 ? cost->incl : cost->excl)[slot],
			     total.incl[slot]);
	}
}

static void
add_aliases(struct panel *p, const struct profile_function *fn)
{
	const char *const *name = NULL;

	panel_list(p, "Aliases");
	if (fn->object->symbols && fn->start)
		name = symfile_aliases(fn->object->symbols, fn->start);
	for (; name && *name; name++)
		if (strcmp(*name, fn->linkage) != 0)
			panel_item(p, *name);
}

static void
add_subject(struct viewer *v, struct panel *p, const struct topic *s)
{
	const struct profile_object *obj = s->place.object;
	char *address = place_address(&s->place);

	add_metrics(v, p, s->cost);
	panel_count(p, "Size", s->place.size);
	panel_text(p, "PC Address", address);
	panel_text(p, "Source File", s->file);
	panel_text(p, "Object File", obj->file);
	panel_text(p, "Load Object", obj->path);
	panel_text(p, "Mangled Name",
		   strcmp(s->fn->linkage, viewer_name(v, s->fn->id)) &&
		   strcmp(s->fn->linkage, s->fn->name) ? s->fn->linkage : "");
	add_aliases(p, s->fn);
	free(address);
}

static const char *
file_of(const struct profile_function *fn)
{
	const char *file = NULL;
	int line;

	return fn->object->symbols && fn->start &&
	       symfile_declared(fn->object->symbols, fn->start, &file,
				&line) ? file : NULL;
}

/* ---- panels ---------------------------------------------------------- */

static void
make_panel(void *arg, size_t i, struct panel *p)
{
	struct summaries *s = arg;
	const struct item *item = &s->items[i];
	const size_t at = item->index;
	struct topic subject = {
		.cost = &item->cost, .fn = item->function,
		.place = place_of(item),
	};

	p->name = item->name;
	if (s->functions || item->function->id == FUNCTION_TOTAL)
		subject.file = file_of(item->function);
	else
		subject.file = s->lines ? s->lines[at].file :
					  s->pcs[at].file;
	add_subject(s->v, p, &subject);
}

static void
add_total(struct summaries *s)
{
	s->items[s->count++] = (struct item){
		.name = xstrdup("<Total>"), .cost = profile_total(s->v->prof),
		.function = profile_function(s->v->prof, FUNCTION_TOTAL),
	};
}

static void
write_summaries(struct summaries *s, const char *what, FILE *out)
{
	struct viewer *v = s->v;
	char *by = sort_title(v, &v->sort);
	char *title = xasprintf("%s sorted by metric: %s", what, by);

	add_total(s);
	items_sort(v, &v->sort, s->items, s->count, s->count);
	panels_write(v, title, v->limit && v->limit < s->count ? v->limit :
		     s->count, make_panel, s, out);
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].name);
	free(s->items);
	free(title);
	free(by);
}

int
view_fsummary(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct summaries s = { .v = v };

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_functions(v->prof, &s.functions);

	s.items = xcalloc(count + 1, sizeof *s.items);
	for (; s.count < count; s.count++)
		s.items[s.count] = (struct item){
			.name = xstrdup(viewer_name(
				v, s.functions[s.count].function)),
			.cost = s.functions[s.count].cost,
			.function = profile_function(
				v->prof, s.functions[s.count].function),
		};
	write_summaries(&s, "Functions", out);
	return 0;
}

/* Cost of a function that no stack holds: nothing. */
static struct cost
cost_of(struct viewer *v, uint32_t function, const uint64_t *nothing)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(v->prof, &costs);

	if (function == FUNCTION_TOTAL)
		return profile_total(v->prof);
	for (size_t i = 0; i < n; i++)
		if (costs[i].function == function)
			return costs[i].cost;
	return (struct cost){ nothing, nothing };
}

int
view_fsingle(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const uint64_t nothing[METRIC_MAX] = {0};
	uint32_t function;

	if (viewer_choose(v, n, words, &function) < 0)
		return -1;

	struct item item = {
		.name = xstrdup(viewer_name(v, function)),
		.cost = cost_of(v, function, nothing),
		.function = profile_function(v->prof, function),
	};
	struct summaries s = { .v = v, .items = &item };

	(void)profile_functions(v->prof, &s.functions);
	panels_write(v, NULL, 1, make_panel, &s, out);
	free(item.name);
	return 0;
}

int
view_lsummary(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct summaries s = { .v = v };

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_lines(v->prof, &s.lines);

	s.items = lines_items(v, s.lines, count);
	s.count = count;
	lines_places(v, s.lines, s.items, count);
	write_summaries(&s, "Lines", out);
	return 0;
}

int
view_psummary(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct summaries s = { .v = v };

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_pcs(v->prof, &s.pcs);

	s.items = pcs_items(v, s.pcs, count);
	s.count = count;
	write_summaries(&s, "PCs", out);
	return 0;
}
