/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sonde report: views of experiments, in the words of the command line.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* One view with its words: [first, first + n) of argv. */
struct step {
	char *name;
	char **words;
	size_t n;
	bool is_view;
};

struct report {
	struct vec experiments;
	struct step steps[256];
	size_t count;
	bool has_view;
};

bool
is_experiment_name(const char *word)
{
	size_t len = strlen(word);

	while (len > 0 && word[len - 1] == '/')
		len--;
	return (len > 3 && strncmp(word + len - 3, ".er", 3) == 0) ||
	       (len > 4 && strncmp(word + len - 4, ".erg", 4) == 0);
}

static bool
is_view(const char *name)
{
	for (const struct view *v = view_table; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return !v->is_setting;
	return strcmp(name, "script") == 0;
}

/* What a report is made of: views, their settings, files. */
static bool
is_step(const char *name)
{
	static const char *const files[] = { "outfile", "appendfile",
					     "script" };

	for (const struct view *v = view_table; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (strcmp(files[i], name) == 0)
			return true;
	return false;
}

static int
take_format(struct shell *sh, const char *word)
{
	return viewer_choose_format(sh->viewer, word ? word : "") < 0 ?
		fail_in("report") : 0;
}

/* A minus and a value, but no option, such as --format. */
static bool
begins_expression(const char *word)
{
	if (word[1] == '-')
		return !isalpha((unsigned char)word[2]);
	return isdigit((unsigned char)word[1]) || word[1] == '(';
}

/* `-sort -e.user` reverses, `-outfile -` is standard output: a dash may begin
 * an argument too. */
static bool
is_argument(const char *command, const char *word)
{
	if (strcmp(command, "sort") == 0)
		return strchr(word, '.') || strchr(word, '%');
	if (strcmp(command, "filters") == 0 ||
	    strcmp(command, "indxobj_define") == 0)
		return begins_expression(word);
	return str_ends(command, "file") &&
	       (strcmp(word, "-") == 0 || strcmp(word, "--") == 0);
}

/* Does an earlier word define an index object of that name? */
static bool
is_defined(const struct report *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->steps[i].name, "indxobj_define") == 0 &&
		    r->steps[i].n > 1 &&
		    strcasecmp(r->steps[i].words[1], name) == 0)
			return true;
	return false;
}

/* What follows it at once, whatever its name ends in: -script rep.er test.1.er */
static bool
is_script(const struct step *s)
{
	return s->n == 0 && strcmp(s->name, "script") == 0;
}

static int
take_step(struct report *r, int *at, int argc, char **argv)
{
	static const struct command object = { .name = "indxobj", .args = "" };
	static const struct command_search steps = { is_step, "-",
						     "sonde help" };
	const bool defined = is_defined(r, argv[*at] + 1);
	const struct command *c = defined ? &object :
					    shell_find_in(&steps, argv[*at] + 1);
	struct step *s = &r->steps[r->count];

	if (!c && (c = shell_find_any(argv[*at] + 1))) {
		fail(FAIL_USAGE, "report: %s is a command of the shell, and "
		     "no view", argv[*at]);
		return str_ends(c->name, "_exp") ?
			fail_remedy("name all experiments: sonde report "
				    "test.1.er test.2.er") :
			fail_remedy("sonde help lists the views");
	}
	if (!c) {
		(void)shell_find_in(&steps, argv[*at] + 1);
		return fail_in("report");
	}
	if (r->count + 1 >= ARRAY_LEN(r->steps))
		return fail(FAIL_USAGE, "report: too many commands");
	*s = (struct step){
		.name = defined ? argv[*at] + 1 : (char *)c->name,
		.words = argv + *at, .is_view = is_view(c->name),
	};
	while (++*at < argc && (!is_experiment_name(argv[*at]) ||
				is_script(s)) &&
	       (argv[*at][0] != '-' || is_argument(c->name, argv[*at])))
		s->n++;
	s->n++;
	if (s->n > 1 && !*c->args) {
		fail(FAIL_USAGE, "report: %s takes no word, such as '%s'",
		     s->words[0], s->words[1]);
		return fail_remedy("leave it out; sonde help %s", c->name);
	}
	r->has_view |= s->is_view;
	r->count++;
	return 0;
}

