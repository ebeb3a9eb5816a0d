/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell's own commands: help, alias, history, output files, quit.
 */
#include "config.h"
#include "private.h"

#include <readline/history.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- help ---------------------------------------------------------------- */

/* Up to a parenthesis that is open at its end, or NULL. */
static const char *
open_at_end(const char *text, const char *end)
{
	const char *open = NULL;

	for (const char *at = text; at < end; at++) {
		if (*at == '(' && !open)
			open = at;
		if (*at == ')')
			open = NULL;
	}
	return open;
}

/* The first line, as far as it is a whole without those that follow. */
static int
brief(const char *help)
{
	const char *end = help + strcspn(help, "\n");
	const char *next = end + strspn(end, "\n ");
	const bool goes_on = *next && *next != '(' && !strchr(";.", end[-1]);
	const char *cut = open_at_end(help, end);

	if (!cut && goes_on)
		cut = memrchr(help, ';', (size_t)(end - help));
	if (!cut && goes_on)
		cut = memrchr(help, ',', (size_t)(end - help));
	if (cut)
		end = cut;
	while (end > help && strchr(" ;", end[-1]))
		end--;
	return (int)(end - help);
}

static void
print_row(FILE *out, const struct command *c)
{
	fprintf(out, "  %-18s %.*s\n", c->name, brief(c->help), c->help);
}

static void
print_table(FILE *out, const char *title, const struct command *table)
{
	fprintf(out, "%s:\n", title);
	for (const struct command *c = table; c->name; c++)
		print_row(out, c);
}

static void
print_example(FILE *out, const struct command *c)
{
	if (c->example)
		fprintf(out, "  for example: %s\n", c->example);
}

static void
print_help(FILE *out, const char *before, const struct command *c)
{
	fprintf(out, "%s%s%s%s\n  %s\n", before, c->name, *c->args ? " " : "",
		c->args, c->help);
	print_example(out, c);
}

static enum result
help_subcommand(struct shell *sh, const char *name)
{
	const struct command *c = collector_find(name);

	if (!c)
		return FAILED;
	print_help(sh->out, "collector ", c);
	return DONE;
}

static void
help_all(struct shell *sh)
{
	for (const struct family *f = families; f->title; f++)
		print_table(sh->out, f->title, f->commands);
	print_table(sh->out, "views", shell_view_commands());
	fputs("verbs of the command line:\n", sh->out);
	for (const struct verb *v = verb_table; v->name; v++)
		fprintf(sh->out, "  %-18s %s\n", v->name, v->help);
	fputs("help COMMAND tells more; unique prefixes work. help language "
	      "tells of if,\nwhile, for, functions, variables.\n", sh->out);
}

/* What stands behind a command: an event, a variable of dbxenv. */
static bool
help_other(struct shell *sh, const char *name)
{
	char *words[] = { (char *)"dbxenv", (char *)name };

	if (dbxenv_has(name)) {
		fail_clear();
		return cmd_dbxenv(sh, 2, words) == DONE;
	}
	if (!event_is(name))
		return false;
	fail_clear();
	print_help(sh->out, "", shell_find_any("when"));
	return true;
}

/* A word may be a verb of the command line, a command here, or both. */
static enum result
help_one(struct shell *sh, const char *name)
{
	const struct verb *v = verb_find(name);

	if (!v && help_word(sh->out, name))
		return DONE;

	const struct command *c = shell_find_any(name);

	if (!v && !c)
		return help_other(sh, name) ? DONE : FAILED;
	if (v)
		verb_print_help(v, sh->out);
	if (v && c && strcasecmp(c->name, name) != 0)
		return DONE;		/* a verb, and the prefix of a command */
	if (c && strcmp(c->name, "collector") == 0) {
		print_table(sh->out, "collector", collector_subcommands);
		print_example(sh->out, c);
	} else if (c) {
		print_help(sh->out, "", c);
	}
	if (c && strcmp(c->name, "dbxenv") == 0)
		return cmd_dbxenv(sh, 1, NULL);
	return DONE;
}

static enum result
cmd_help(struct shell *sh, size_t n, char **words)
{
	const struct command *c;

	if (n == 1) {
		help_all(sh);
		return DONE;
	}
	if (n == 2)
		return help_one(sh, words[1]);
	if (n != 3)
		return USAGE;
	if (!(c = shell_find_any(words[1])))
		return FAILED;
	return strcmp(c->name, "collector") == 0 ?
		help_subcommand(sh, words[2]) : USAGE;
}

/* ---- aliases ------------------------------------------------------------- */

static void
remove_alias(struct shell *sh, size_t i)
{
	free(sh->aliases.items[i]);
	free(sh->aliases.items[i + 1]);
	sh->aliases.len -= 2;
	memmove(&sh->aliases.items[i], &sh->aliases.items[i + 2],
		(sh->aliases.len - i) * sizeof *sh->aliases.items);
}

static bool
drop_alias(struct shell *sh, const char *name)
{
	for (size_t i = 0; i < sh->aliases.len; i += 2) {
		if (strcmp(sh->aliases.items[i], name) == 0) {
			remove_alias(sh, i);
			return true;
		}
	}
	return false;
}

