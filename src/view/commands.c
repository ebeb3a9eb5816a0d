/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of all views and settings. A row knows everything but the work:
 * help, completion, the man page's test and `report` come from it.
 */
#include "private.h"

const struct view view_table[] = {
	{ "functions", "", "functions with their exclusive and inclusive cost",
	  "functions", view_functions, false },
	{ "fsummary", "", "all that is known of each function", "fsummary",
	  view_fsummary, false },
	{ "fsingle", "FUNCTION [N]", "all that is known of one function; "
	  "N: which of that name", "fsingle main",
	  view_fsingle, false },
	{ "callers-callees", "",
	  "for each function who called it and whom it called",
	  "callers-callees", view_callers, false },
	{ "gprof", "", "the same as callers-callees", "gprof", view_callers,
	  false },
	{ "csingle", "FUNCTION [N]", "callers and callees of one function; "
	  "begins a fragment", "csingle main", view_csingle, false },
	{ "cprepend", "FUNCTION [N]", "put a function before the stack "
	  "fragment, as its caller", "cprepend main",
	  view_cprepend, false },
	{ "cappend", "FUNCTION [N]", "put a function behind the stack "
	  "fragment, as its callee", "cappend malloc",
	  view_cappend, false },
	{ "crmfirst", "", "take the first function off the stack fragment",
	  "crmfirst", view_crmfirst, false },
	{ "crmlast", "", "take the last function off the stack fragment",
	  "crmlast", view_crmlast, false },
	{ "calltree", "", "the tree of calls from <Total> down",
	  "calltree", view_calltree, false },
	{ "ctree", "", "the same as calltree", "ctree", view_calltree, false },
	{ "lines", "", "source lines with their cost", "lines", view_lines,
	  false },
	{ "lsummary", "", "all that is known of each source line", "lsummary",
	  view_lsummary, false },
	{ "pcs", "", "single instructions with their cost", "pcs", view_pcs,
	  false },
	{ "psummary", "", "all that is known of each instruction", "psummary",
	  view_psummary, false },
	{ "source", "FILE|FUNCTION|FUNCTION\"FILE\" [N]",
	  "a source file with the cost of its lines", "source main",
	  view_source, false },
	{ "src", "FILE|FUNCTION|FUNCTION\"FILE\" [N]",
	  "the same as source", "src main", view_source, false },
	{ "disasm", "FUNCTION [N]", "a function's instructions with their "
	  "cost", "disasm main", view_disasm, false },
	{ "dis", "FUNCTION [N]", "the same as disasm", "dis main",
	  view_disasm, false },
	{ "leaks", "", "blocks that were never freed, by stack", "leaks",
	  view_leaks, false },
	{ "allocs", "", "what was allocated, by stack", "allocs",
	  view_allocs, false },
	{ "heap", "", "both together, by stack", "heap", view_heap, false },
	{ "heapstat", "", "when most memory was in use, by which stacks; "
	  "sizes", "heapstat", view_heapstat, false },
	{ "ioactivity", "", "input and output by file", "ioactivity",
	  view_ioactivity, false },
	{ "iodetail", "", "the same, each time that a file was open",
	  "iodetail", view_iodetail, false },
	{ "iocallstack", "", "the same by stack", "iocallstack",
	  view_iocallstack, false },
	{ "iostat", "", "the same in all: sizes, the longest and the "
	  "largest", "iostat", view_iostat, false },
	{ "locks", "", "what was waited for: how long, by whom, and who held "
	  "it", "locks", view_locks, false },
	{ "objects", "", "load objects with their cost and what is wrong "
	  "with them", "objects", view_objects, false },
	{ "object_list", "", "load objects, and how much of each is shown",
	  "object_list", view_object_list, false },
	{ "threads", "", "threads of the experiment with their cost",
	  "threads", view_index_type, false },
	{ "cpus", "", "processors with the cost they ran up", "cpus",
	  view_index_type, false },
	{ "samples", "", "resource samples with the cost that lies in them",
	  "samples", view_index_type, false },
	{ "seconds", "", "seconds of the recording with their cost",
	  "seconds", view_index_type, false },
	{ "processes", "", "processes with their cost", "processes",
	  view_index_type, false },
	{ "experiment_ids", "", "experiments with their cost",
	  "experiment_ids", view_index_type, false },
	{ "datasize", "", "cost by bytes moved or asked for", "datasize",
	  view_index_type, false },
	{ "duration", "", "cost by how long events lasted", "duration",
	  view_index_type, false },
	{ "indxobj", "TYPE", "cost by an index object", "indxobj CPUs",
	  view_index, false },
	{ "indxobj_list", "", "index objects and what they count by",
	  "indxobj_list", view_index_list, false },
	{ "indx_metric_list", "", "the columns of index objects",
	  "indx_metric_list", view_index_metrics, false },
	{ "describe", "", "what filters and index objects can ask of a "
	  "record", "describe", view_describe, false },
	{ "sample_list", "", "resource samples that are selected",
	  "sample_list", view_select_list, false },
	{ "thread_list", "", "threads that are selected", "thread_list",
	  view_select_list, false },
	{ "lwp_list", "", "kernel threads that are selected", "lwp_list",
	  view_select_list, false },
	{ "cpu_list", "", "processors that are selected", "cpu_list",
	  view_select_list, false },
	{ "header", "[EXPERIMENT|all]", "what was recorded, how, and what "
	  "was lost", "header 1", view_header, false },
	{ "overview", "[EXPERIMENT|all]", "the sum of each metric beside what "
	  "the process used", "overview all",
	  view_overview, false },
	{ "experiment_list", "", "the experiments that are looked at",
	  "experiment_list", view_experiments, false },
	{ "exp_list", "", "the same as experiment_list", "exp_list",
	  view_experiments, false },
	{ "metric_list", "", "metrics that columns can be made of",
	  "metric_list", view_metric_list, false },
	{ "cmetric_list", "", "metrics that columns of callers-callees can be "
	  "made of", "cmetric_list", view_caller_metrics, false },
	{ "gmetric_list", "", "the same as cmetric_list", "gmetric_list",
	  view_caller_metrics, false },
	{ "statistics", "[EXPERIMENT|all]", "resources the process used "
	  "while it was recorded", "statistics all", view_statistics, false },
	{ "sample_detail", "[EXPERIMENT|all]", "the same from each resource "
	  "sample to the next", "sample_detail 1", view_sample_detail, false },
	{ "dprofile", "[EXPERIMENT|all]", "clock packets, one by one",
	  "dprofile 1", view_packets, false },
	{ "dheap", "[EXPERIMENT|all]", "heap packets, one by one",
	  "dheap 1", view_packets, false },
	{ "dsync", "[EXPERIMENT|all]", "packets of waits for locks, one by "
	  "one", "dsync 1", view_packets, false },
	{ "diotrace", "[EXPERIMENT|all]", "packets of input and output, one "
	  "by one", "diotrace 1", view_packets, false },
	{ "dhwc", "[EXPERIMENT|all]", "packets of hardware counters, one by "
	  "one", "dhwc 1", view_packets, false },
	{ "dmap", "[EXPERIMENT|all]", "what was mapped, where and when",
	  "dmap 1", view_map, false },
	{ "ifreq", "", "instruction frequencies: no experiment has them",
	  "ifreq", view_ifreq, false },
	{ "procstats", "", "what reading took: records, stacks, memory, time",
	  "procstats", view_procstats, false },
	{ "metrics", "[SPEC|default]", "choose the columns of all tables",
	  "metrics e.%totalcpu:i.user:name", view_metrics, true },
	{ "sort", "[[-]COLUMN|default]",
	  "choose the column that tables are sorted by", "sort i.totalcpu",
	  view_sort, true },
	{ "limit", "[N]", "show the first n rows; 0 shows all\n"
	  "  (-limit N behind a view: of that one alone)", "limit 20",
	  view_limit, true },
	{ "compare", "[on|off|delta|ratio]", "experiments side by side, or "
	  "their differences or ratios",
	  "compare delta", view_compare, true },
	{ "creators", "[on|off]", "show threads below the calls that created "
	  "them, in calltree", "creators on", view_creators, true },
	{ "inlines", "[on|off]", "show inlined functions as frames of their "
	  "own", "inlines on", view_inlines, true },
	{ "object_show", "OBJECT[,...]|all", "show all functions of load "
	  "objects", "object_show libc.so.6", view_object_show, true },
	{ "object_hide", "OBJECT[,...]|all", "show one function that stands "
	  "for the load object", "object_hide libc.so.6,libm.so.6",
	  view_object_hide, true },
	{ "object_api", "OBJECT[,...]|all", "show the functions by which "
	  "load objects are entered",
	  "object_api libc.so.6", view_object_api, true },
	{ "object_select", "OBJECT[,...]", "show these load objects, and hide "
	  "all others", "object_select a.out",
	  view_object_select, true },
	{ "objects_default", "", "show all functions of all load objects",
	  "objects_default", view_objects_default, true },
	{ "viewmode", "[user|expert|machine]", "machine: also the frames of "
	  "the dynamic linker's binding", "viewmode machine",
	  view_mode, true },
	{ "printmode", "[text|html|json|csv|CHAR]", "choose the format of "
	  "tables; CHAR: between fields",
	  "printmode html", view_printmode, true },
	{ "scc", "[CLASS[:CLASS...]]", "what source shows between the "
	  "lines: all, none, inline ...", "scc none", view_scc, true },
	{ "dcc", "[CLASS[:CLASS...]]", "the same for disasm; also hex, "
	  "nohex, src, nosrc", "dcc all:hex:src", view_dcc, true },
	{ "cc", "[CLASS[:CLASS...]]", "the same for both", "cc none",
	  view_cc, true },
	{ "sthresh", "[PERCENT]", "share of the highest value from which "
	  "lines have ##", "sthresh 50", view_sthresh, true },
	{ "dthresh", "[PERCENT]", "the same for instructions of disasm",
	  "dthresh 50", view_dthresh, true },
	{ "setpath", "[DIR[:DIR...]]", "where sources are looked for; "
	  "$expts: the experiments", "setpath '$expts:.:/usr/src'",
	  view_setpath, true },
	{ "addpath", "[DIR[:DIR...]]", "look for sources there as well",
	  "addpath /usr/src", view_addpath, true },
	{ "pathmap", "[FROM TO]", "sources that were below one directory "
	  "are below another", "pathmap /build/app /home/me/app",
	  view_pathmap, true },
	{ "name", "[long|short|mangled[:soname|:nosoname]]",
	  "choose the form of function names", "name short:soname",
	  view_name_form, true },
	{ "filters", "[EXPRESSION]", "look at those records only that an "
	  "expression keeps",
	  "filters 'FNAME(\"main\") SOME IN USTACK'", view_filters, true },
	{ "sample_select", "[SELECTION|all]",
	  "look at these resource samples only", "sample_select 1-4",
	  view_select, true },
	{ "thread_select", "[SELECTION|all]", "look at these threads only",
	  "thread_select 1:1-4+2:5,6", view_select, true },
	{ "lwp_select", "[SELECTION|all]",
	  "look at these kernel threads only", "lwp_select all:1,3-6",
	  view_select, true },
	{ "cpu_select", "[SELECTION|all]", "look at these processors only",
	  "cpu_select 0", view_select, true },
	{ "indxobj_define", "TYPE EXPRESSION",
	  "make an index object; where it is -1 is <Unknown>",
	  "indxobj_define Halves 'TSTAMP/500000000'", view_index_define,
	  true },
	{ .name = NULL },
};
