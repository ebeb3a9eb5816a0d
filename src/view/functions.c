/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The function list and the list of load objects, and the table of all views.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

int
view_functions(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct function_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (v->format == VIEW_FOLDED)
		return folded_write(v, out);

	const size_t count = profile_functions(v->prof, &costs);
	struct item *items = xcalloc(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.name = xstrdup(viewer_name(v, costs[i].function)),
			.cost = costs[i].cost,
			.function = profile_function(v->prof,
						     costs[i].function),
		};
	list_write(v, "Functions", items, count, out);
	free(items);
	return 0;
}

static char *
object_name(const struct profile_object *obj)
{
	/* only artificial frames of stacks without an end live there */
	if (!strcmp(obj->name, "<Total>"))
		return xstrdup("<stacks without an end>");
	if (!obj->is_file)
		return xstrdup(obj->name);
	return xasprintf("<%s> (%s)", obj->name, obj->path);
}

static void
write_troubles(const struct object_cost *costs, size_t n, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!costs[i].object->trouble)
			continue;
		fprintf(out, "note: %s\n", costs[i].object->trouble);
		any = true;
	}
	if (any)
		putc('\n', out);
}

int
view_objects(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct object_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_objects(v->prof, &costs);
	struct item *items = xcalloc(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.name = object_name(costs[i].object),
			.cost = costs[i].cost,
		};
	list_write(v, "Load objects", items, count, out);
	free(items);
	write_troubles(costs, count, out);
	return 0;
}

const struct view view_table[] = {
	{ "functions", "", "functions with their exclusive and inclusive cost",
	  "functions", view_functions, false },
	{ "callers-callees", "",
	  "for each function who called it and whom it called",
	  "callers-callees", view_callers, false },
	{ "gprof", "", "the same as callers-callees", "gprof", view_callers,
	  false },
	{ "calltree", "", "the tree of calls from <Total> down",
	  "calltree", view_calltree, false },
	{ "ctree", "", "the same as calltree", "ctree", view_calltree, false },
	{ "lines", "", "source lines with their cost", "lines", view_lines,
	  false },
	{ "pcs", "", "single instructions with their cost", "pcs", view_pcs,
	  false },
	{ "objects", "", "load objects with their cost and what is wrong "
	  "with them", "objects", view_objects, false },
	{ "threads", "", "threads of the experiment with their cost",
	  "threads", view_threads, false },
	{ "header", "", "what was recorded, how, and what was lost", "header",
	  view_header, false },
	{ "overview", "", "experiments, and the sum of each metric beside "
	  "what the process used", "overview",
	  view_overview, false },
	{ "experiment_list", "", "the experiments that are looked at",
	  "experiment_list", view_experiments, false },
	{ "metric_list", "", "metrics that columns can be made of",
	  "metric_list", view_metric_list, false },
	{ "statistics", "", "resources the process used while it was recorded",
	  "statistics", view_statistics, false },
	{ "sample_detail", "", "the same from each resource sample to the next",
	  "sample_detail", view_sample_detail, false },
	{ "metrics", "[<spec>|default]", "choose the columns of all tables",
	  "metrics e.%totalcpu:i.user:name", view_metrics, true },
	{ "sort", "[[-]<column>|default]",
	  "choose the column that tables are sorted by", "sort i.totalcpu",
	  view_sort, true },
	{ "limit", "[<n>]", "show the first n rows; 0 shows all", "limit 20",
	  view_limit, true },
	{ "creators", "[on|off]", "show threads below the calls that created "
	  "them, in calltree", "creators on", view_creators, true },
	{ "viewmode", "[user|expert|machine]", "machine shows the dynamic "
	  "linker's own frames, the others one @plt", "viewmode machine",
	  view_mode, true },
	{ "name", "[long|short|mangled[:soname|:nosoname]]",
	  "choose the form of function names", "name short:soname",
	  view_name_form, true },
	{ .name = NULL },
};
