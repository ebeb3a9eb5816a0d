/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sonde: what the first words mean. A verb is a verb; EXP.er is looked at; a
 * program is loaded, not run; -p PID is attached to. Then -x and -c are run,
 * and the keyboard is read if nothing else was asked for.
 */
#include "config.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *file, *rc, *pid;
	char *commands;		/* of all -c, a line each */
	bool echo, quiet, batch, run, as_program;
	char **words, **rest;
	int rest_count;
	struct params params;	/* of --args, for -x and -c */
};

static void
print_usage(FILE *out)
{
	fputs("usage: sonde [PROGRAM [ARGUMENTS]] | sonde -p PID | "
	      "sonde EXP.er...\n"
	      "         [-c COMMANDS] [-x FILE] [-s RCFILE] [-e] [-q] [-r] "
	      "[-B] [--batch]\n"
	      "         [--args WORDS...]\n", out);
	for (const struct verb *v = verb_table; v->name; v++)
		fprintf(out, "       sonde %s %s\n", v->name, v->args);
	fputs("       sonde --version | --help\n\n"
	      "Profile a running process for ten seconds, and look:\n"
	      "  sonde record -p 4711 -d 10s\n"
	      "  sonde report test.1.er -functions\n", out);
}

static void
options_fini(struct options *o)
{
	free(o->rest);
	free(o->commands);
}

static void
add_commands(struct options *o, const char *more)
{
	char *all = o->commands ? xasprintf("%s\n%s", o->commands, more) :
		xstrdup(more);

	free(o->commands);
	o->commands = all;
}

/* -1 go on; else the exit status. */
static int
take_option(struct options *o, int letter)
{
	switch (letter) {
	case 'c':
		add_commands(o, optarg);
		return -1;
	case 'x':
		o->file = optarg;
		return -1;
	case 's':
		o->rc = optarg;
		return -1;
	case 'p':
		o->pid = optarg;
		return -1;
	case 'e':
		o->echo = true;
		return -1;
	case 'q':
		o->quiet = true;
		return -1;
	case 'b':
		o->batch = true;
		return -1;
	case 'r':
		o->run = true;
		return -1;
	case 'B':
		o->quiet = o->as_program = true;
		return -1;
	case 'S':		/* there is no start-up file of all users */
		return -1;
	case 'h':
		print_usage(stdout);
		return 0;
	case 'V':
		printf("sonde %s\n", VERSION);
		return 0;
	}

	char *wrong = str_tamed(option_wrong(o->words));
	const char *instead = wrong[2] ? NULL : dbx_option_instead(wrong[1]);

	fprintf(stderr, "sonde: option '%s' is unknown or lacks its value\n"
		"  fix: %s\n", wrong,
		instead ? instead : "sonde --help lists the options");
	free(wrong);
	return EXIT_USAGE;
}

/*
 * Options end where a program begins, since the rest is the program's; among
 * experiments they may stand anywhere. -1 go on; else the exit status.
 */
static int
parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "batch", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "args", no_argument, NULL, 'a' },
		{ 0 }
	};
	int status = -1;

	opterr = 0;
	o->words = argv;
	o->rest = xcalloc((size_t)argc + 1, sizeof *o->rest);
	while (status < 0 && optind < argc) {
		const int letter = getopt_long(argc, argv, "+c:x:s:p:eqhVrBS",
					       longs, NULL);

		if (letter == 'a') {
			o->params.items = argv + optind;
			o->params.n = (size_t)(argc - optind);
			break;
		}
		if (letter >= 0) {
			status = take_option(o, letter);
			continue;
		}
		if (optind == argc)
			break;
		o->rest[o->rest_count++] = argv[optind++];
		if (!is_experiment_name(o->rest[0]) ||
		    strcmp(argv[optind - 2], "--") == 0)
			while (optind < argc)
				o->rest[o->rest_count++] = argv[optind++];
	}
	return status;
}

static bool
wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) &&
	       !(term && strcmp(term, "dumb") == 0);
}

/* ---- configuration ------------------------------------------------------- */

