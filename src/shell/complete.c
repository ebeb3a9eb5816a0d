/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completion, from the command tables and from what is there: commands and
 * subcommands, experiments, files, pids with their names, functions.
 */
#include "private.h"

#include <dirent.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct shell *shell_here;
static struct vec found;		/* char *, taken by readline one by one */
static size_t next_found;

enum { KTHREADD = 2 };			/* parent of the kernel's threads */

/* Names are others' choice: nothing that the language would obey, or that has
 * to be quoted, is put into the line. */
static bool
is_typable(const char *word)
{
	return str_is_tame(word) && !strpbrk(word, ";|&<>$`'\"\\#!{}");
}

static void
offer(const char *word, const char *typed)
{
	if (str_starts(word, typed) && is_typable(word))
		vec_push(&found, xstrdup(word));
}

static void
offer_table(const struct command *table, const char *typed)
{
	for (const struct command *c = table; c->name; c++)
		offer(c->name, typed);
}

static void
offer_commands(const char *typed)
{
	for (const struct family *f = families; f->title; f++)
		offer_table(f->commands, typed);
	offer_table(shell_view_commands(), typed);
	builtins_each(offer, typed);
	functions_each(shell_here, offer, typed);
	for (size_t i = 0; i < shell_here->aliases.len; i += 2)
		offer(shell_here->aliases.items[i], typed);
}

/* Pids say nothing to a person: each with its name. */
static void
show_processes(char **matches, int count, int longest)
{
	struct session_process *p;
	const ssize_t n = session_processes(NULL, &p);

	(void)longest;
	putchar('\n');
	for (int i = 1; i <= count; i++) {
		ssize_t k = 0;

		while (k < n && p[k].pid != atoi(matches[i]))
			k++;

		char *name = str_tamed(k < n ? p[k].name : "");

		printf("%8s  %s\n", matches[i], name);
		free(name);
	}
	free(p);
	(void)rl_forced_update_display();
}

static void
offer_processes(const char *typed)
{
	struct session_process *p;
	const ssize_t n = session_processes(NULL, &p);

	rl_completion_display_matches_hook = show_processes;
	for (ssize_t i = 0; i < n; i++) {
		if (p[i].pid == KTHREADD || p[i].ppid == KTHREADD)
			continue;

		char *pid = xasprintf("%d", p[i].pid);

		offer(pid, typed);
		offer(p[i].name, typed);
		free(pid);
	}
	free(p);
}

static void
offer_experiments(const char *typed)
{
	DIR *dir = opendir(".");
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (str_ends(e->d_name, ".er") || str_ends(e->d_name, ".erg"))
			offer(e->d_name, typed);
	if (dir)
		closedir(dir);
}

static bool
offer_function(void *typed, const char *name)
{
	offer(name, typed);
	return found.len < 1000;
}

static void
offer_functions(const char *typed)
{
	struct shell *sh = shell_here;

	if (sh->session && session_state(sh->session) != SESSION_ENDED) {
		struct live *l = live_of(sh);

		live_each_function(l, offer_function, (void *)typed);
	} else if (sh->program) {
		char *path = target_program_path(sh->program[0]);

		if (path)
			program_each_function(path, offer_function,
					      (void *)typed);
		free(path);
	} else if (viewer_loaded(sh->viewer)) {
		viewer_each_function(sh->viewer, offer_function,
				     (void *)typed);
	}
}

static void
offer_words(const char *const *words, const char *typed)
{
	for (; *words; words++)
		offer(*words, typed);
}

/* Word i, spelled out where it names a command or a subcommand. */
static const char *
full_name(const struct words *before, size_t i)
{
	const struct command *c = shell_find_any(before->items[0]);

	if (!c)
		return before->items[i];
	if (i == 1 && strcmp(c->name, "collector") == 0)
		c = shell_find(collector_subcommands, before->items[1]);
	else if (i == 1 && strcmp(c->name, "help") == 0)
		c = shell_find_any(before->items[1]);
	else if (i > 0)
		c = NULL;
	return c ? c->name : before->items[i];
}

static bool
is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

static void
offer_signals(const char *typed)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (sigabbrev_np(sig))
			offer(sigabbrev_np(sig), typed);
}

static void
offer_calls(const char *typed)
{
	for (long nr = 0; nr < SESSION_CALLS_KNOWN; nr++)
		if (wait_call_number(wait_call_name(nr)) == nr)
			offer(wait_call_name(nr), typed);
}

/* Behind stop, when and trace: an event, and what it is of. */
static bool
offer_event(const char *first, size_t n, const char *last, const char *typed)
{
	static const char *const commands[] = { "stop", "when", "trace", NULL };
	static const char *const of_functions[] = { "in", "infunction",
		"returns", NULL };
	static const char *const of_calls[] = { "sysin", "sysout", NULL };

	if (!is_one_of(first, commands))
		return false;
	if (n == 1)
		events_each(offer, typed);
	else if (n == 2 && is_one_of(last, of_functions))
		offer_functions(typed);
	else if (n == 2 && is_one_of(last, of_calls))
		offer_calls(typed);
	else if (n == 2 && strcmp(last, "sig") == 0)
		offer_signals(typed);
	else if (n == 2 && strcmp(last, "fault") == 0)
		faults_each(offer, typed);
	else if (*typed == '-')
		modifiers_each(offer, typed);
	return true;
}

