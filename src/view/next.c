/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * After a view, the one that people want next: from what is hot to who calls
 * it, to its lines, to its instructions. Each is told once.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static const struct step {
	const char *after, *view;
	bool function;		/* it wants the name of one: the hottest */
	const char *why;
} steps[] = {
	{ "functions", "csingle", true, "who calls it, and what it calls" },
	{ "functions", "calltree", false, "who calls what" },
	{ "callers-callees", "source", true, "its lines" },
	{ "callers-callees", "lines", false, "source lines" },
	{ "gprof", "source", true, "its lines" },
	{ "calltree", "source", true, "the hottest function's lines" },
	{ "calltree", "lines", false, "source lines" },
	{ "ctree", "source", true, "the hottest function's lines" },
	{ "csingle", "source", true, "the hottest function's lines" },
	{ "fsingle", "source", true, "its lines" },
	{ "fsummary", "csingle", true, "who calls it, and what it calls" },
	{ "lines", "source", true, "the lines in their place" },
	{ "lines", "pcs", false, "single instructions" },
	{ "source", "disasm", true, "its instructions" },
	{ "disasm", "csingle", true, "who calls it, and what it calls" },
	{ "dis", "csingle", true, "who calls it, and what it calls" },
	{ "src", "disasm", true, "its instructions" },
	{ "lsummary", "source", true, "the lines in their place" },
	{ "psummary", "disasm", true, "the instructions in their place" },
	{ "pcs", "disasm", true, "the instructions in their place" },
	{ "objects", "functions", false, "what is hot in them" },
	{ "object_list", "objects", false, "what was spent in each" },
	{ "cpus", "threads", false, "who ran on them" },
	{ "samples", "sample_detail", false, "what was used in each" },
	{ "seconds", "threads", false, "who ran" },
	{ "processes", "threads", false, "their threads" },
	{ "experiment_ids", "functions", false, "what is hot in them" },
	{ "datasize", "iostat", false, "how large and how long" },
	{ "datasize", "heapstat", false, "when most was in use, and by whom" },
	{ "duration", "locks", false, "what was waited for" },
	{ "duration", "iostat", false, "how large and how long" },
	{ "threads", "calltree", false, "what they did" },
	{ "header", "overview", false, "what the time went into" },
	{ "overview", "functions", false, "where the time went" },
	{ "statistics", "functions", false, "where the time went" },
	{ "sample_detail", "statistics", false, "all of it in one" },
	{ "exp_list", "functions", false, "where the time went" },
	{ "metric_list", "functions", false, "where the time went" },
	{ "cmetric_list", "callers-callees", false, "what has them" },
	{ "gmetric_list", "callers-callees", false, "what has them" },
	{ "indxobj_list", "threads", false, "cost by one of them" },
	{ "indx_metric_list", "threads", false, "what has them" },
	{ "sample_list", "samples", false, "their cost" },
	{ "thread_list", "threads", false, "their cost" },
	{ "lwp_list", "threads", false, "their cost" },
	{ "cpu_list", "cpus", false, "their cost" },
	{ "dprofile", "functions", false, "where the time went" },
	{ "dheap", "allocs", false, "the same by stack" },
	{ "dsync", "locks", false, "the same by lock" },
	{ "diotrace", "ioactivity", false, "the same by file" },
	{ "dhwc", "functions", false, "where the events came from" },
	{ "dmap", "objects", false, "what was spent in each" },
	{ "experiment_list", "functions", false, "where the time went" },
	{ "leaks", "heapstat", false, "when most was in use, and by whom" },
	{ "allocs", "leaks", false, "what of it was never freed" },
	{ "heap", "heapstat", false, "when most was in use, and by whom" },
	{ "heapstat", "leaks", false, "what was never freed" },
	{ "ioactivity", "iodetail", false, "each time a file was open" },
	{ "iodetail", "iocallstack", false, "which calls they were" },
	{ "iocallstack", "iostat", false, "how large and how long" },
	{ "iostat", "ioactivity", false, "which files" },
	{ "locks", "calltree", false, "where they were waited for" },
};

static bool
is_view(const char *name)
{
	const struct view *row = view_table;

	while (row->name && strcmp(row->name, name))
		row++;
	return row->name;
}

/* Views of traced calls show nothing without them. */
static bool
has_data(const struct viewer *v, const char *view)
{
	static const struct { const char *view; enum metric_kind kind; }
	needs[] = {
		{ "allocs", METRIC_HEAP }, { "leaks", METRIC_HEAP },
		{ "heapstat", METRIC_HEAP }, { "locks", METRIC_SYNC },
		{ "ioactivity", METRIC_IO }, { "iodetail", METRIC_IO },
		{ "iocallstack", METRIC_IO }, { "iostat", METRIC_IO },
	};
	size_t i = 0;
	uint64_t events = 0;

	while (i < ARRAY_LEN(needs) && strcmp(needs[i].view, view))
		i++;
	if (i == ARRAY_LEN(needs))
		return true;
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		events += profile_events(v->prof, e, needs[i].kind);
	return events;
}

/* The name with the largest value of what rows are sorted by, or NULL. */
static const char *
hottest(struct viewer *v)
{
	const int slot = v->sort.metric < 0 ? -1 :
		viewer_slot(v, v->sort.metric);
	const struct function_cost *costs;
	const size_t n = profile_functions(v->prof, &costs);
	uint32_t best = FUNCTION_TOTAL;
	uint64_t most = 0;

	for (size_t i = 0; slot >= 0 && i < n; i++)
		if (costs[i].cost.excl[slot] > most) {
			most = costs[i].cost.excl[slot];
			best = costs[i].function;
		}
	if (!most || profile_function(v->prof, best)->object->is_kernel ||
	    !profile_function(v->prof, best)->object->is_file)
		return NULL;
	return viewer_name(v, best);
}

/* In quotes where the shell's words would end within it. */
static char *
command_of(const struct step *s, const char *function)
{
	if (!s->function)
		return xstrdup(s->view);
	if (function[strcspn(function, " \t\"'$;|<>(){}[]*?&#~`\\")])
		return strchr(function, '\'') ? NULL :
			xasprintf("%s '%s'", s->view, function);
	return xasprintf("%s %s", s->view, function);
}

char *
viewer_next(struct viewer *v, const struct view *view, const char **why)
{
	for (size_t i = 0; v->prof && v->slots && i < ARRAY_LEN(steps); i++) {
		const struct step *s = &steps[i];
		const char *function = NULL;

		/* what has nothing to show leads nowhere */
		if (strcmp(s->after, view->name) || !is_view(s->view) ||
		    !has_data(v, s->after) || !has_data(v, s->view) ||
		    (s->function && !(function = hottest(v))))
			continue;

		uint64_t *told = map_slot_of(&v->noted, hash_bytes(
			s->view, strlen(s->view), hash_word(i)));

		if (*told)
			return NULL;
		*told = 1;
		*why = s->why;
		return command_of(s, function);
	}
	return NULL;
}
