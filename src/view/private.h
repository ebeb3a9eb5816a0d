/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room share: the settings, and a table of cells.
 */
#ifndef VIEW_PRIVATE_H
#define VIEW_PRIVATE_H

#include "base.h"
#include "profile.h"
#include "view.h"

enum flavor { EXCLUSIVE, INCLUSIVE, ATTRIBUTED, STATIC_NAME, STATIC_SIZE,
	      STATIC_ADDRESS };
enum { SHOW_VALUE = 1, SHOW_PERCENT = 2 };	/* 0: hidden */

struct spec {			/* one column, as the user asked for it */
	enum flavor flavor;
	int metric;		/* its number; -1 for static ones */
	unsigned show;
};

struct specs {
	struct spec *items;
	size_t len, cap;
};

struct sort {
	enum flavor flavor;	/* EXCLUSIVE, INCLUSIVE or a static one */
	int metric;
	bool reverse;
};

struct rules {			/* of load objects */
	struct object_rule *items;
	size_t len, cap;
};
struct comparison;

enum compare_mode { COMPARE_OFF, COMPARE_ON, COMPARE_DELTA, COMPARE_RATIO };

struct numbers { uint64_t first, last; };
struct ranges {			/* none: all */
	struct numbers *items;
	size_t len, cap;
};

enum selection { SELECT_SAMPLES, SELECT_THREADS, SELECT_LWPS, SELECT_CPUS,
		 SELECTIONS };
struct selected {		/* of one experiment */
	bool is_out;		/* nothing of it */
	struct ranges ranges[SELECTIONS];
};
struct selections {		/* by experiment; beyond them: all */
	struct selected *items;
	size_t len;
};

enum view_mode { MODE_USER, MODE_EXPERT, MODE_MACHINE };

struct source_paths {
	struct vec search;	/* directories, and $expts */
	struct vec maps;	/* from, to, from, to ... */
};

/* What annotated listings show. */
enum { SHOW_INLINES = 1, SHOW_FLAGS = 2, SHOW_HEX = 4, SHOW_SOURCE = 8 };

struct viewer {
	struct vec paths;	/* char * */
	struct profile *prof;
	int metrics[METRIC_MAX];	/* slot -> number */
	size_t slots;
	struct specs columns;
	struct sort sort;
	bool default_columns;	/* the user chose none */
	size_t limit;		/* 0: none */
	bool creators;		/* threads below the calls that created them */
	bool inlines;		/* inlined functions are frames */
	enum view_mode mode;
	char *filter;		/* NULL: none */
	struct selections selections;
	struct profile_index_type *index_types;	/* the user's come last */
	size_t index_types_len, index_types_cap;
	enum name_form form;
	bool soname;
	enum view_format format;
	char delimiter;		/* of VIEW_DELIMITED */
	struct report *report;	/* the run that is under way, or NULL: its
				 * output is text as it comes */
	bool color;
	size_t width;		/* of the terminal; 0: as long as it is */
	struct source_paths paths_of_source;
	unsigned source_shows, disasm_shows;
	unsigned source_threshold, disasm_threshold;	/* percent */
	struct vec later;	/* char *: notes of the view that ran */
	char **names;		/* by function id; NULL: not made yet */
	size_t names_len;
	struct symbol_server *server;	/* NULL: none is asked */
	FILE *progress;		/* a terminal, or NULL */
	size_t progress_len;	/* of the line that stands there */
	enum compare_mode compare;
	struct comparison *comparison;	/* compare.c; NULL: not opened */
	struct reading {	/* what it took so far */
		uint64_t count, wall_ns, cpu_ns;
	} reading;
	char *dmetrics, *dsort;	/* columns that .er.rc asks for, or NULL */
	char *descendants;	/* "off", "=REGEXP"; NULL: all are shown */
	struct map noted;	/* hashes of lines already printed */
	struct fragment_part *fragment;	/* outermost first */
	size_t fragment_len, fragment_cap;
	struct rules rules;	/* what the user said of load objects */
};

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
void viewer_forget_names(struct viewer *v);
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

/* ---- table.c -------------------------------------------------------- */

enum cell_kind { CELL_TIME, CELL_COUNT, CELL_TEXT, CELL_NAME,
		 CELL_LINE,	/* a number of a line; 0: none */
		 CELL_MARK	/* of hot rows: 1 */ };