/* `source`, `disasm`, `csingle` ... */
static bool
takes_function(const char *name)
{
	const struct view *v = view_table;

	while (v->name && strcmp(v->name, name) != 0)
		v++;
	return v->name && strstr(v->args, "FUNCTION");
}

/* What may stand after these words. */
static void
offer_argument(const struct words *before, const char *typed)
{
	static const char *const engines[] = { "auto", "ring", "inject", "remote",
		NULL };
	static const char *const store[] = { "directory", "experiment", NULL };
	static const char *const profile[] = { "on", "off", "timer", NULL };
	static const char *const timer[] = { "on", "hi", "lo", NULL };
	static const char *const off[] = { "off", NULL };
	static const char *const cont[] = { "-resumeone", "-sig", "-nosig",
		"-follow", NULL };
	static const char *const follow[] = { "parent", "child", "both",
		NULL };
	static const char *const all[] = { "-all", NULL };
	const char *first = full_name(before, 0);
	const char *last = full_name(before, before->len - 1);

	if (strcmp(first, "collector") == 0 && before->len == 1)
		offer_table(collector_subcommands, typed);
	else if (strcmp(last, "engine") == 0)
		offer_words(engines, typed);
	else if (strcmp(last, "store") == 0)
		offer_words(store, typed);
	else if (strcmp(last, "profile") == 0)
		offer_words(profile, typed);
	else if (strcmp(last, "timer") == 0 && before->len == 3)
		offer_words(timer, typed);
	else if (strcmp(last, "experiment") == 0)
		offer_experiments(typed);
	else if (strcmp(first, "process") == 0)
		processes_offer(shell_here, offer, typed);
	else if (strcmp(first, "attach") == 0)
		offer_processes(typed);
	else if (strcmp(first, "where") == 0)
		offer_words(all, typed);
	else if (strcmp(last, "keep") == 0)
		offer_words(off, typed);
	else if (strcmp(first, "cont") == 0 && before->len == 1)
		offer_words(cont, typed);
	else if (strcmp(last, "-follow") == 0)
		offer_words(follow, typed);
	else if (strcmp(last, "-sig") == 0)
		offer_signals(typed);
	else if (strcmp(first, "dbxenv") == 0)
		dbxenv_each(before->len == 1 ? NULL : last, offer, typed);
	else if (offer_event(first, before->len, last, typed))
		;
	else if (strcmp(first, "call") == 0 ||
		 (before->len == 1 && takes_function(first)))
		offer_functions(typed);
	else if (strcmp(first, "help") == 0 && before->len == 2 &&
		 strcmp(last, "collector") == 0)
		offer_table(collector_subcommands, typed);
	else if (strcmp(first, "help") == 0 && before->len == 1)
		offer_commands(typed);
}

static char *
take_found(const char *text, int state)
{
	(void)text;
	if (!state)
		next_found = 0;
	if (next_found < found.len)
		return found.items[next_found++];
	vec_fini(&found);
	return NULL;
}

static char **
complete(const char *text, int start, int end)
{
	char *line = xstrndup(rl_line_buffer, (size_t)start);
	struct words before;
	size_t at = (size_t)start;

	(void)end;
	vec_free_items(&found);
	rl_completion_display_matches_hook = NULL;
	/* the command being typed, also within braces */
	while (at > 0 && !strchr(";{", line[at - 1]))
		at--;

	at = script_skip_keywords(line, at);

	const int got = words_next(line, &at, &before, NULL, NULL);

	if (got == 0)
		offer_commands(text);
	else if (got > 0 && before.len)
		offer_argument(&before, text);
	words_fini(&before);
	free(line);
	if (!found.len)
		return NULL;		/* readline offers files */
	return rl_completion_matches(text, take_found);
}

static char *
common_beginning(char **names)
{
	size_t n = strlen(names[0]);

	for (size_t i = 1; names[i]; i++)
		for (size_t k = 0; k < n; k++)
			if (names[i][k] != names[0][k])
				n = k;
	return xstrndup(names[0], n);
}

/* readline's own files: names[0] is what all have in common, or the only one. */
static int
drop_untypable(char **names)
{
	size_t kept = 1;

	if (!names[1]) {
		if (!is_typable(names[0])) {
			free(names[0]);
			names[0] = NULL;
		}
		return 0;
	}
	for (size_t i = 1; names[i]; i++)
		if (is_typable(names[i]))
			names[kept++] = names[i];
		else
			free(names[i]);
	names[kept] = NULL;
	free(names[0]);
	names[0] = kept > 2 ? common_beginning(names + 1) : names[1];
	if (kept == 2)
		names[1] = NULL;
	return 0;
}

void
complete_install(struct shell *sh)
{
	rl_ignore_some_completions_function = drop_untypable;
	shell_here = sh;
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n\"';{}<>=(";
}
