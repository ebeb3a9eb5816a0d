/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * view: turn a profile into tables of cells, and tables into text. Views know
 * no metric by name; writers know no view. Output is stable and aligned.
 */
#ifndef SONDE_VIEW_H
#define SONDE_VIEW_H

#include <stdbool.h>
#include <stdio.h>

/* What the user chose, and the profile that is looked at. */
struct viewer;

struct viewer *viewer_new(void);
void viewer_free(struct viewer *v);
/* Look at these experiments from now on; settings stay. Called again for a
 * live experiment it reads what is there by now. */
int viewer_load(struct viewer *v, const char *const *paths, size_t n);
/* Before that: with these words `filters` will be run, and nothing is shown
 * until then. What is loaded is read with that filter at once, not twice. */
void viewer_expect_filter(struct viewer *v, size_t n, const char *const *words);
/* Read the same experiments again if they have grown. */
int viewer_refresh(struct viewer *v);
bool viewer_loaded(const struct viewer *v);

/* Text, tables for pages, spreadsheets and programs; and the stacks of the
 * whole profile, for tools that draw them. */
enum view_format { VIEW_TEXT, VIEW_HTML, VIEW_DELIMITED, VIEW_CSV, VIEW_JSON,
		   VIEW_FOLDED, VIEW_SPEEDSCOPE, VIEW_PPROF };
void viewer_set_format(struct viewer *v, enum view_format format);
/* "text", "json" ...; FAIL_USAGE for others. */
int viewer_choose_format(struct viewer *v, const char *name);
/* What views print is for people. */
bool viewer_is_text(const struct viewer *v);
void viewer_set_color(struct viewer *v, bool on);
/* A terminal to say on what takes long; NULL: nothing is said. */
void viewer_set_progress(struct viewer *v, FILE *terminal);
/* Names are cut so that lines of tables have so many columns; 0: no limit. */
void viewer_set_width(struct viewer *v, size_t columns);

/* A view or a setting: `functions`, `limit 20`. words[0] is its name. Output
 * goes to out. 0 or -1 (then fail_last says why; FAIL_USAGE for bad words). */
struct view {
	const char *name;
	const char *args;	/* "" none; "[<n>]" ... */
	const char *help;	/* one line */
	const char *example;
	int (*run)(struct viewer *v, size_t n, const char *const *words,
		   FILE *out);
	bool is_setting;	/* changes settings; prints them when it gets
				 * no argument */
};
extern const struct view view_table[];	/* ended by name NULL */
/* Run a view in the format that was chosen. Its output is whole, or in formats
 * other than text not there. */
int viewer_run(struct viewer *v, const struct view *view, size_t n,
	       const char *const *words, FILE *out);

/* Is there an index object of that name? Then `indxobj NAME` shows it. */
bool viewer_has_index(const struct viewer *v, const char *name);
/* What .er.rc says: columns and order where the user chooses none (NULL: no
 * wish), and the descendants that are loaded: on, off or =REGEXP. */
void viewer_set_defaults(struct viewer *v, const char *metrics,
			 const char *sort);
int viewer_set_descendants(struct viewer *v, const char *which);

/* Print what makes names or numbers of the views so far less than they should
 * be (a load object without symbols, a damaged experiment), one line each with
 * the remedy; every line once in the viewer's life. */
void viewer_notes(struct viewer *v, FILE *err);
/* Is a file of an experiment damaged? Then what was shown is incomplete. */
bool viewer_damaged(const struct viewer *v);
/* Was a view shown of calls that were to be traced, of which none could be? */
bool viewer_untraced(const struct viewer *v);

/* The view that people want after this one, with its words, and why; NULL for
 * none, or when it has been told. The caller frees it. */
char *viewer_next(struct viewer *v, const struct view *view,
		  const char **why);

/* Function names of the loaded profile, for completion; stops on false. */
void viewer_each_function(struct viewer *v,
			  bool (*visit)(void *arg, const char *name),
			  void *arg);

#endif
