/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line into words.
 */
#ifndef SONDE_SHELL_WORDS_H
#define SONDE_SHELL_WORDS_H

#include "base.h"

/* The value of `name` of $name, NULL: unknown. Of `{name`, `[expression`,
 * `((arithmetic)` and `(commands`, as they stand behind a $: NULL is a failure
 * that has been recorded. Of `=name`: a variable of the shell's own. It lives
 * until the next question. */
typedef const char *words_vars(void *arg, const char *name);

struct words {
	char **items;		/* ended by NULL */
	size_t len, cap;
	char *out;		/* > file or >> file; NULL none */
	bool append;
	char *in;		/* < file */
	char *pipe;		/* | line of the system's shell; NULL none */
	char *raw;		/* as typed, and where its first word ends */
	size_t rest;
	size_t start;		/* of the command in the text */
	size_t group_at;	/* where the text of its last group begins */
	bool is_group;		/* its first word is one */
	char joined;		/* & or |: && or || comes next; 0 */
};

void words_fini(struct words *w);
/* What stands behind a statement: > < |, as of a command without words; 1, or
 * -1: FAIL_USAGE. */
int words_tail(const char *text, size_t *at, struct words *w, words_vars *vars,
	       void *arg);
/* The next command of text (up to ; or && or its end), from *at on. 1: w is
 * filled; 0: nothing is left; -1: FAIL_USAGE (open quote or brace), or what
 * vars failed for. A group in braces is one word with the braces taken off. */
int words_next(const char *text, size_t *at, struct words *w, words_vars *vars,
	       void *arg);
/* The same of words that are no command. */
int words_list(const char *text, size_t *at, struct words *w, words_vars *vars,
	       void *arg);
/* To the next place where a command may begin; ;; is one. */
void words_skip(const char *text, size_t *at);
/* The text in the braces that begin at *at. NULL: a failure. */
char *words_group(const char *text, size_t *at);
/* ((...)) at *at: what is between. NULL: a failure. */
char *words_arithmetic(const char *text, size_t *at);
/* text with what begins with $ replaced, for arithmetic (own: with the
 * shell's own variables only, for expressions of the target's). NULL: a
 * failure. */
char *words_expanded(const char *text, bool own, words_vars *vars, void *arg);
/* true when text ends inside braces, quotes or after a backslash. */
bool words_unfinished(const char *text);

#endif
