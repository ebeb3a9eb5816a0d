/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The language: statements (script.c), variables, arithmetic, the commands
 * that belong to it (builtins.c).
 */
#ifndef SONDE_SHELL_SCRIPT_H
#define SONDE_SHELL_SCRIPT_H

#include "private.h"

/* ---- variables.c --------------------------------------------------------- */

bool var_is_name(const char *word, size_t n);
/* Of those that were set, then the session's and the environment's; NULL. */
const char *var_value(struct shell *sh, const char *name);
/* Of those alone that sonde sets itself; arg is the shell. */
const char *var_known(void *arg, const char *name);
/* -1: that name is not to be set, or the value is too long. */
int var_set(struct shell *sh, const char *name, const char *value);
/* false: there was none. */
bool var_unset(struct shell *sh, const char *name);

/* ---- arith.c ------------------------------------------------------------- */

int arith_evaluate(struct shell *sh, const char *text, long long *value);

/* ---- builtins.c ---------------------------------------------------------- */

struct builtin {
	const char *name, *args, *help;
	enum result (*run)(struct shell *sh, size_t n, char **words);
};
extern const struct builtin builtins[];		/* ended by name NULL */
extern const struct builtin ksh_words[];	/* kshwords.c: likewise */
/* What refuses a word that is not there; NULL: it is none of these. */
const struct builtin *builtin_absent(const char *name);
/* By its whole name; NULL: none. */
const struct builtin *builtin_find(const char *name);

/* ---- alias.c ------------------------------------------------------------- */

/* What is run for the line w of an alias. NULL: a failure. */
char *alias_text(const char *alias, const struct words *w);

/* ---- functions.c --------------------------------------------------------- */

struct function {
	char *name, *body;
	char *file;		/* where it stands; NULL: at the keyboard */
	int line;
};
const struct function *function_find(const struct shell *sh, const char *name);
/* Takes what it points at. */
void function_define(struct shell *sh, const struct function *as);
/* false: there is none. */
bool function_forget(struct shell *sh, const char *name);
/* Its positional parameters are words 1 on. */
enum result function_call(struct shell *sh, const struct function *f, size_t n,
			  char **words);

#endif
