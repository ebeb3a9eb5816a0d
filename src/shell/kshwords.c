/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words that people of ksh and dbx type: those that mean something here, and
 * those that do not, with what does the work.
 */
#include "script.h"

#include <errno.h>
#include <readline/history.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- variables ----------------------------------------------------------- */

static enum result
do_let(struct shell *sh, size_t n, char **words)
{
	long long value = 0;

	if (n < 2)
		return USAGE;
	for (size_t i = 1; i < n; i++) {
		if (arith_evaluate(sh, words[i], &value) < 0) {
			sh->mistake = true;
			return FAILED;
		}
	}
	sh->status = !value;
	return ANSWERED;
}

/* NAME or NAME=VALUE, into the environment. */
static int
export_one(struct shell *sh, const char *word)
{
	const size_t n = strcspn(word, "=");
	char *name = xstrndup(word, n);
	const char *value = word[n] ? word + n + 1 : var_value(sh, name);
	int r = -1;

	if (!var_is_name(word, n))
		fail(FAIL_USAGE, "export: '%s' is no name", word);
	else if (!value)
		fail(FAIL_USAGE, "export: variable %s is not set", name);
	else if (setenv(name, value, 1) < 0)
		fail_errno("export %s", name);
	else
		r = word[n] ? var_set(sh, name, value) : 0;
	free(name);
	return r;
}

static enum result
do_export(struct shell *sh, size_t n, char **words)
{
	if (n < 2)
		return USAGE;
	for (size_t i = 1; i < n; i++)
		if (export_one(sh, words[i]) < 0)
			return FAILED;
	return DONE;
}

/* ---- read ---------------------------------------------------------------- */

/* A command file that is standard input loses a line by it. */
static void
count_line(struct shell *sh)
{
	struct source *file = shell_file(sh);

	if (file && !sh->read_from && sh->in_commands && !file->up)
		file->taken++;
}

/* Each word to a name, the rest to the last one. */
static int
share_out(struct shell *sh, char *line, size_t n, char **names)
{
	for (size_t i = 0; i < n; i++) {
		line += strspn(line, " \t");

		const size_t len = i + 1 < n ? strcspn(line, " \t") :
			strlen(line);
		char *value = xstrndup(line, len);
		size_t end = len;

		while (end && strchr(" \t", value[end - 1]))
			value[--end] = '\0';

		const int r = var_set(sh, names[i], value);

		free(value);
		if (r < 0)
			return -1;
		line += len;
	}
	return 0;
}

static enum result
do_read(struct shell *sh, size_t n, char **words)
{
	static char reply[] = "REPLY";
	char *only[] = { reply };
	const size_t raw = n > 1 && strcmp(words[1], "-r") == 0;
	char **names = n > 1 + raw ? words + 1 + raw : only;
	FILE *from = sh->read_from ? sh->read_from : stdin;
	char *line = NULL;
	size_t cap = 0;

	n = n > 1 + raw ? n - 1 - raw : 1;
	for (size_t i = 0; i < n; i++)
		if (!var_is_name(names[i], strlen(names[i])))
			return USAGE;
	fflush(sh->out);
	if (isatty(fileno(from)) && !wait_readable(sh, fileno(from))) {
		fail(FAIL_GENERAL, "read: interrupted");
		return FAILED;
	}

	const ssize_t got = getline(&line, &cap, from);
	enum result r = ANSWERED;

	sh->status = got < 0;		/* the end is an answer */
	if (got > 0 && line[got - 1] == '\n')
		line[got - 1] = '\0';
	if (got >= 0)
		count_line(sh);
	if (got >= 0 && share_out(sh, line, n, names) < 0)
		r = FAILED;
	free(line);
	return r;
}

/* ---- texts that are run -------------------------------------------------- */

static enum result
run_line(struct shell *sh, const char *line)
{
	if (shell_run_text(sh, line))
		return ANSWERED;
	return sh->quitting ? QUIT : TOLD;
}

static enum result
do_eval(struct shell *sh, size_t n, char **words)
{
	char *line = words_joined(n - 1, words + 1);
	const enum result r = n > 1 ? run_line(sh, line) : DONE;

	free(line);
	return r;
}

/* The last that begins so, or has this number; not the line that asks. */
static const char *
line_before(const char *word)
{
	long long number = -1;

	if (word && str_number(word, 0, 1 << 30, &number)) {
		const HIST_ENTRY *e = number < history_base + history_length - 1
			? history_get((int)number) : NULL;

		return e ? e->line : NULL;
	}
	for (int i = history_length - 2; i >= 0; i--) {
		const HIST_ENTRY *e = history_get(history_base + i);

		if (e && (!word || str_starts(e->line, word)))
			return e->line;
	}
	return NULL;
}