/* alias NAME TEXT, alias NAME=TEXT, alias */
static enum result
cmd_alias(struct shell *sh, size_t n, char **words)
{
	if (n == 1) {
		for (size_t i = 0; i < sh->aliases.len; i += 2)
			fprintf(sh->out, "%s='%s'\n",
				(char *)sh->aliases.items[i],
				(char *)sh->aliases.items[i + 1]);
		return DONE;
	}

	char *equals = strchr(words[1], '=');
	char *name, *text;

	if (n == 2 && equals) {
		name = xstrndup(words[1], (size_t)(equals - words[1]));
		text = xstrdup(equals + 1);
	} else if (n > 2) {
		name = xstrdup(words[1]);
		text = words_joined(n - 2, words + 2);
	} else {
		return USAGE;
	}
	(void)drop_alias(sh, name);
	vec_push(&sh->aliases, name);
	vec_push(&sh->aliases, text);
	return DONE;
}

static enum result
cmd_unalias(struct shell *sh, size_t n, char **words)
{
	if (n != 2)
		return USAGE;
	if (drop_alias(sh, words[1]))
		return DONE;
	fail(FAIL_USAGE, "there is no alias '%s'", words[1]);
	fail_remedy("alias lists them");
	return FAILED;
}

/* ---- files and the system ------------------------------------------------ */

static enum result
set_output(struct shell *sh, const char *path, bool append)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout :
		strcmp(path, "--") == 0 ? stderr : file_out(path, append);

	if (!file)
		return FAILED;
	return shell_set_output(sh, file) < 0 ? FAILED : DONE;
}

static enum result
cmd_outfile(struct shell *sh, size_t n, char **words)
{
	return n == 2 ? set_output(sh, words[1], false) : USAGE;
}

static enum result
cmd_appendfile(struct shell *sh, size_t n, char **words)
{
	return n == 2 ? set_output(sh, words[1], true) : USAGE;
}

static enum result
cmd_script(struct shell *sh, size_t n, char **words)
{
	if (n < 2)
		return USAGE;
	if (shell_run_with(sh, n - 1, words + 1,
			   strcmp(words[0], "script") == 0))
		return ANSWERED;
	return sh->quitting ? QUIT : TOLD;
}

static enum result
cmd_version(struct shell *sh, size_t n, char **words)
{
	(void)words;
	if (n != 1)
		return USAGE;
	fprintf(sh->out, "sonde %s\n", VERSION);
	return DONE;
}

static enum result
cmd_setenv(struct shell *sh, size_t n, char **words)
{
	(void)sh;
	if (n < 2 || n > 3)
		return USAGE;
	if (setenv(words[1], n == 3 ? words[2] : "", 1) < 0) {
		fail_errno("setenv %s", words[1]);
		return FAILED;
	}
	return DONE;
}

static enum result
cmd_history(struct shell *sh, size_t n, char **words)
{
	long long want = 20;

	if (n > 2 || (n == 2 && !str_number(words[1], 1, 100000, &want)))
		return USAGE;

	if (!history_length)
		fputs("No history.\n", sh->out);

	const int first = history_length > want ? history_length - (int)want : 0;

	for (int i = first; i < history_length; i++) {
		const HIST_ENTRY *e = history_get(history_base + i);

		if (e)
			fprintf(sh->out, "%5d  %s\n", history_base + i,
				e->line);
	}
	return DONE;
}

static enum result
cmd_quit(struct shell *sh, size_t n, char **words)
{
	long long status;

	if (n > 2 || (n == 2 && !str_number(words[1], 0, 255, &status)))
		return USAGE;
	if (n == 2)
		sh->exit_status = (int)status;
	sh->wait_over = true;
	struct source *file = shell_file(sh);

	if (file)
		file->is_over = file->is_script;
	return QUIT;
}

const struct command shell_commands[] = {
	{ ".", "FILE [ARGUMENTS]", "run a command file; its quit leaves ($1 "
	  "...: arguments)", 0, cmd_script, ". ./phase.sonde" },
	{ "alias", "[NAME TEXT]", "define an alias, or list them", 0,
	  cmd_alias, "alias top 'limit 5; functions'" },
	{ "appendfile", "FILE|-|--", "append output to a file", 0,
	  cmd_appendfile, "appendfile report.txt" },
	{ "dbxenv", "[NAME [VALUE]]", "show or set variables of dbx that mean "
	  "something here", 0, cmd_dbxenv, "dbxenv stack_max_size 20" },
	{ "exit", "[STATUS]", "leave", 0, cmd_quit, "exit 3" },
	{ "help", "[COMMAND]", "list commands, or tell about one", 0,
	  cmd_help, "help collector profile" },
	{ "history", "[N]", "show the last lines", 0, cmd_history,
	  "history 50" },
	{ "outfile", "FILE|-|--", "send output to a file; - is standard "
	  "output", 0, cmd_outfile, "outfile report.txt" },
	{ "quit", "[STATUS]", "leave: what was run is killed, what was "
	  "attached to goes on", 0, cmd_quit, "quit" },
	{ "script", "FILE [ARGUMENTS]", "run a command file; its quit ends it "
	  "alone", 0, cmd_script, "script report.sonde" },
	{ "setenv", "NAME [VALUE]", "set a variable of the next run's "
	  "environment", 0, cmd_setenv,
	  "setenv LANG C" },
	{ "sh", "[COMMAND]", "run a command of the system's shell, which sees "
	  "$pid", REDIRECTS_ITSELF, cmd_sh,
	  "sh ls -l /proc/$pid/fd" },
	{ "unalias", "NAME", "remove an alias", 0, cmd_unalias, "unalias top" },
	{ "version", "", "tell which sonde this is", 0, cmd_version,
	  "version" },
	{ 0 }
};
