/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop: a command's row is found (find.c), its needs are tested, it runs,
 * its failure is printed. A file, a pipe (stream.c) and -c stop at their first
 * failure with its exit status; a terminal goes on. Only this file prints
 * failures.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct family families[] = {
	{ "process", target_commands },
	{ "stepping", step_commands },
	{ "looking", look_commands },
	{ "threads", thread_commands },
	{ "source", list_commands },
	{ "data", data_commands },
	{ "memory", examine_commands },
	{ "names", name_commands },
	{ "events", event_commands },
	{ "signals", signal_commands },
	{ "collecting", collector_commands },
	{ "experiments", experiment_commands },
	{ "shell", shell_commands },
	{ 0 }
};

void
shell_init(struct shell *sh)
{
	*sh = (struct shell){
		.out = stdout, .main_out = stdout,
		.next_handler = 1, .program_status = -1, .call = -1,
		.safe_path = xstrdup(""),
		.call_seconds = 30,
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
	vec_free_items(&sh->variables);
	functions_free(sh);
	str_fini(&sh->value);
	str_fini(&sh->fired);
	vec_free_items(&sh->viewed);
	vec_free_items(&sh->displays);
	vec_free_items(&sh->hidden_threads);
	spots_forget(sh);
	vec_fini(&sh->spots);
	loads_forget(sh);
	post_mortem_end(sh);
	unstarted_free(sh);
	debuggee_free(sh);
	free(sh->list_file);
	free(sh->safe_path);
	shell_set_program(sh, 0, NULL);
	settings_fini(&sh->settings);
	viewer_free(sh->viewer);
	live_free(sh->live);
	session_close(sh->session);
	sh->session = NULL;
	vec_fini(&sh->processes);	/* they have been let go */
	(void)shell_set_output(sh, stdout);	/* it has been flushed */
	free(sh->experiment);
	free(sh->group);
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

/* ---- what people are told ------------------------------------------------ */

static void
print_place(const struct shell *sh)
{
	char *name;

	if (!sh->source || !sh->source->name) {
		fputs("sonde: ", stderr);
		return;
	}
	name = str_tamed(sh->source->name);
	fprintf(stderr, "%s:%d: ", name, sh->source->line);
	free(name);
}

void
shell_print_failure(struct shell *sh)
{
	const struct failure *f = fail_last();
	char *reason = str_tamed(f->reason);	/* one line, whatever it names */
	char *remedy = str_tamed(f->remedy);

	fflush(sh->out);
	print_place(sh);
	fprintf(stderr, "%s\n%s", reason, f->choices);
	if (*remedy)
		fprintf(stderr, "  fix: %s\n", remedy);
	free(reason);
	free(remedy);
}

/* Of a process that is not current, unless the text says so itself. */
static void
tell_whose(const struct shell *sh, const char *text)
{
	char *whose;

	if (!sh->home || !sh->session)
		return;
	whose = xasprintf("process %d", session_pid(sh->session));
	if (!str_starts(text, whose))
		fprintf(stderr, "%s: ", whose);
	free(whose);
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
	text = str_tame_lines(xvasprintf(fmt, ap));
	va_end(ap);
	tell_whose(sh, text);
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

/* ---- running one --------------------------------------------------------- */

int
fail_no_process(const struct shell *sh, const char *command)
{
	if (sh->core) {
		fail(FAIL_USAGE, "%s: a core file is all that is left of that "
		     "process", command);
		return fail_remedy("debug PROGRAM [ARGUMENTS], and run");
	}
	fail(FAIL_USAGE, "%s: there is no process", command);
	return fail_remedy("attach PID, or debug PROGRAM and run");
}

static int
check_needs(struct shell *sh, const struct command *c)
{
	if (sh->core && c->needs & (NEEDS_SEEN | NEEDS_STANDING))
		return 0;
	if (c->needs & (NEEDS_SEEN | NEEDS_STANDING | NEEDS_TARGET |
			NEEDS_STOPPED | NEEDS_COLLECTING) &&
	    (!sh->session || session_state(sh->session) == SESSION_ENDED))
		return fail_no_process(sh, c->name);
	if (c->needs & (NEEDS_STOPPED | NEEDS_STANDING) &&
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
	char *object[] = { (char *)"indxobj", words[0], NULL };

	if (n == 1 && view_is_object(sh, words[0]))
		return view_run(sh, 2, object);

	const struct command *c = shell_find_any(words[0]);

	if (!c)
		return FAILED;

	const bool unstarted = unstarted_begin(sh, c->needs);

	if (!unstarted && check_needs(sh, c) < 0)
		return FAILED;

	char *typed = words[0];

	words[0] = (char *)c->name;	/* prefixes are spelled out */

	const struct session *before = sh->session;
	const uint64_t moves = before ? session_moves(before) : 0;
	const enum result r = c->run(sh, n, words);

	if (unstarted)
		unstarted_end(sh);
	words[0] = typed;
	if (c->needs & LETS_RUN && !sh->in_body && sh->session &&
	    session_state(sh->session) == SESSION_STOPPED &&
	    (sh->session != before || session_moves(sh->session) != moves))
		(void)handlers_hear(sh, EVENT_STOPS);
	if (r == USAGE)
		shell_print_usage(sh, c);
	return r;
}

const char *
shell_alias(const struct shell *sh, const char *name)
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
	char *text = alias_text(alias, w);

	if (!text)
		return FAILED;
	sh->expanding = &mine;

	const bool going = shell_run_text(sh, text);

	sh->expanding = mine.up;
	free(text);
	return going ? ANSWERED : sh->quitting ? QUIT : TOLD;
}

static enum result
run_group(struct shell *sh, const struct words *w)
{
	if (w->len > 1) {
		fail(FAIL_USAGE, "'%s': nothing can stand behind }", w->raw);
		return FAILED;
	}
	return shell_run_text(sh, w->items[0]) ? ANSWERED :
		sh->quitting ? QUIT : TOLD;
}

/* `source` is a view, and dbx's word for running a file: where there is no
 * experiment to look at, of a word that names a file, and looks like one. */
static bool
is_source_of_file(const struct shell *sh, const struct words *w)
{
	struct stat st;

	return !sh->viewed.len && !sh->experiment && w->len > 1 &&
		strcmp(w->items[0], "source") == 0 &&
		strpbrk(w->items[1], "./") && stat(w->items[1], &st) == 0 &&
		S_ISREG(st.st_mode);
}

/* NAME=VALUE, as many as there are. */
static bool
is_assignment(const char *raw)
{
	const size_t n = strcspn(raw, "=");

	return raw[n] && var_is_name(raw, n);
}

static enum result
assign(struct shell *sh, const struct words *w)
{
	for (size_t i = 0; i < w->len; i++) {
		char *word = w->items[i];

		if (!is_assignment(word)) {
			fail(FAIL_USAGE, "'%s': a command cannot stand behind "
			     "NAME=VALUE", w->raw);
			fail_remedy("%s; then the command", w->items[0]);
			return FAILED;
		}

		char *name = xstrndup(word, strcspn(word, "="));
		const int r = var_set(sh, name, word + strlen(name) + 1);

		free(name);
		if (r < 0)
			return FAILED;
	}
	return DONE;
}

static enum result
execute(struct shell *sh, const struct words *w)
{
	const struct function *f;
	const struct builtin *b;

	if (w->is_group)
		return run_group(sh, w);
	if ((f = function_find(sh, w->items[0])))
		return function_call(sh, f, w->len, w->items);
	if (is_source_of_file(sh, w)) {
		free(w->items[0]);
		w->items[0] = xstrdup(".");
	}
	if (!(b = builtin_find(w->items[0])))
		return shell_command(sh, w->len, w->items);

	const enum result r = b->run(sh, w->len, w->items);

	if (r == USAGE) {
		const struct command row = { b->name, b->args, b->help, 0,
					     b->run, NULL };

		shell_print_usage(sh, &row);
	}
	return r;
}

static enum result
run_elsewhere(struct shell *sh, const struct words *w)
{
	struct output o;

	return output_begin(sh, w, &o) < 0 ? FAILED :
		output_end(sh, &o, execute(sh, w));
}

/* An unknown command must not truncate a file. */
static bool
is_known(struct shell *sh, const struct words *w, const struct command **c)
{
	*c = NULL;
	if (w->is_group || function_find(sh, w->items[0]) ||
	    builtin_find(w->items[0]) || view_is_object(sh, w->items[0]))
		return true;
	*c = shell_find_any(w->items[0]);
	return *c;
}

/* What redirects itself may be piped all the same: `run | PROGRAM` would be
 * the program's output, which is not ours. */
static bool
goes_elsewhere(const struct words *w, const struct command *c)
{
	return w->pipe || ((w->out || w->in) &&
			   !(c && c->needs & REDIRECTS_ITSELF));
}

enum result
shell_run_words(struct shell *sh, const struct words *w)
{
	const struct words *up = sh->line;
	const struct command *c;

	if (!w->len) {
		fail(FAIL_USAGE, "'%s': a command is missing", w->raw);
		return FAILED;
	}
	if (is_assignment(w->raw))
		return assign(sh, w);

	const char *alias = w->is_group ? NULL : shell_alias(sh, w->items[0]);

	if (alias && !being_expanded(sh, w->items[0]))
		return run_alias(sh, w, alias);
	sh->mistake = !is_known(sh, w, &c);
	if (sh->mistake)
		return FAILED;

	if (w->pipe && c && (c->run == cmd_run || c->run == cmd_rerun)) {
		fail(FAIL_USAGE, "%s: what the program writes does not pass "
		     "through sonde", c->name);
		fail_remedy("%s > FILE", c->name);
		return FAILED;
	}

	sh->line = w;

	const enum result r = goes_elsewhere(w, c) ?
		run_elsewhere(sh, w) : execute(sh, w);

	sh->line = up;
	return r;
}

struct source *
shell_file(const struct shell *sh)
{
	struct source *s = sh->source;

	while (s && s->is_body)
		s = s->up;
	return s && s->name ? s : NULL;
}

bool
shell_goes_on(const struct shell *sh)
{
	if (sh->tested && !sh->mistake)
		return true;
	return sh->interactive && !sh->batch && !sh->loops && !sh->calls &&
		!shell_file(sh);
}

/* For $?. */
static int
status_of(const struct shell *sh, enum result r)
{
	switch (r) {
	case DONE:
		return 0;
	case FAILED:
		return status_of_failure(fail_last()->kind);
	case USAGE:
		return EXIT_USAGE;
	case TOLD:
		return sh->status ? sh->status : 1;
	case QUIT:
	case ANSWERED:
		break;
	}
	return sh->status;
}

bool
shell_judge(struct shell *sh, enum result r)
{
	if (r == FAILED && sh->told)
		r = TOLD;
	sh->told = false;
	sh->mistake = (sh->mistake && (r == FAILED || r == TOLD)) ||
		r == USAGE;
	sh->status = status_of(sh, r);
	if (r == QUIT)
		sh->quitting = true;
	if ((r == DONE || r == ANSWERED) && shell_goes_on(sh) &&
	    !sh->tested)
		sh->exit_status = 0;
	if (r == DONE || r == QUIT || r == ANSWERED)
		return true;
	if (r == FAILED)
		shell_print_failure(sh);
	if (r != TOLD && (!sh->tested || sh->mistake))
		sh->exit_status = sh->status;

	const bool going = shell_goes_on(sh);

	if (going)		/* else it is that of what is around, too */
		sh->mistake = false;
	return going;
}
