/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verbs of the command line but record, collect and selftest: report,
 * dump, stop, doctor, help. Words are checked before anything is printed or touched.
 */
#include "private.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int
failed(struct shell *sh)
{
	shell_print_failure(sh);
	return status_of_failure(fail_last()->kind);
}

/* ---- report ------------------------------------------------------------------------ */

/* One view with its words: [first, first + n) of argv. */
struct step {
	char *name;
	char **words;
	size_t n;
};

struct report {
	struct vec experiments;
	struct step steps[64];
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

/* A long option is a word of its own, a short one may be among others. */
const char *
option_wrong(char *const *argv)
{
	static char letter[3] = "-";

	if (optopt <= 0 || optopt > 127 || str_starts(argv[optind - 1], "--"))
		return argv[optind - 1];
	letter[1] = (char)optopt;
	return letter;
}

static bool
is_view(const char *name)
{
	for (const struct view *v = view_table; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return !v->is_setting;
	return strcmp(name, "script") == 0 || strcmp(name, "indxobj") == 0;
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
	return strcmp(name, "indxobj") == 0;
}

static int
take_format(struct shell *sh, const char *word)
{
	if (word && strcmp(word, "text") == 0)
		viewer_set_format(sh->viewer, VIEW_TEXT);
	else if (word && strcmp(word, "folded") == 0)
		viewer_set_format(sh->viewer, VIEW_FOLDED);
	else {
		fail(FAIL_USAGE, "report: format '%s' is not known",
		     word ? word : "");
		return fail_remedy("--format text or --format folded");
	}
	return 0;
}

/* `-sort -e.user` reverses, `-outfile -` is standard output: a dash may begin
 * an argument too. */
static bool
is_argument(const char *command, const char *word)
{
	if (strcmp(command, "sort") == 0)
		return strchr(word, '.') || strchr(word, '%');
	return str_ends(command, "file") &&
	       (strcmp(word, "-") == 0 || strcmp(word, "--") == 0);
}

static int
take_step(struct report *r, int *at, int argc, char **argv)
{
	const struct command *c = shell_find_any(argv[*at] + 1);
	struct step *s = &r->steps[r->count];

	if (!c) {
		fail_in("report");
		return *fail_last()->remedy ?
			fail_remedy("sonde help lists the views") : -1;
	}
	if (!is_step(c->name)) {
		fail(FAIL_USAGE, "report: '%s' shows nothing of an experiment",
		     argv[*at]);
		return fail_remedy("sonde help lists the views");
	}
	if (r->count + 1 >= ARRAY_LEN(r->steps))
		return fail(FAIL_USAGE, "report: too many commands");
	*s = (struct step){ .name = (char *)c->name, .words = argv + *at };
	while (++*at < argc && !is_experiment_name(argv[*at]) &&
	       (argv[*at][0] != '-' || is_argument(c->name, argv[*at])))
		s->n++;
	s->n++;
	if (s->n > 1 && !*c->args)
		return fail(FAIL_USAGE, "report: %s takes no word, such as "
			    "'%s'", s->words[0], s->words[1]);
	r->has_view |= is_view(c->name);
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

	while (r->has_view && i > 0 && !is_view(r->steps[i - 1].name))
		i--;
	return i;
}

static int
verb_report(struct shell *sh, int argc, char **argv)
{
	struct report r = {0};

	if (parse_report(sh, &r, argc, argv) < 0) {
		vec_fini(&r.experiments);
		shell_print_failure(sh);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < r.experiments.len; i++)
		vec_push(&sh->viewed, xstrdup(r.experiments.items[i]));
	vec_fini(&r.experiments);
	if (view_ready(sh) < 0) {
		fail_in("report");
		return failed(sh);
	}
	for (size_t i = first_trailing(&r); i < r.count; i++)
		if (!run_step(sh, &r.steps[i]))
			return sh->exit_status;
	for (size_t i = 0; i < first_trailing(&r); i++)
		if (!run_step(sh, &r.steps[i]))
			return sh->exit_status;
	if (!r.has_view && !shell_run_text(sh, default_view(&r)))
		return sh->exit_status;
	return fflush(sh->out) == 0 ? 0 : 1;
}

/* The value of `-p PID`, `-pPID`, `--pid PID` or `--pid=PID`, alone; NULL. */
static const char *
pid_option(int argc, char **argv)
{
	if (argc == 3 && (strcmp(argv[1], "-p") == 0 ||
			  strcmp(argv[1], "--pid") == 0))
		return argv[2];
	if (argc == 2 && str_starts(argv[1], "--pid=") && argv[1][6])
		return argv[1] + 6;
	if (argc == 2 && str_starts(argv[1], "-p") && argv[1][2])
		return argv[1] + 2;
	return NULL;
}

/* ---- dump ---------------------------------------------------------------------------- */

static int
verb_dump(struct shell *sh, int argc, char **argv)
{
	const char *pid = pid_option(argc, argv);

	if (!pid) {
		fail(FAIL_USAGE, "dump: give -p PID");
		fail_remedy("sonde dump -p 4711");
		return failed(sh);
	}
	sh->quiet = true;
	if (target_attach(sh, pid, false) < 0) {
		fail_in("dump");
		return failed(sh);
	}
	if (!shell_run_text(sh, "where -all"))
		return sh->exit_status;
	return target_end_session(sh) == DONE ? 0 : failed(sh);
}

/* ---- stop ---------------------------------------------------------------------------- */

static int
verb_stop(struct shell *sh, int argc, char **argv)
{
	char *receipt;

	if (argc != 2) {
		fail(FAIL_USAGE, "stop: give the experiment being recorded");
		fail_remedy("sonde stop test.1.er");
		return failed(sh);
	}
	if (session_stop_experiment(argv[1], &receipt) < 0) {
		fail_in("stop");
		return failed(sh);
	}
	shell_note(sh, "%s", receipt);
	free(receipt);
	return 0;
}

/* ---- doctor -------------------------------------------------------------------------- */

struct findings {
	const struct shell *sh;
	int width;		/* of the subjects */
};

/* What mends the line before stands below it, to be copied. */
static void
print_finding(void *arg, bool ok, const char *subject, const char *text)
{
	const struct findings *f = arg;
	const struct shell *sh = f->sh;
	const char *mark = ok ? "ok" : "no";

	if (strcmp(subject, "fix") == 0)
		fprintf(sh->out, "    %*s: %s\n", f->width, subject, text);
	else if (sh->color)
		fprintf(sh->out, "\033[%sm%s\033[0m  %-*s  %s\n",
			ok ? "32" : "31", mark, f->width, subject, text);
	else
		fprintf(sh->out, "%s  %-*s  %s\n", mark, f->width, subject,
			text);
}

static int
verb_doctor(struct shell *sh, int argc, char **argv)
{
	const char *word = pid_option(argc, argv);
	const pid_t pid = word ? target_find(word) : 0;
	struct findings f = { sh, pid ? 12 : 26 };

	if (!word && argc != 1) {
		fail(FAIL_USAGE, "doctor: nothing, or -p PID");
		fail_remedy("sonde doctor -p 4711");
		return failed(sh);
	}

	/* what helps is to collect as root, not to ask again */
	if (pid > 0)
		fail_set_command(0, NULL);

	const int result = pid < 0 ? -1 :
		session_doctor(pid, print_finding, &f);

	if (result < 0) {
		fail_in("doctor");
		return failed(sh);
	}
	/* it has been told with the findings */
	return result > 0 ? status_of_failure(fail_last()->kind) : 0;
}

static int
verb_help(struct shell *sh, int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 1, sizeof *words);

	for (int i = 0; i < argc; i++)
		words[i] = argv[i];

	const enum result r = shell_command(sh, (size_t)argc, words);

	free(words);
	if (r == FAILED)
		return failed(sh);
	return r == USAGE ? EXIT_USAGE : 0;
}

void
verb_print_help(const struct verb *v, FILE *out)
{
	fprintf(out, "sonde %s %s\n  %s\n%s", v->name, v->args, v->help,
		v->details);
}

const struct verb verb_table[] = {
	{ "collect", "OPTIONS PROGRAM [ARGUMENTS]",
	  "record a program, with the options of collect(1)",
	  "  -p on|off|lo|hi|N[m|u]  clock profiling and its interval\n"
	  "  -S on|off|SECONDS       resource samples\n"
	  "  -t N[m|s]               record for so long\n"
	  "  -o NAME.er, -d DIR      the experiment's name and directory\n"
	  "  -A on|off|copy          copy load objects into it\n"
	  "  -L MB|unlimited         stop sampling at this size\n"
	  "  -C TEXT                 a comment for its notes\n"
	  "  -O FILE                 append our messages to a file\n"
	  "  -P PID                  record a running process instead\n"
	  "  -n, -v, -V              dry run, verbose, version\n"
	  "  for example: sonde collect -p hi -o run.1.er ./server -v\n",
	  verb_collect },
	{ "doctor", "[-p PID]",
	  "say what works on this machine, or with a process, and how to "
	  "mend the rest", "  for example: sonde doctor -p 4711\n",
	  verb_doctor },
	{ "dump", "-p PID", "print the stacks of all threads; blocked "
	  "threads are not stopped", "  for example: sonde dump -p 4711\n",
	  verb_dump },
	{ "help", "[COMMAND]", "tell about verbs and commands",
	  "  for example: sonde help record\n", verb_help },
	{ "record", "(-p PID[,PID]|NAME [--children] | [--] PROGRAM "
	  "[ARGUMENTS])\n    [-o EXP.er | -O EXP.er] [-d 30s] [-i 1ms | "
	  "-F 997] [--engine auto|ring|inject|remote]",
	  "profile a running process, or a program from its start",
	  "  -p PID         the process; several with commas, or its name\n"
	  "  --children     its children too\n"
	  "  -o EXP.er      name of the experiment (default test.N.er); -O\n"
	  "                 replaces one of that name\n"
	  "  -d 30s         for so long (default: until Ctrl-C or its end)\n"
	  "  -i 1ms, -F 997 interval of CPU time, or samples per CPU second\n"
	  "  --engine E     auto, ring (nothing is put into the process),\n"
	  "                 inject, or remote (short stops, from outside)\n"
	  "  for example: sonde record -p 4711 -d 10s\n"
	  "  then:        sonde report test.1.er -functions\n",
	  verb_record },
	{ "report", "EXP.er... [-COMMAND [ARGUMENTS]]... "
	  "[--format text|folded]",
	  "show experiments; without a command: functions, limit 20",
	  "  for example: sonde report test.1.er -limit 10 -functions "
	  "-calltree\n", verb_report },
	{ "selftest", "[N]", "see on this machine that visited processes "
	  "live on as before",
	  "  Attaches to a program that comes with sonde, collects and\n"
	  "  detaches, N times (20), by each engine, and tells what the\n"
	  "  program saw of it, how long its threads stood, and what is\n"
	  "  not available here. Status 1 when harm was done.\n"
	  "  for example: sonde selftest 100\n", verb_selftest },
	{ "stop", "EXP.er", "end a recording from another terminal",
	  "  for example: sonde stop test.1.er\n", verb_stop },
	{ 0 }
};

const struct verb *
verb_find(const char *name)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}
