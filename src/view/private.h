/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room share, beside the settings and tables.
 */
#ifndef VIEW_PRIVATE_H
#define VIEW_PRIVATE_H

#include "settings.h"
#include "table.h"

/* ---- viewer.c ------------------------------------------------------- */

/* Fails unless experiments are loaded. */
int viewer_check(const struct viewer *v);
/* Read the experiments again: a setting has changed what becomes of them.
 * On failure the old profile stays, and the caller sets its setting back. */
int viewer_reload(struct viewer *v);
/* Fails unless exactly so many words came. */
int words_check(size_t n, const char *const *words, size_t want);
/* As the settings say. */
struct profile *viewer_open_group(struct viewer *v, size_t group);
/* The slot of a metric, -1 when there is no data for it. */
int viewer_slot(const struct viewer *v, int metric);

/* A note for viewer_notes, beside what the view prints; takes it. */
void viewer_note(struct viewer *v, char *line);

/* ---- progress.c ----------------------------------------------------- */

/* One line that is written over by the next; NULL: away with it. arg is the
 * viewer. */
void progress_tell(void *arg, const char *line);

/* ---- ranges.c ------------------------------------------------------- */

void ranges_add(struct ranges *r, struct numbers range);
/* Take what stands at *at, which ends at what is no part of it; false: that
 * is no list. `all` adds nothing. */
bool ranges_take(const char **at, struct ranges *r);
bool ranges_have(const struct ranges *r, uint64_t number);
char *ranges_text(const struct ranges *r);	/* the caller frees it */

/* ---- filters.c, select.c, index.c: which records, counted by what ---- */

/* All that says which records count; NULL: all. The caller frees it. */
char *viewer_filter(const struct viewer *v);
/* The part of it that comes from selections. */
char *selection_expression(const struct viewer *v);
void selection_forget(struct viewer *v);
void index_types_init(struct viewer *v);
void index_types_free(struct viewer *v);
/* What a row of that type is called; the caller frees it. */
char *index_name(const struct viewer *v, const struct profile_index_type *type,
		 uint64_t index);
char *index_key(const struct viewer *v, const struct profile_index_type *type,
		uint64_t index);	/* NULL: its name */

/* ---- suggest.c ------------------------------------------------------ */

/* The remedy of the failure that one of these could not be opened. */
void suggest_experiments(const char *const *paths, size_t n);

/* ---- names.c -------------------------------------------------------- */

/* As the settings say; lives until the settings or the profile change. */
const char *viewer_name(struct viewer *v, uint32_t function);
/* As strcmp of their names, which it need not all find out. */
int viewer_compare_names(struct viewer *v, uint32_t a, uint32_t b);
void viewer_forget_names(struct viewer *v);
struct names;
void names_free(struct names *names);
const char *path_base(const char *path);

/* ---- object_rules.c ------------------------------------------------- */

void rules_fini(struct rules *r);

/* ---- fragment.c ----------------------------------------------------- */

void fragment_free(struct viewer *v);
/* What its function i is called here. */
const char *fragment_name(struct viewer *v, size_t i);
/* Its report, which no command is: several make it longer or shorter. */
int view_fragment(struct viewer *v, size_t n, const char *const *words,
		  FILE *out);

/* ---- choose.c ------------------------------------------------------- */

/*
 * The function that words[1] names, for the command words[0]; words[2], if it
 * is there, is its number among several of that name, 1 first, or its address.
 * The name may be what tables show, or long, short, mangled, an alias: the
 * first of these that some function has decides; then `f` stands for f(int),
 * for clones of f, and at last for a::f. Where no function with cost has the
 * name others are looked for. Fails (FAIL_USAGE, numbered candidates) where
 * that is none or not one.
 */
int viewer_choose(struct viewer *v, size_t n, const char *const *words,
		  uint32_t *function);
/* How many functions it may choose from. */
size_t viewer_matches(struct viewer *v, const char *word);

/* ---- subject.c ------------------------------------------------------ */

struct subject {		/* one source file */
	const char *file;	/* as recorded */
	const struct profile_object *object;	/* that has code of it */
	size_t unit;		/* and where there; 0: none */
};

/* The file that words[1] names, or where that function begins; words[2]: its
 * number among several. */
int subject_choose(struct viewer *v, size_t n, const char *const *words,
		   struct subject *out);

/* ---- spec.c: the metric grammar ------------------------------------- */

bool spec_same(const struct spec *a, const struct spec *b);
/* The number of a metric by its name of either generation, or -1. */
int spec_metric(const struct viewer *v, const char *name);
/* As people write it: e.%totalcpu */
void spec_write(const struct viewer *v, struct str *out,
		const struct spec *spec);
/* Named twice, a column is kept once, where it came first. */
void specs_add(struct specs *s, struct spec spec);
void specs_add_name(struct specs *s);
/* s is empty before, and on failure; `name` is appended where it is missing. */
int specs_parse(const struct viewer *v, const char *text, struct specs *s);
void specs_fini(struct specs *s);
/* "Exclusive Total CPU Time"; the caller frees it. */
char *sort_title(const struct viewer *v, const struct sort *sort);

/* ---- metrics.c: columns and order ----------------------------------- */

void specs_default(struct viewer *v);
/* The choices made for another profile, now that v has its own. */
void specs_rebind(struct viewer *v, const struct profile *old);
/* Flavours that a kind of view can show: the columns of its table. Specs of
 * metrics without data are left out. */
struct specs specs_plain(const struct viewer *v);
/* Is size or address among them? */
bool specs_have_place(const struct viewer *v);
/* One column per metric, of that flavour, shown as its first one. */
struct specs specs_folded(const struct viewer *v, enum flavor flavor);
/* The sort of a table that has only that flavour. */
struct sort sort_flavored(const struct viewer *v, enum flavor flavor);