static int
parse_report(struct shell *sh, struct report *r, int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		if (str_starts(argv[i], "--format=")) {
			if (take_format(sh, argv[i++] + 9) < 0)
				return -1;
		} else if (strcmp(argv[i], "--format") == 0 ||
			   strcmp(argv[i], "-f") == 0) {
			if (take_format(sh, i + 1 < argc ? argv[i + 1] :
					NULL) < 0)
				return -1;
			i += 2;
		} else if (strcmp(argv[i], "--no-rc") == 0) {
			i++;
		} else if (argv[i][0] == '-' && argv[i][1]) {
			if (take_step(r, &i, argc, argv) < 0)
				return -1;
		} else if (is_experiment_name(argv[i])) {
			vec_push(&r->experiments, argv[i++]);
		} else {
			fail(FAIL_USAGE, "report: '%s' is neither an "
			     "experiment (NAME.er) nor a command (-NAME)",
			     argv[i]);
			return fail_remedy("sonde help report");
		}
	}
	if (!r->experiments.len) {
		fail(FAIL_USAGE, "report: no experiment was named");
		return fail_remedy("sonde report test.1.er -functions");
	}
	return 0;
}

static bool
run_step(struct shell *sh, const struct step *s)
{
	char **words = xcalloc(s->n + 1, sizeof *words);

	words[0] = s->name;
	for (size_t i = 1; i < s->n; i++)
		words[i] = s->words[i];

	const enum result r = shell_command(sh, s->n, words);

	free(words);
	if (r == FAILED) {
		shell_print_failure(sh);
		sh->exit_status = status_of_failure(fail_last()->kind);
	}
	if (r == USAGE)
		sh->exit_status = EXIT_USAGE;
	return r == DONE;	/* TOLD and QUIT come from a script */
}

/* Without a view: the functions, twenty unless a limit was given. */
static const char *
default_view(const struct report *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->steps[i].name, "limit") == 0)
			return "functions";
	return "limit 20; functions";
}

/* Settings behind the last view would do nothing: they hold for all views. */
static size_t
first_trailing(const struct report *r)
{
	size_t i = r->count;

	while (r->has_view && i > 0 && !r->steps[i - 1].is_view)
		i--;
	return i;
}

/* A filter that comes before the first view. */
static void
expect_filter(struct shell *sh, const struct report *r)
{
	for (size_t i = 0; i < r->count && !r->steps[i].is_view; i++) {
		const struct step *s = &r->steps[i];

		if (strcmp(s->name, "filters") != 0 || s->n < 2)
			continue;
		viewer_expect_filter(sh->viewer, s->n - 1,
				     (const char *const *)s->words + 1);
		return;
	}
}

static bool
has_word(char *const *argv, const char *word)
{
	while (*argv && strcmp(*argv, word) != 0)
		argv++;
	return *argv;
}

/* After the last view, the command line that would be next. */
static void
suggest(struct shell *sh)
{
	struct str before = {0};

	str_add(&before, "sonde report");
	for (size_t i = 0; i < sh->viewed.len; i++)
		str_add(&before, " "),
		str_add_quoted(&before, sh->viewed.items[i]);
	str_add(&before, " ");
	if (sh->shown)
		people_suggest(sh, sh->shown, str_text(&before), "-");
	str_fini(&before);
}

int
verb_report(struct shell *sh, int argc, char **argv)
{
	struct report r = {0};

	if (!has_word(argv, "--no-rc"))
		rc_read(sh);	/* before what the command line says */
	if (parse_report(sh, &r, argc, argv) < 0) {
		vec_fini(&r.experiments);
		shell_print_failure(sh);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < r.experiments.len; i++)
		vec_push(&sh->viewed, xstrdup(r.experiments.items[i]));
	vec_fini(&r.experiments);
	expect_filter(sh, &r);
	/* no process is visited: whoever has enough of it may end it. Not beside
	 * a pager, which a Ctrl-C is for. */
	wait_end_by_signals();

	const int ready = view_ready(sh);

	if (isatty(STDOUT_FILENO))
		wait_catch_signals();
	if (ready < 0) {
		fail_in("report");
		return verb_failed(sh);
	}
	for (size_t i = first_trailing(&r); i < r.count; i++)
		if (!run_step(sh, &r.steps[i]))
			return sh->exit_status;
	for (size_t i = 0; i < first_trailing(&r); i++)
		if (!run_step(sh, &r.steps[i]))
			return sh->exit_status;
	if (!r.has_view && !shell_run_text(sh, default_view(&r)))
		return sh->exit_status;
	suggest(sh);
	if (fflush(sh->out) != 0)
		return 1;
	if (viewer_damaged(sh->viewer))
		return status_of_failure(FAIL_PARTIAL);
	return viewer_untraced(sh->viewer) ? status_of_failure(FAIL_ENDED) : 0;
}
