/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line into words.
 */
#ifndef SONDE_SHELL_WORDS_H
#define SONDE_SHELL_WORDS_H

#include "base.h"

struct words {
	char **items;		/* ended by NULL */
	size_t len, cap;
	char *out;		/* > file or >> file; NULL none */
	bool append;
	char *in;		/* < file */
	char *raw;		/* as typed, and where its first word ends */
	size_t rest;
};

void words_fini(struct words *w);
/* The next command of text (up to ; or its end), from *at on. 1: w is
 * filled; 0: nothing is left; -1: FAIL_USAGE (open quote or brace). A group
 * in braces is one word with the braces taken off. `vars` gives the value of
 * $name (NULL: unknown). */
int words_next(const char *text, size_t *at, struct words *w,
	       const char *(*vars)(void *arg, const char *name), void *arg);
/* true when text ends inside braces, quotes or after a backslash. */
bool words_unfinished(const char *text);

#endif
