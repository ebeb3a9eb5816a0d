/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop: a command's row is found, its needs are tested, it runs, its
 * failure is printed. A file, a pipe and -c stop at their first failure with
 * its exit status; a terminal goes on. Only this file prints failures.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 50 };	/* command files that run each other */

const struct family families[] = {
	{ "process", target_commands },
	{ "looking", look_commands },
	{ "events", event_commands },
	{ "collecting", collector_commands },
	{ "shell", shell_commands },
	{ 0 }
};

void
shell_init(struct shell *sh)
{
	*sh = (struct shell){
		.out = stdout, .main_out = stdout,
		.next_handler = 1, .program_status = -1,
		.interactive = isatty(STDIN_FILENO),
		.viewer = viewer_new(),
	};
	settings_init(&sh->settings);
}

void
shell_fini(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++)
		handler_free(sh->handlers.items[i]);
	vec_fini(&sh->handlers);
	vec_free_items(&sh->aliases);
	vec_free_items(&sh->viewed);
	shell_set_program(sh, 0, NULL);
	settings_fini(&sh->settings);
	viewer_free(sh->viewer);
	session_close(sh->session);
	(void)shell_set_output(sh, stdout);	/* it has been flushed */
	free(sh->experiment);
	free(sh->in);
	free(sh->out_file);
}

void
shell_set_program(struct shell *sh, size_t n, char *const *words)
{
	char **program = n ? xcalloc(n + 1, sizeof *program) : NULL;

	for (size_t i = 0; i < n; i++)
		program[i] = xstrdup(words[i]);
	for (size_t i = 0; sh->program && sh->program[i]; i++)
		free(sh->program[i]);
	free(sh->program);
	sh->program = program;
}

int
shell_set_output(struct shell *sh, FILE *file)
{
	FILE *old = sh->main_out;

	if (sh->out == old)
		sh->out = file;
	sh->main_out = file;
	if (old == stdout || old == stderr)
		return 0;

	const bool bad = ferror(old);

	if (fclose(old) != 0 || bad)
		return fail_errno("write the output file");
	return 0;
}

/* ---- what people are told -------------------------------------------------------- */

static void
print_place(const struct shell *sh)
{
	if (sh->source && sh->source->name)
		fprintf(stderr, "%s:%d: ", sh->source->name, sh->source->line);
	else
		fputs("sonde: ", stderr);
}

void
shell_print_failure(struct shell *sh)
{
	const struct failure *f = fail_last();

	fflush(sh->out);
	print_place(sh);
	fprintf(stderr, "%s\n", f->reason);
	if (*f->remedy)
		fprintf(stderr, "  fix: %s\n", f->remedy);
}

void
shell_note(struct shell *sh, const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (sh->quiet)
		return;
	fflush(sh->out);
	va_start(ap, fmt);
	text = str_tame(xvasprintf(fmt, ap));
	va_end(ap);
	fprintf(stderr, "%s\n", text);
	free(text);
}

void
shell_print_usage(struct shell *sh, const struct command *c)
{
	const char *before = "";

	if (sh->usage_of) {
		c = sh->usage_of;
		before = "collector ";
		sh->usage_of = NULL;
	}
	fflush(sh->out);
	print_place(sh);
	fprintf(stderr, "usage: %s%s%s%s\n", before, c->name,
		*c->args ? " " : "", c->args);
	if (c->example)
		fprintf(stderr, "  for example: %s\n", c->example);
}

enum result
shell_ignored(struct shell *sh, const char *what)
{
	fail(FAIL_USAGE, "experiment %s is active; '%s' ignored",
	     session_experiment(sh->session), what);
	fail_remedy("collector disable, then set it, then collector enable");
	if (!sh->interactive)
		return FAILED;
	shell_print_failure(sh);
	return DONE;
}

/* ---- variables ------------------------------------------------------------------------ */

const char *
shell_variable(void *arg, const char *name)
{
	static char number[24];
	struct shell *sh = arg;

	if (strcmp(name, "pid") == 0 && sh->session) {
		snprintf(number, sizeof number, "%d",
			 session_pid(sh->session));
		return number;
	}
	if (strcmp(name, "exitcode") == 0) {
		snprintf(number, sizeof number, "%d", sh->program_status < 0 ?
			 -1 : status_of_program(sh->program_status));
		return number;
	}
	if (strcmp(name, "experiment") == 0 && sh->experiment)
		return sh->experiment;
	return getenv(name);
}

/* ---- finding a command -------------------------------------------------------------------- */

static void
add_candidate(struct str *all, const char *name)
{
	str_addf(all, "%s%s", all->len ? " " : "", name);
}

/* Exact, else a unique prefix. found counts; candidates lists. */
static const struct command *
match(const struct command *table, const char *name, int *found,
      struct str *candidates)
{
	const struct command *hit = NULL;

