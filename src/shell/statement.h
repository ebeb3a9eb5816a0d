/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statements of a text, walked: script.c the text, loops.c if and loops,
 * pattern.c case, keywords.c where it is and what stands there.
 */
#ifndef SONDE_SHELL_STATEMENT_H
#define SONDE_SHELL_STATEMENT_H

#include "script.h"

enum keyword {			/* bits of a set */
	NO_KEYWORD = 0, IF = 1, THEN = 2, ELIF = 4, ELSE = 8, FI = 16,
	WHILE = 32, UNTIL = 64, FOR = 128, DO = 256, DONE_WORD = 512,
	NOT = 1024, FUNCTION = 2048, ARITHMETIC = 4096, CASE = 8192,
	ESAC = 16384, ARM_END = 32768,
};

struct script {
	struct shell *sh;	/* NULL: it is only looked at */
	const char *text;
	size_t at;
	int line;		/* of its first character */
	int nested;		/* statements around this one */
	bool open;		/* it ends before what it began */
	bool going;		/* what it was run from goes on */
};

/* ---- keywords.c ---------------------------------------------------------- */

int script_newlines(const char *text, size_t n);
void script_set_line(const struct script *s, size_t at);
/* The failure that is recorded is one of the text itself: the rest of it makes
 * no sense. Returns false. */
bool script_nonsense(struct script *s, size_t at);
/* The same: what lacks its end. */
bool script_ends_early(struct script *s, size_t start, const char *what,
		       const char *lacks);
bool script_leaves(const struct shell *sh);
bool script_runs(const struct script *s, bool run);
/* `function NAME`, `NAME() {`: where its body begins, 0: none of these. */
size_t script_function_at(const char *text, size_t at, size_t *name, size_t *n);
enum keyword script_keyword(struct script *s);
const char *script_keyword_name(enum keyword k);
/* The list before it ended there. */
bool script_take(struct script *s, enum keyword k, size_t start,
		 const char *what);
/* By a signal. Returns false. */
bool script_interrupted(struct script *s);

/* ---- loops.c ------------------------------------------------------------- */

/* Their first word is taken. false: the end of the text, or of what is run. */
bool script_if(struct script *s, bool run);
bool script_while(struct script *s, bool run, enum keyword k);
bool script_for(struct script *s, bool run);

/* ---- pattern.c ----------------------------------------------------------- */

/* The same. */
bool script_case(struct script *s, bool run);

/* ---- script.c ------------------------------------------------------------ */

/* Commands up to one of the keywords in ends. */
bool script_list(struct script *s, bool run, unsigned ends);

#endif
