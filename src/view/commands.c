/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of all views and settings. A row knows everything but the work:
 * help, completion, the man page's test and `report` come from it.
 */
#include "private.h"

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
	{ "inlines", "[on|off]", "show inlined functions as frames of their "
	  "own, but in viewmode machine", "inlines on", view_inlines, true },
	{ "viewmode", "[user|expert|machine]", "machine shows the dynamic "
	  "linker's own frames, the others one @plt", "viewmode machine",
	  view_mode, true },
	{ "printmode", "[text|html|json|csv|<char>]", "choose the format of "
	  "tables; a character separates the fields of lines",
	  "printmode html", view_printmode, true },
	{ "name", "[long|short|mangled[:soname|:nosoname]]",
	  "choose the form of function names", "name short:soname",
	  view_name_form, true },
	{ .name = NULL },
};