	for (const struct command *c = table; c->name; c++) {
		if (strcmp(c->name, name) == 0) {
			*found = 1;
			return c;
		}
		if (str_starts(c->name, name)) {
			++*found;
			add_candidate(candidates, c->name);
			hit = c;
		}
	}
	return hit;
}

static const struct command *
unknown_or_ambiguous(const char *name, int found, const struct str *candidates)
{
	if (found > 1) {
		fail(FAIL_USAGE, "'%s' is ambiguous: %s", name,
		     str_text(candidates));
	} else {
		fail(FAIL_USAGE, "'%s' is no command", name);
		fail_remedy("help lists them");
	}
	return NULL;
}

const struct command *
shell_find(const struct command *table, const char *name)
{
	struct str candidates = {0};
	int found = 0;
	const struct command *c = match(table, name, &found, &candidates);

	if (found != 1)
		c = unknown_or_ambiguous(name, found, &candidates);
	str_fini(&candidates);
	return c;
}

/* true: found exactly, nothing else matters. */
static bool
match_more(const struct command *table, const char *name,
	   const struct command **c, int *found, struct str *candidates)
{
	int here = 0;
	const struct command *hit = match(table, name, &here, candidates);

	*c = hit ? hit : *c;
	*found += here;
	if (!hit || strcmp(hit->name, name) != 0)
		return false;
	*found = 1;
	return true;
}

const struct command *
shell_find_any(const char *name)
{
	struct str candidates = {0};
	const struct command *c = NULL;
	const struct family *f = families;
	int found = 0;

	while (f->title &&
	       !match_more(f->commands, name, &c, &found, &candidates))
		f++;
	if (!f->title)
		(void)match_more(shell_view_commands(), name, &c, &found,
				 &candidates);
	if (found != 1)
		c = unknown_or_ambiguous(name, found, &candidates);
	str_fini(&candidates);
	return c;
}

/* ---- running one ------------------------------------------------------------------------------ */

static int
check_needs(struct shell *sh, const struct command *c)
{
	if (c->needs & (NEEDS_TARGET | NEEDS_STOPPED | NEEDS_COLLECTING) &&
	    (!sh->session || session_state(sh->session) == SESSION_ENDED)) {
		fail(FAIL_USAGE, "%s: there is no process", c->name);
		return fail_remedy("attach PID, or debug PROGRAM and run");
	}
	if (c->needs & NEEDS_STOPPED &&
	    session_state(sh->session) != SESSION_STOPPED) {
		fail(FAIL_USAGE, "%s: process %d is running", c->name,
		     session_pid(sh->session));
		return fail_remedy("stop it first: stop");
	}
	if (c->needs & NEEDS_COLLECTING &&
	    session_experiment_state(sh->session) == NOT_COLLECTING) {
		fail(FAIL_USAGE, "%s: no experiment is being recorded",
		     c->name);
		return fail_remedy("collector enable");
	}
	return 0;
}

enum result
shell_command(struct shell *sh, size_t n, char **words)
{
	const struct command *c = shell_find_any(words[0]);

	if (!c || check_needs(sh, c) < 0)
		return FAILED;

	char *typed = words[0];

	words[0] = (char *)c->name;	/* prefixes are spelled out */

	const enum result r = c->run(sh, n, words);

	words[0] = typed;
	if (r == USAGE)
		shell_print_usage(sh, c);
	return r;
}

static const char *
alias_of(const struct shell *sh, const char *name)
{
	for (size_t i = 0; i + 1 < sh->aliases.len; i += 2)
		if (strcmp(sh->aliases.items[i], name) == 0)
			return sh->aliases.items[i + 1];
	return NULL;
}

static bool
being_expanded(const struct shell *sh, const char *name)
{
	for (const struct expansion *e = sh->expanding; e; e = e->up)
		if (strcmp(e->name, name) == 0)
			return true;
	return false;
}

/* The alias's text, then the rest of ours, as if it had been typed. */
static enum result
run_alias(struct shell *sh, const struct words *w, const char *alias)
{
	const struct expansion mine = { w->items[0], sh->expanding };
	char *text = xasprintf("%s%s", alias, w->raw + w->rest);

	sh->expanding = &mine;

	const bool going = shell_run_text(sh, text);

	sh->expanding = mine.up;
	free(text);
	return going ? DONE : sh->quitting ? QUIT : TOLD;
}

static enum result
run_redirected(struct shell *sh, const struct words *w)
{
	FILE *file = fopen(w->out, w->append ? "ae" : "we");
	FILE *old = sh->out == sh->main_out ? NULL : sh->out;

	if (!file) {
		fail_errno("open %s", w->out);
		return FAILED;
	}
	sh->out = file;

	const enum result r = shell_command(sh, w->len, w->items);
	const bool bad = ferror(file);

	sh->out = old ? old : sh->main_out;	/* it may be another by now */
	if ((fclose(file) != 0 || bad) && r == DONE) {
		fail_errno("write %s", w->out);
		return FAILED;
	}
	return r;
}

