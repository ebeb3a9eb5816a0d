/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Characters of a line, one after the other: what words.c makes words of.
 */
#ifndef SONDE_SHELL_SCAN_H
#define SONDE_SHELL_SCAN_H

#include "words.h"

struct scan {
	const char *text;
	size_t at;
	words_vars *vars;	/* NULL: what stands there is left as it is */
	void *arg;
	bool open;		/* the text ends before what it began */
	bool plain;		/* its words are no command */
	bool piped;		/* | ends a word */
	bool arms;		/* ;; is no separator: an arm of case ends */
	bool whole;		/* values are not split at blanks */
	bool quoted;		/* something of this word was */
	size_t *cuts;		/* where values part this word in several */
	size_t cuts_len, cuts_cap;
};

char scan_here(const struct scan *s);
/* At the end of a line, also of a file that came from DOS. */
bool scan_at_line_end(const struct scan *s);
/* A backslash before the end of a line, or of all: the line goes on. */
bool scan_skip_continuation(struct scan *s);
void scan_skip_blanks(struct scan *s);
void scan_skip_comment(struct scan *s);
/* To the next place where a command may begin. */
void scan_skip_separators(struct scan *s);
/* From a quote to behind the one that ends it; a backslash hides one. */
int scan_skip_literal(struct scan *s);
/* From ( or [ to behind the one that closes it. */
int scan_skip_nested(struct scan *s, char close);
/* What stands at s->at is added to word. -1: FAIL_USAGE is recorded. */
int scan_word(struct scan *s, struct str *word);
int scan_group(struct scan *s, struct str *word);
/* Takes the word. */
void words_push(struct words *w, char *word);
/* At |: the line behind it, for the system's shell. tail.c */
int scan_pipe(struct scan *s, char **line);
/* From the opening quote to behind the closing one. */
int scan_quoted(struct scan *s, struct str *word);
/* Within an expression of the target's: the shell's own variables only. */
void scan_own_variable(struct scan *s, struct str *word);
/* rest.c: is the rest of the command's line one expression? Take it. */
bool words_take_expression(const char *command);
int words_expression(struct scan *s, struct words *w);
bool words_keep_operators(const char *command);
/* ... and is what comes now one, of an event? It ends before modifiers. */
bool words_begin_condition(const struct scan *s, const struct words *w);
int words_condition(struct scan *s, struct words *w);
/* A text of which only what begins with $ is replaced. */
int scan_variable(struct scan *s, struct str *word, bool quoted);

#endif
