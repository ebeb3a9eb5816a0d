/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of cells, panels, and lists of things with a cost.
 */
#ifndef VIEW_TABLE_H
#define VIEW_TABLE_H

#include "settings.h"

/* ---- table.c -------------------------------------------------------- */

enum cell_kind { CELL_TIME, CELL_COUNT, CELL_TEXT, CELL_NAME,
		 CELL_LINE,	/* a number of a line; 0: none */
		 CELL_MARK	/* of hot rows: 1 */ };

enum relation { AS_IT_IS, DELTA, RATIO };

struct column {
	char *heading;		/* "Excl. Total CPU" */
	const char *key;	/* its name for programs; NULL: made from the
				 * heading */
	bool precise;		/* of times: to the microsecond */
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
	char *name;		/* NULL: that of its function */
	char *key;		/* what it is called where it is compared with
				 * its like in another experiment; NULL: name */
	struct cost cost;
	const struct profile_function *function;	/* or NULL */
	uint32_t order;		/* among equals, before the name; 0 mostly */
	uint32_t index;		/* where it came from, for its maker */
	struct place place;	/* object NULL: that of its function */
};

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
/* Most expensive first, equals by name; behind the first `seen` in any order. */
void items_sort(struct viewer *v, const struct sort *sort,
		struct item *items, size_t n, size_t seen);
int item_compare(struct viewer *v, const struct sort *sort,
		 const struct item *a, const struct item *b);
/* Title, headings, <Total>, items. Frees the items' names and keys. */
void list_write(struct viewer *v, const char *what, struct item *items,
		size_t n, FILE *out);
void list_write_flavored(struct viewer *v, const char *what,
			 enum flavor flavor, struct item *items, size_t n,
			 FILE *out);
/* These columns in this order, even where experiments are compared. */
void list_write_specs(struct viewer *v, const char *what,
		      const struct specs *specs, const struct sort *sort,
		      struct item *items, size_t n, FILE *out);
/* For formats of fields: the headings of a table that has no rows. */
void list_write_headings(struct viewer *v, const struct specs *specs,
			 const struct sort *sort, FILE *out);
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
/* What an instruction is called; file NULL: it has no line. The caller frees
 * it. */
char *pc_name(struct viewer *v, const struct profile_location *where,
	      const char *file, int line);
struct item *pcs_items(struct viewer *v, const struct location_cost *costs,
		       size_t n);

#endif