static enum result
run_words(struct shell *sh, const struct words *w)
{
	const struct words *up = sh->line;

	if (!w->len) {
		fail(FAIL_USAGE, "'%s': a command is missing", w->raw);
		return FAILED;
	}

	const char *alias = alias_of(sh, w->items[0]);

	if (alias && !being_expanded(sh, w->items[0]))
		return run_alias(sh, w, alias);

	/* an unknown command must not truncate a file */
	const struct command *c = shell_find_any(w->items[0]);

	if (!c)
		return FAILED;
	sh->line = w;

	const enum result r = w->out && !(c->needs & REDIRECTS_ITSELF) ?
		run_redirected(sh, w) : shell_command(sh, w->len, w->items);

	sh->line = up;
	return r;
}

static bool
goes_on_after_failure(const struct shell *sh)
{
	return sh->interactive && !sh->batch &&
	       (!sh->source || !sh->source->name);
}

/* true: the failure, if any, does not end the text. */
static bool
judge(struct shell *sh, enum result r)
{
	if (r == QUIT)
		sh->quitting = true;
	if (r == DONE && goes_on_after_failure(sh))
		sh->exit_status = 0;
	if (r == DONE || r == QUIT)
		return true;
	if (r == FAILED)
		shell_print_failure(sh);
	if (r != TOLD)
		sh->exit_status = r == USAGE ? EXIT_USAGE :
			status_of_failure(fail_last()->kind);
	return goes_on_after_failure(sh);
}

bool
shell_run_text(struct shell *sh, const char *text)
{
	size_t at = 0;
	struct words w;
	int got;

	while (!sh->quitting &&
	       (got = words_next(text, &at, &w, shell_variable, sh)) != 0) {
		const enum result r = got < 0 ? FAILED : run_words(sh, &w);

		words_fini(&w);
		fflush(sh->out);
		if (!judge(sh, r))
			return false;
		if (got < 0)
			return true;	/* the rest makes no sense */
	}
	return !sh->quitting;
}

/* Commands that come through a pipe may be long in coming: meanwhile the
 * target's news are served. stdio must not hide what has come. */
static bool
next_line_is_there(struct shell *sh, FILE *file, bool from_pipe)
{
	if (!from_pipe)
		return true;
	if (wait_readable(sh, fileno(file)))
		return !sh->quitting && !sh->body_failed;
	sh->quitting = true;
	sh->exit_status = 128 + wait_signal;
	return false;
}

static bool
is_pipe(FILE *file)
{
	struct stat st;

	return fstat(fileno(file), &st) == 0 && !S_ISREG(st.st_mode) &&
	       setvbuf(file, NULL, _IONBF, 0) == 0;
}

/* Lines are gathered until braces and quotes are closed. */
static bool
run_stream(struct shell *sh, FILE *file, const char *name)
{
	struct source here = { .name = name, .up = sh->source };
	struct str text = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int number = 0;
	const bool from_pipe = is_pipe(file);
	bool going = true;

	sh->source = &here;
	sh->body_failed = false;
	while (going && (going = next_line_is_there(sh, file, from_pipe)) &&
	       (n = getline(&line, &cap, file)) >= 0) {
		number++;
		if (!text.len)
			here.line = number;
		str_addn(&text, line, (size_t)n);
		if (words_unfinished(str_text(&text)))
			continue;
		if (sh->echo)
			fprintf(sh->out, "%s%s", str_text(&text),
				line[n - 1] == '\n' ? "" : "\n");
		going = shell_run_text(sh, str_text(&text));
		str_clear(&text);
	}
	if (going && text.len)
		going = shell_run_text(sh, str_text(&text));
	if (going && ferror(file) && errno != EINTR) {
		fail_errno("read command file %s", name);
		going = judge(sh, FAILED);
	}
	str_fini(&text);
	free(line);
	sh->source = here.up;
	return going;
}

static FILE *
open_commands(const struct shell *sh, const char *path)
{
	int depth = 0;

	for (const struct source *s = sh->source; s; s = s->up)
		depth++;
	if (depth >= FILES_MAX) {
		fail(FAIL_USAGE, "%s: command files are nested too deep", path);
		fail_remedy("does a file run itself?");
		return NULL;
	}

	FILE *file = fopen(path, "re");

	if (!file)
		fail_errno("open command file %s", path);
	return file;
}

bool
shell_run_open_file(struct shell *sh, FILE *file, const char *name)
{
	const bool going = run_stream(sh, file, name);

	fclose(file);
	return going;
}

bool
shell_run_file(struct shell *sh, const char *path)
{
	if (strcmp(path, "-") == 0)
		return run_stream(sh, stdin, "stdin");

	FILE *file = open_commands(sh, path);

	if (!file) {
		shell_print_failure(sh);
		sh->exit_status = status_of_failure(fail_last()->kind);
		return false;
	}

	return shell_run_open_file(sh, file, path);
}