/* Frees path. */
static void
run_if_there(struct shell *sh, char *path)
{
	FILE *file = sh->quitting ? NULL : file_open_own(path);

	if (file)
		(void)shell_run_open_file(sh, file, path);
	else if (!sh->quitting && errno == EPERM)
		shell_note(sh, "%s is not read: others may write it or a "
			   "directory above it; -s %s reads it", path, path);
	free(path);
}

/* Then its files are those of the directory. */
static bool
is_here(const char *directory)
{
	struct stat there, here;

	return directory && *directory && stat(directory, &there) == 0 &&
	       stat(".", &here) == 0 && there.st_dev == here.st_dev &&
	       there.st_ino == here.st_ino;
}

/* A directory brings commands of whoever filled it: a checkout, an archive. */
static void
run_here(struct shell *sh)
{
	const bool safe = path_is_within(".", sh->safe_path);
	FILE *file = safe ? file_open_private(".sonderc") : NULL;

	if (file) {
		(void)shell_run_open_file(sh, file, "./.sonderc");
	} else if (faccessat(AT_FDCWD, ".sonderc", F_OK,
			     AT_SYMLINK_NOFOLLOW) < 0) {
		return;		/* there is none */
	} else if (safe) {
		shell_note(sh, "./.sonderc is not read: it is a link or not "
			   "yours, or others may write it or a directory above "
			   "it; -s ./.sonderc reads it");
	} else {
		char *here = realpath(".", NULL);

		shell_note(sh, "./.sonderc is not read: its directory is not "
			   "declared safe; put `dbxenv safe_path %s' into "
			   "~/.sonderc, or give -s ./.sonderc",
			   here ? here : "DIR");
		free(here);
	}
}

/* false: the file that was asked for failed. */
static bool
run_configuration(struct shell *sh, const struct options *o)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (!o->batch)
		rc_read(sh);
	if (o->rc)
		return shell_run_file(sh, o->rc) || sh->interactive;
	if (o->batch)
		return true;
	if (base && *base)
		run_if_there(sh, xasprintf("%s/sonde/config", base));
	else if (home && *home)
		run_if_there(sh, xasprintf("%s/.config/sonde/config", home));
	if (home && *home)
		run_if_there(sh, xasprintf("%s/.sonderc", home));
	if (!sh->quitting && !is_here(home))
		run_here(sh);
	return true;
}

/* ---- what the rest of the words is --------------------------------------- */

static int
two_subjects(const struct options *o)
{
	fail(FAIL_USAGE, "-p %s and '%s' do not go together", o->pid,
	     o->rest[0]);
	return fail_remedy("sonde -p %s, or sonde %s", o->pid, o->rest[0]);
}

/* There is no such program. */
static int
perhaps_a_verb(const char *word)
{
	struct near near = {0};

	for (const struct verb *v = verb_table; v->name; v++)
		near_consider(&near, word, v->name);
	if (near.name)
		return fail_remedy("perhaps sonde %s; sonde help lists all",
				   near.name);
	if (!*fail_last()->remedy)
		return fail_remedy("give its path; or sonde help, if it was "
				   "to be a command of sonde's");
	return -1;
}

static int
take_subject(struct shell *sh, const struct options *o)
{
	if (o->pid) {
		if (o->rest_count)
			return two_subjects(o);
		return target_attach(sh, o->pid, false);
	}
	if (!o->rest_count)
		return 0;

	const char *pid = dbx_process(o->rest_count, o->rest);

	if (pid)
		return target_attach(sh, pid, false);
	if (core_is_one(o->rest[o->rest_count - 1]) && o->rest_count <= 2)
		return post_mortem_begin(sh, o->rest[o->rest_count - 1],
					 o->rest_count == 2 &&
					 strcmp(o->rest[0], "-") != 0 ?
					 o->rest[0] : NULL);
	if (!is_experiment_name(o->rest[0])) {
		if (target_check_program(o->rest[0]) < 0)
			return perhaps_a_verb(o->rest[0]);
		shell_set_program(sh, (size_t)o->rest_count, o->rest);
		return 0;
	}
	for (int i = 0; i < o->rest_count; i++)
		vec_push(&sh->viewed, xstrdup(o->rest[i]));
	return view_ready(sh);
}