enum relation { AS_IT_IS, DELTA, RATIO };

struct column {
	char *heading;		/* "Excl. Total CPU" */
	const char *key;	/* its name for programs; NULL: made from the
				 * heading */
	const char *group;	/* what it is compared with others as, or NULL;
				 * outlives the table */
	enum relation relation;	/* of the cells' values to their bases */
	enum cell_kind kind;
	unsigned show;
	uint64_t whole;		/* 100 % */
	uint64_t widest;	/* leave room for this value */
	const struct metric *metric;	/* NULL: the heading says it */
	enum flavor flavor;		/* of the metric */
};

struct cell {
	uint64_t value;
	char *text;		/* CELL_TEXT; CELL_LINE: as people see it */
	uint64_t base;		/* what a DELTA or RATIO compares it with */
};

enum row_kind { ROW_VALUES, ROW_NAME /* has nothing else */,
		ROW_HEADING /* of the rows below it */ };

struct row {
	const char *name;	/* lives longer than the table */
	enum row_kind kind;
	char mark;		/* ' ' or '*' */
	const char *is;		/* what its name is, in a table of several
				 * kinds of things; or NULL */
	bool no_percent;
	bool hot;		/* to be seen first */
	bool is_sum;		/* of other rows' things */
	bool blank;		/* nothing to measure: empty, where others
				 * have zeros */
	uint32_t tag;		/* for print_prefix */
	size_t cells;		/* first in table->cells */
	uint32_t depth, parent;	/* of a tree: the parent's row */
	uint64_t own;		/* of a tree: the sorted value, less that of
				 * the rows below */
};

struct table {
	struct column *columns;
	size_t columns_len, columns_cap;
	struct row *rows;
	size_t rows_len, rows_cap;
	struct cell *cells;
	size_t cells_len, cells_cap;
	bool color;
	bool is_tree;
	size_t sorted;		/* by this column, counted from 1; 0: none */
	const struct viewer *v;	/* NULL: it is text in any format */
	/* what stands before a name (rails of a tree), or NULL */
	void (*print_prefix)(void *arg, const struct row *row, FILE *out);
	void *arg;
};

/* Takes the heading. */
void table_column(struct table *t, struct column column);
/* A row of zeros. The view is valid until the next row. */
struct row *table_row(struct table *t, const char *name);
struct cell *table_cell(struct table *t, const struct row *row, size_t column);
void table_write(const struct table *t, size_t limit, FILE *out);
void table_fini(struct table *t);

/* ---- panel.c: names and values of one thing ------------------------- */

enum pair_kind { PAIR_TIME, PAIR_AMOUNT, PAIR_COUNT, PAIR_TEXT, PAIR_LIST };

struct pair {
	char *key;		/* "Exclusive Total CPU Time" */
	enum pair_kind kind;
	uint64_t value;		/* all but texts; PAIR_TIME in ns */
	uint64_t whole;		/* 100 %, of the first two kinds */
	char **texts;		/* PAIR_TEXT: one; none: not known */
	size_t len, cap;
};

struct panel {
	const char *name;	/* what it is about; outlives the panel */
	struct pair *pairs;
	size_t len, cap;
};

/* Add a pair. A metric takes its key; text NULL: not known; panel_item adds
 * to the list that was added last. */
void panel_metric(struct panel *p, char *key, bool is_time, uint64_t value,
		  uint64_t whole);
void panel_count(struct panel *p, const char *key, uint64_t value);
void panel_text(struct panel *p, const char *key, const char *text);
void panel_list(struct panel *p, const char *key);
void panel_item(struct panel *p, const char *text);
void panel_fini(struct panel *p);

/* Fills an empty panel: the name and the pairs of thing i. */
typedef void panel_make(void *arg, size_t i, struct panel *p);
/* A report of n panels, made one after the other. title: NULL for none. */
void panels_write(struct viewer *v, const char *title, size_t n,
		  panel_make *make, void *arg, FILE *out);

/* ---- list.c: tables of things with a cost --------------------------- */

struct place {			/* what columns size and address tell */
	const struct profile_object *object;
	uint64_t address, size;
};