/* The first `old` of a line is `new`, if that was asked for. */
static char *
replaced(const char *line, const char *how)
{
	const size_t n = how ? strcspn(how, "=") : 0;
	char *old = xstrndup(how ? how : "", n);
	const char *at = n ? strstr(line, old) : NULL;
	char *text = at ? xasprintf("%.*s%s%s", (int)(at - line), line,
				    how + n + 1, at + n) : xstrdup(line);

	free(old);
	return text;
}

static enum result
do_again(struct shell *sh, size_t n, char **words)
{
	const char *how = n > 1 && strchr(words[1], '=') ? words[1] : NULL;
	const char *which = n > 1u + !!how ? words[1 + !!how] : NULL;
	const char *line = n <= 2u + !!how ? line_before(which) : NULL;
	HIST_ENTRY *e;

	if (n > 2u + !!how)
		return USAGE;
	if (!line || !sh->interactive) {
		fail(FAIL_USAGE, "r: there is no such line");
		fail_remedy("history lists those that were typed here");
		return FAILED;
	}

	char *text = replaced(line, how);

	/* in the history it stands for the line that asked */
	e = replace_history_entry(history_length - 1, text, NULL);
	if (e)
		(void)free_history_entry(e);
	fprintf(sh->out, "%s\n", text);

	const enum result r = run_line(sh, text);

	free(text);
	return r;
}

/* ---- aliases ------------------------------------------------------------- */

static enum result
do_alias(struct shell *sh, size_t n, char **words)
{
	char *typed = words[0];
	enum result r;

	words[0] = strchr("dk", *typed) ? typed + 1 : (char *)"unalias";
	r = shell_command(sh, n, words);
	words[0] = typed;
	return r;
}

/* ---- what is not there --------------------------------------------------- */

static const struct {
	const char *name, *why, *instead;
} absent[] = {
	{ "[[", "[[ ]] is not in this language, nor in dbx's",
	  "[ A = B ], or (( A == B )) for numbers" },
	{ "bg", "there are no jobs", "sh PROGRAM &" },
	{ "bind", "keys are set in ~/.inputrc, for all that use readline",
	  "sh man readline" },
	{ "cd", "sonde stays where it was started",
	  "sh cd DIRECTORY && PROGRAM; collector store directory "
	  "DIRECTORY; full paths" },
	{ "exec", "sonde is not replaced by another program", "sh PROGRAM" },
	{ "fc", "lines are edited at the prompt", "history, r, !!, !N" },
	{ "fg", "there are no jobs", "cont lets the process run" },
	{ "jobs", "there are no jobs", "status, threads" },
	{ "readonly", "all variables may be set", "NAME=VALUE" },
	{ "select", "there are no menus", "echo TEXT; read NAME" },
	{ "times", "sonde does not time itself", "sh times" },
	{ "trap", "signals of the process are events",
	  "catch SIGNAL; when sig SIGNAL { COMMANDS }" },
	{ "typeset", "variables have no types and are everybody's",
	  "NAME=VALUE; functions have $1 ..." },
	{ "ulimit", "limits are the system's", "sh ulimit -a" },
	{ "umask", "it is that of the shell that started sonde", "sh umask" },
	{ "whence", "names are looked up by help", "help NAME; sh which NAME" },
};

static enum result
do_absent(struct shell *sh, size_t n, char **words)
{
	(void)sh, (void)n;
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		if (strcmp(absent[i].name, words[0]) != 0)
			continue;
		fail(FAIL_USAGE, "%s: %s", words[0], absent[i].why);
		fail_remedy("%s", absent[i].instead);
	}
	return FAILED;
}

static const struct builtin missing = { "", "", "", do_absent };

const struct builtin *
builtin_absent(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		if (strcmp(absent[i].name, name) == 0)
			return &missing;
	return NULL;
}

const struct builtin ksh_words[] = {
	{ "dalias", "[NAME TEXT]", "as alias; !:1 !^ !$ !* in the text are the "
	  "words behind NAME", do_alias },
	{ "eval", "WORDS", "run the words as commands", do_eval },
	{ "export", "NAME[=VALUE]...", "into the environment of what is run",
	  do_export },
	{ "kalias", "[NAME TEXT]", "as alias", do_alias },
	{ "let", "ARITHMETIC...", "(( ARITHMETIC )); blanks in quotes", do_let },
	{ "r", "[OLD=NEW] [N | BEGINNING]", "run a line of the history again",
	  do_again },
	{ "read", "[-r] [NAME...]", "a line of standard input, or of < FILE, "
	  "word by word; $? is 1 at its end", do_read },
	{ "undalias", "NAME", "as unalias", do_alias },
	{ "unkalias", "NAME", "as unalias", do_alias },
	{ 0 }
};