static int
failed(struct shell *sh)
{
	shell_print_failure(sh);
	return status_of_failure(fail_last()->kind);
}

/* -x, then -c; with neither the keyboard, or what stands in for it. */
static void
run_commands(struct shell *sh, struct options *o)
{
	bool going = true;

	o->params.name = o->file;
	if (!o->params.items) {
		o->params.items = o->rest;
		o->params.n = (size_t)o->rest_count;
	}
	if (o->file || o->commands)
		sh->params = &o->params;
	if (o->run)
		going = dbx_run(sh);
	if (going && o->file)
		going = shell_run_file(sh, o->file);
	if (going && o->commands) {
		if (sh->echo)
			fprintf(sh->out, "%s\n", o->commands);
		going = shell_run_text(sh, o->commands);
	}
	if (o->file || o->commands || !going)
		return;
	sh->in_commands = !sh->interactive;
	if (sh->interactive)
		shell_interact(sh);
	else
		(void)shell_run_file(sh, "-");
}

static int
run_shell(struct shell *sh, struct options *o)
{
	if (o->file || o->commands)
		sh->interactive = false;
	if (!run_configuration(sh, o) || sh->quitting)
		return sh->exit_status;
	sh->exit_status = 0;
	if (take_subject(sh, o) < 0)
		return failed(sh);
	run_commands(sh, o);
	if (target_end_session(sh) == FAILED) {
		const int status = failed(sh);

		if (!sh->exit_status)
			sh->exit_status = status;
	}
	if (o->as_program && !sh->exit_status && sh->program_status >= 0)
		return status_of_program(sh->program_status);
	if (!sh->exit_status && sh->viewer && viewer_damaged(sh->viewer))
		return status_of_failure(FAIL_PARTIAL);
	return sh->exit_status;
}

/* Words that are a verb's, from its name on; NULL: none. */
static char **
verb_words(const struct options *o)
{
	return o->rest_count && !o->pid && !o->commands && !o->file &&
	       verb_find(o->rest[0]) ? o->rest : NULL;
}

static int
run_verb(struct shell *sh, int argc, char **argv)
{
	const struct verb *v = verb_find(argv[0]);

	sh->interactive = false;
	sh->in_verb = true;
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 ||
			 (strcmp(argv[1], "-h") == 0 &&
			  v->run != verb_collect))) {
		verb_print_help(v, stdout);
		return 0;
	}
	return v->run(sh, argc, argv);
}

/* What could not be written is a failure; a reader who left is none. */
static int
flush_output(int status)
{
	const bool bad = ferror(stdout);
	/* an earlier write may have met it: ask the pipe itself */
	struct pollfd out = { STDOUT_FILENO, POLLOUT, 0 };
	const bool left = poll(&out, 1, 0) == 1 && out.revents & POLLERR;

	errno = 0;
	if ((fflush(stdout) == 0 && !bad) || errno == EPIPE || left)
		return status;
	fprintf(stderr, "sonde: write the output: %s\n",
		errno ? strerror(errno) : "it was cut short");
	return status ? status : 1;
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	struct shell sh;

	origin_keep();
	setlocale(LC_CTYPE, "");

	int status = parse(&o, argc, argv);

	if (status >= 0) {
		options_fini(&o);
		return flush_output(status);
	}
	fail_set_command(argc, argv);
	shell_init(&sh);
	sh.color = wants_color();
	if (isatty(STDERR_FILENO))
		viewer_set_progress(sh.viewer, stderr);
	sh.echo = o.echo;
	sh.quiet = o.quiet;
	sh.batch = o.batch;
	if (sh.batch)
		sh.interactive = false;
	wait_catch_signals();
	status = verb_words(&o) ? run_verb(&sh, o.rest_count, o.rest) :
		run_shell(&sh, &o);
	status = flush_output(status);
	shell_fini(&sh);
	options_fini(&o);
	return status;
}
