/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program that we start: debug, run, rerun, runargs.
 */
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void
set_redirections(struct shell *sh, const char *in, const char *out, bool append)
{
	free(sh->in);
	free(sh->out_file);
	sh->in = in ? xstrdup(in) : NULL;
	sh->out_file = out ? xstrdup(out) : NULL;
	sh->append = append;
}

enum result
cmd_debug(struct shell *sh, size_t n, char **words)
{
	if (n == 1) {
		if (!sh->program) {
			fputs("No program.\n", sh->out);
			return DONE;
		}
		fputs("Debugging:", sh->out);
		for (char **w = sh->program; *w; w++)
			fprintf(sh->out, " %s", *w);
		fputc('\n', sh->out);
		return DONE;
	}
	if (strcmp(words[1], "-clone") == 0) {
		fail(FAIL_USAGE, "debug -clone: a sonde has one process under "
		     "control");
		fail_remedy("start another sonde");
		return FAILED;
	}
	/* -f: a core of another program; -r: handlers stay. So it is anyway. */
	if (strcmp(words[1], "-f") == 0 || strcmp(words[1], "-r") == 0) {
		if (n < 3)
			return USAGE;
		words++;
		n--;
	}
	if (strcmp(words[1], "-") == 0 && n > 3)
		return USAGE;
	if (n <= 3 && core_is_one(words[n - 1]))
		return target_end_session(sh) == FAILED ||
			post_mortem_begin(sh, words[n - 1], n == 3 &&
					  strcmp(words[1], "-") != 0 ?
					  words[1] : NULL) < 0 ? FAILED : DONE;
	if (n == 3 && strcmp(words[1], "-") == 0 && processes_others(sh)) {
		const pid_t pid = target_find(words[2]);

		if (pid < 0)
			return FAILED;
		if (process_is_ours(sh, pid))
			return cmd_attach(sh, 2, words + 1);
	}
	if (strcmp(words[1], "-") != 0 && target_check_program(words[1]) < 0)
		return FAILED;
	if (target_end_session(sh) == FAILED)
		return FAILED;
	set_redirections(sh, NULL, NULL, false);
	if (strcmp(words[1], "-") == 0) {
		shell_set_program(sh, 0, NULL);
		return n == 3 ? cmd_attach(sh, 2, words + 1) : DONE;
	}
	shell_set_program(sh, n - 1, words + 1);
	return DONE;
}

static enum result
need_program(struct shell *sh)
{
	if (sh->program)
		return DONE;
	fail(FAIL_USAGE, "there is no program to run");
	fail_remedy("debug PROGRAM [ARGUMENTS]");
	return FAILED;
}

/* Arguments and redirections, all of them, as the line says. */
enum result
cmd_runargs(struct shell *sh, size_t n, char **words)
{
	const struct words *line = sh->line;

	if (need_program(sh) == FAILED)
		return FAILED;

	char *name = xstrdup(sh->program[0]);
	char *typed = words[0];

	words[0] = name;
	shell_set_program(sh, n, words);
	words[0] = typed;
	free(name);
	set_redirections(sh, line ? line->in : NULL, line ? line->out : NULL,
			 line && line->append);
	return DONE;
}

/* Before the program is started: it would have to be killed. */
static int
check_experiment(const struct shell *sh)
{
	const char *name = sh->settings.experiment;

	if (!sh->armed || !name || sh->settings.overwrite ||
	    !target_name_is_taken(sh, name))
		return 0;
	fail(FAIL_USAGE, "experiment %s exists already", name);
	return fail_remedy("collector store experiment OTHER.er");
}

static int
launch_program(struct shell *sh)
{
	sh->program_status = -1;
	timers_reset(sh);
	if (pty_open(sh) < 0)
		return -1;

	const struct session_launch launch = {
		.argv = sh->program, .in = sh->in, .out = sh->out_file,
		.append = sh->append,
		.preload = sh->armed && session_wants_preload(&sh->settings),
		.own_group = sh->own_group = terminal_is_shared(sh) && !sh->pty,
		.terminal = pty_name(sh),
		.to_exec = handlers_want(sh, EVENT_SYNC),
	};

	sh->session = session_launch(&launch);
	if (!sh->session)
		return -1;
	pty_begin(sh);
	shell_note(sh, "Running: %s (process id %d)", sh->program[0],
		   session_pid(sh->session));
	sh->booting = true;
	sh->at_exec = launch.to_exec;
	if (sh->at_exec)
		return wants_review(sh);	/* the rest: wait.c, take_started */
	/* first what may fail for a name, then what makes an experiment */
	if (handlers_place(sh) < 0)
		return -1;
	if (!sh->armed)
		return 0;
	return collecting_start(sh);
}

enum result
run_wait_started(struct shell *sh)
{
	const enum result r = wait_for_target(sh, 0, true);

	if (!wait_signal || !target_alive(sh) ||
	    session_state(sh->session) == SESSION_STOPPED)
		return r;
	if (session_stop(sh->session) < 0)
		return FAILED;
	shell_note(sh, "Interrupted; process %d is stopped",
		   session_pid(sh->session));
	return r;
}

/* A program that could not be prepared as asked does not run at all. */
static enum result
start_program(struct shell *sh)
{
	if (target_end_session(sh) == FAILED || check_experiment(sh) < 0)
		return FAILED;
	if (launch_program(sh) == 0) {
		const pid_t pid = session_pid(sh->session);
		bool over;

		str_clear(&sh->fired);
		sh->thread = 0;
		sh->body_failed = false;
		over = handlers_hear(sh, sh->at_exec ? EVENT_SYNC :
				     EVENT_SYNCRTLD);
		if (sh->quitting)
			return QUIT;
		if (over || !sh->session || session_pid(sh->session) != pid)
			return sh->body_failed ? TOLD : DONE;
		if (session_cont(sh->session) == 0)
			return run_wait_started(sh);
	}
	shell_print_failure(sh);
	sh->exit_status = status_of_failure(fail_last()->kind);
	(void)target_end_session(sh);
	return TOLD;
}

/* Alone: as the last time. Words replace the arguments, < and > replace the
 * redirections. */
enum result
cmd_run(struct shell *sh, size_t n, char **words)
{
	const struct words *line = sh->line;

	if (need_program(sh) == FAILED)
		return FAILED;
	if (n > 1)
		(void)cmd_runargs(sh, n, words);
	else if (line && (line->in || line->out))
		set_redirections(sh, line->in, line->out, line->append);
	return start_program(sh);
}

/* Alone: without arguments and redirections. */
enum result
cmd_rerun(struct shell *sh, size_t n, char **words)
{
	return cmd_runargs(sh, n, words) == FAILED ? FAILED :
		start_program(sh);
}
