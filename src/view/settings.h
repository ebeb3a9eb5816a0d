/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a user has set, and what is open.
 */
#ifndef VIEW_SETTINGS_H
#define VIEW_SETTINGS_H

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
	char *expected;		/* the filter that will be set, and that the
				 * profile was read with; NULL: no other */
	struct selections selections;
	struct profile_index_type *index_types;	/* the user's come last */
	size_t index_types_len, index_types_cap;
	enum name_form form;
	bool soname;
	enum view_format format;
	char delimiter;		/* of VIEW_DELIMITED */
	bool untraced;		/* a view of calls was asked for, of which none
				 * could be traced */
	struct report *report;	/* the run that is under way, or NULL: its
				 * output is text as it comes */
	bool color;
	size_t width;		/* of the terminal; 0: as long as it is */
	struct vec *left_out;	/* headings of columns that it has no room
				 * for, in the view that runs; or NULL */
	struct source_paths paths_of_source;
	unsigned source_shows, disasm_shows;
	unsigned source_threshold, disasm_threshold;	/* percent */
	struct vec later;	/* char *: notes of the view that ran */
	struct names *names;	/* of its functions; NULL: not made yet */
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

#endif