/* ---- paths.c -------------------------------------------------------- */

struct found_source {
	char *path;		/* NULL: not found */
	bool archived;
	bool newer;		/* changed after a recording began */
	struct str looked;	/* where it is not */
};

void paths_init(struct source_paths *p);
void paths_fini(struct source_paths *p);
/* The file that debug information calls so; fills f in any case. */
bool source_find(const struct viewer *v, const char *recorded,
		 struct found_source *f);
void found_source_fini(struct found_source *f);

/* ---- compare*.c: experiments beside each other ----------------------- */

/* Run it as the user compares; with all experiments as one else. */
int compare_run(struct viewer *v, const struct view *view, size_t n,
		const char *const *words, FILE *out);
/* Is this view run once for each experiment now, to gather what it has? Then
 * give it things instead of writing them. flavor: all columns' one, or -1. */
bool compare_gathers(const struct viewer *v);
void compare_gather_list(struct viewer *v, const char *what, int flavor,
			 const struct sort *sort, const struct item *items,
			 size_t n);
void compare_gather_pane(struct viewer *v, const struct item *centre,
			 const struct item *callers, size_t above,
			 const struct item *callees, size_t below);
/* The same for the stack fragment; last is its last function. */
void compare_gather_fragment(struct viewer *v, const struct item *last,
			     const struct item *callers, size_t above,
			     const struct item *callees, size_t below);
/* Forget the profiles of single experiments: they are read anew. */
void compare_close(struct viewer *v);
void compare_forget_names(struct viewer *v);

/* ---- experiments.c --------------------------------------------------- */

struct range {			/* of experiments: first, and behind the last */
	size_t first, end;
};

/* What the words [EXP|all] behind a view's name mean: a number or a path of
 * experiment_list; without one all. */
int experiments_chosen(const struct viewer *v, size_t n,
		       const char *const *words, struct range *range);
/* What one experiment has of every metric, by slot. */
void experiment_totals(const struct viewer *v, size_t e, uint64_t *slots);

/* ---- procstats.c ----------------------------------------------------- */

/* profile_open, counted. */
struct profile *viewer_read(struct viewer *v, const char *const *paths,
			    size_t n, const struct profile_options *options);

/* ---- defaults.c ------------------------------------------------------ */

/* false: .er.rc asks for none that there are data for. */
bool defaults_columns(struct viewer *v);
void defaults_sort(struct viewer *v);
/* Sort by this column, if there is one. metrics.c. */
bool sort_by(struct viewer *v, const struct spec *want, bool reverse);

/* ---- nothing.c ------------------------------------------------------- */

/* Nothing has any cost: the sentence that says so has been written. */
/* Is its output fields with a character between them? */
bool viewer_is_delimited(const struct viewer *v);
bool nothing_to_show(struct viewer *v, FILE *out);

/* ---- header_stacks.c --------------------------------------------------- */

/* Of how many threads the creator is known; nothing where nobody asked. */
void creators_write(const struct viewer *v, FILE *out);

/* ---- statistics.c ---------------------------------------------------- */

/* What the processes used of it between their first and last resource sample;
 * false where that was not recorded. */
bool usage_of_metric(const struct viewer *v, const struct range *range,
		     const struct metric *m, uint64_t *ns);

/* ---- facts.c: the same for programs ---------------------------------- */

/* The format has panels; else the others do nothing. */
bool facts_wanted(const struct viewer *v);
/* Takes what is in it. */
void facts_write(const struct viewer *v, struct panel *p);
void fact_time(struct panel *p, const char *key, uint64_t ns, uint64_t whole);
void facts_experiment(const struct viewer *v, size_t e);
/* sums: by slot */
void facts_metrics(const struct viewer *v, const struct range *range,
		   const uint64_t *sums);

/* ---- views ---------------------------------------------------------- */

typedef int view_run(struct viewer *v, size_t n, const char *const *words,
		     FILE *out);
view_run view_functions, view_callers, view_calltree, view_lines, view_pcs,
	view_objects, view_header, view_overview,
	view_experiments, view_metric_list, view_statistics,
	view_sample_detail, view_metrics, view_sort, view_limit,
	view_name_form, view_creators, view_inlines, view_mode,
	view_printmode, view_compare, view_packets, view_map, view_ifreq,
	view_procstats;
view_run view_filters, view_describe, view_select, view_select_list,
	view_index, view_index_list, view_index_define, view_index_metrics,
	view_index_type;
view_run view_fsummary, view_fsingle, view_lsummary, view_psummary,
	view_csingle, view_cprepend, view_cappend, view_crmfirst, view_crmlast,
	view_object_list, view_object_show, view_object_hide, view_object_api,
	view_object_select, view_objects_default, view_caller_metrics;
view_run view_leaks, view_allocs, view_heap, view_heapstat, view_ioactivity,
	view_iodetail, view_iocallstack, view_iostat, view_locks;
view_run view_source, view_disasm, view_setpath, view_addpath, view_pathmap,
	view_scc, view_dcc, view_cc, view_sthresh, view_dthresh;

/* ---- report.c: formats ------------------------------------------------ */

/* The format holds the stacks of the profile, and no tables. */
bool viewer_exports(const struct viewer *v);
int viewer_export(struct viewer *v, FILE *out);

/* ---- exports ---------------------------------------------------------- */

/* Stacks for flame graphs, for speedscope, for pprof. */
int folded_write(struct viewer *v, FILE *out);
int speedscope_write(struct viewer *v, FILE *out);
int pprof_write(struct viewer *v, FILE *out);

#endif
