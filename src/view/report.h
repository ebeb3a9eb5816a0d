/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the writers share: one run of a view, and the cells of its tables.
 */
#ifndef VIEW_REPORT_H
#define VIEW_REPORT_H

#include "private.h"

struct table_writer {
	const char *name;	/* of the format */
	/* So many of the rows. */
	void (*table)(const struct table *t, size_t rows, FILE *out);
	/* NULL: nothing stands before a table. */
	void (*before_table)(struct report *r);
	/* NULL: it is text. */
	void (*panel)(const struct panel *p, struct report *r);
	/* What a view wrote, put together; NULL: it is text as it comes. */
	void (*report)(struct report *r, FILE *out);
};
extern const struct table_writer text_writer, html_writer, delimited_writer,
	csv_writer, json_writer;

struct report {
	const struct viewer *v;
	const struct table_writer *writer;
	const char *const *words;
	size_t words_len;
	char *first_title;
	struct str title;	/* lines that no table has taken yet */
	/* what writers made, and what else the view wrote */
	FILE *tables, *panels, *rest;
	char *tables_text, *panels_text, *rest_text;
	size_t tables_size, panels_size, rest_size;
	size_t title_at;	/* in rest: there stand the lines of title */
	size_t count, panel_count;
};

/* A title is a line of the text, until a table or a panel takes it. */
void report_title(struct report *r, const char *text);
void report_table(struct report *r, const struct table *t, size_t rows);
/* false: this format has no panels. */
bool report_panel(struct report *r, const struct panel *p);

/* ---- cell.c --------------------------------------------------------- */

/* A view's word of a value; snprintf's size rules. */
int cell_value(char *buf, size_t size, const struct column *col,
	       const struct cell *cell);
/* There is no value: not even zero. */
bool cell_empty(const struct column *col, const struct row *row,
		const struct cell *cell);
double cell_share(const struct column *col, const struct row *row,
		  const struct cell *cell);
int cell_percent(char *buf, size_t size, const struct column *col,
		 const struct row *row, const struct cell *cell);
/* The words of a heading in two parts: "Exclusive" "Total CPU Time". The
 * caller frees both. */
void column_words(const struct column *col, char *words[2]);
/* "(sec.)"; "" for none */
const char *column_unit(const struct column *col);
/* Rails or whatever stands before the name, the mark and the name. The caller
 * frees it. */
char *row_name(const struct table *t, const struct row *row);

/* ---- fit.c ---------------------------------------------------------- */

/* Columns of a terminal, one for each character. */
size_t text_width(const char *text);
/* Cut in the middle where it has more; the caller frees it. */
char *text_fit(const char *text, size_t width);
/* Cut at its end. */
char *text_cut(const char *text, size_t width);
/* Lines that are wider are broken between words; escapes take no room. */
void text_wrap(const char *text, size_t width, FILE *out);
/* The same for what stands before a name, and the name. */
char *row_fit(const struct table *t, const struct row *row, size_t width);

/* ---- hot.c ---------------------------------------------------------- */

/* The escape that begins a row's color, "" for none. */
const char *row_color(const struct table *t, const struct row *row);

#endif