struct item {
	char *name;
	char *key;		/* what it is called where it is compared with
				 * its like in another experiment; NULL: name */
	struct cost cost;
	const struct profile_function *function;	/* or NULL */
	uint32_t order;		/* among equals, before the name; 0 mostly */
	uint32_t index;		/* where it came from, for its maker */
	struct place place;	/* object NULL: that of its function */
};

/* Columns of specs; whole gives 100 % by slot. The table becomes v's. */
/* The heading is the caller's. whole and widest by slot. */
struct column column_of(const struct viewer *v, const struct spec *spec,
			const uint64_t *whole, const uint64_t *widest);
void cell_static(struct cell *cell, enum flavor flavor,
		 const struct place *place);
/* Where a thing is; where nothing is known, the place of <Total>. */
struct place place_of(const struct item *item);
/* "2:0x00001169"; the caller frees it. */
char *place_address(const struct place *place);
/* Columns of specs; whole gives 100 % by slot. */
void table_columns(struct table *t, const struct viewer *v,
		   const struct specs *specs, const uint64_t *whole);
void table_cost(struct table *t, const struct viewer *v,
		const struct specs *specs, const struct row *row,
		const struct cost *cost,
		const struct profile_function *function);
/* Most expensive first, equals by name. */
void items_sort(const struct viewer *v, const struct sort *sort,
		struct item *items, size_t n);
int item_compare(const struct viewer *v, const struct sort *sort,
		 const struct cost *a, const char *name_a,
		 const struct cost *b, const char *name_b);
/* Title, headings, <Total>, items. Frees the items' names and keys. */
void list_write(struct viewer *v, const char *what, struct item *items,
		size_t n, FILE *out);
void list_write_flavored(struct viewer *v, const char *what,
			 enum flavor flavor, struct item *items, size_t n,
			 FILE *out);
/* Rows are in this order: mark the column. */
void table_sorted(struct table *t, const struct specs *specs,
		  const struct sort *sort);
void title_write(const struct viewer *v, FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- lines.c --------------------------------------------------------- */

/* Items with their index among the costs; their names are the caller's. */
struct item *lines_items(struct viewer *v, const struct line_cost *costs,
			 size_t n);
/* Give items of lines the places of their lines. */
void lines_places(struct viewer *v, const struct line_cost *lines,
		  struct item *items, size_t n);
struct item *pcs_items(struct viewer *v, const struct location_cost *costs,
		       size_t n);
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

/* ---- listing.c: annotated source and instructions -------------------- */

struct source_text {
	char *data;
	char **lines;
	size_t len;
};

/* path NULL, or not to be read: no lines. */
void text_read(struct source_text *text, const char *path);
void text_fini(struct source_text *text);
const char *text_line(const struct source_text *text, int line); /* or "" */

struct listing {
	struct viewer *v;
	struct table table;
	struct specs specs;
	struct vec names;
	size_t line, address, bytes;	/* columns */
	unsigned threshold;
};

enum { LISTING_ADDRESS = 1, LISTING_BYTES = 2 };	/* more columns */
enum { LISTING_BYTES_WIDTH = 29 };

void listing_init(struct listing *l, struct viewer *v, unsigned threshold,
		  unsigned columns);
void listing_fini(struct listing *l);
/* Rows; without a cost: nothing to measure there. A cost of NULLs is zero.
 * listing_index takes name. */
void listing_index(struct listing *l, char *name, const struct cost *cost);
void listing_astray(struct listing *l, uint64_t vaddr,
		    const struct cost *cost);
void listing_source(struct listing *l, int line, const char *text,
		    const struct cost *cost);
void listing_code(struct listing *l, int line, const struct symfile_insn *insn,
		  const struct cost *cost);
/* How the unit was compiled, if it tells. */
void listing_flags(struct listing *l, const struct profile_object *object,
		   size_t unit);
void listing_write(struct listing *l, FILE *out);
/* Above it: files. source, found: or NULL. */
void listing_header(const char *source, const char *found,
		    const struct profile_object *object, FILE *out);
/* A note where the source is missing or newer than the recording. */
void source_trouble(struct viewer *v, const char *recorded,
		    const struct found_source *f);
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
/* true: the listing is kept for that of a comparison; l is empty. */
bool compare_takes_listing(struct viewer *v, struct listing *l);
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
bool nothing_to_show(const struct viewer *v, FILE *out);

/* ---- header.c -------------------------------------------------------- */

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
