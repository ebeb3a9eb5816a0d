/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes: debug, run, attach, detach, cont, kill.
 */
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
target_alive(const struct shell *sh)
{
	return sh->session && session_state(sh->session) != SESSION_ENDED;
}

/* Now: the receipt of what ended before has been told. */
static bool
is_recorded(const struct shell *sh)
{
	return session_experiment_state(sh->session) != NOT_COLLECTING;
}

static enum result
let_go(struct shell *sh, char **receipt)
{
	if (!session_launched(sh->session))
		return session_detach(sh->session, LEAVE_RUNNING, receipt) < 0 ?
			FAILED : DONE;
	if (session_kill(sh->session, SIGKILL) < 0)
		return FAILED;
	wait_for_end(sh);
	return DONE;
}

enum result
target_end_session(struct shell *sh)
{
	char *receipt = NULL;
	enum result r = DONE;

	if (!sh->session)
		return DONE;

	const bool recorded = is_recorded(sh);

	if (target_alive(sh))
		r = let_go(sh, &receipt);
	if (receipt && recorded)
		shell_note(sh, "%s", receipt);
	free(receipt);
	handlers_drop_breakpoints(sh);
	session_close(sh->session);
	sh->session = NULL;
	sh->thread = 0;
	return r;
}

void
target_note_experiment(struct shell *sh)
{
	const char *path = session_experiment(sh->session);

	if (!path || (sh->experiment && strcmp(path, sh->experiment) == 0))
		return;
	free(sh->experiment);
	sh->experiment = xstrdup(path);
	view_forget(sh);
}

/* ---- finding the process -------------------------------------------------------- */

static int
list_matches(const char *name, const struct session_process *p, ssize_t n)
{
	struct str all = {0};

	for (ssize_t i = 0; i < n; i++)
		str_addf(&all, "%s%d", i ? ", " : "", p[i].pid);
	fail(FAIL_USAGE, "%zd processes are named '%s': %s", n, name,
	     str_text(&all));
	str_fini(&all);
	return fail_remedy("give the pid of one");
}

pid_t
target_find(const char *word)
{
	struct session_process *p;
	long long pid;

	if (str_number(word, 1, 1 << 30, &pid))
		return (pid_t)pid;

	const ssize_t n = session_processes(word, &p);
	pid_t found = -1;

	if (n == 1) {
		found = p[0].pid;
	} else if (n > 1) {
		list_matches(word, p, n);
	} else if (n == 0) {
		fail(FAIL_MISSING, "no process is named '%s'", word);
		fail_remedy("give a pid; ps -ef lists them");
	}
	free(p);
	return found;
}

int
target_attach(struct shell *sh, const char *word, bool hold)
{
	const pid_t pid = target_find(word);

	if (pid < 0)
		return -1;
	if (pid == getpid())
		return fail(FAIL_UNSUITABLE, "process %d is this sonde itself",
			    pid);
	if (target_alive(sh)) {
		fail(FAIL_USAGE, "process %d is the target already",
		     session_pid(sh->session));
		return fail_remedy("detach first");
	}
	(void)target_end_session(sh);	/* what it had is over */
	sh->session = session_attach(pid, hold);
	if (!sh->session)
		return -1;

	char *halted = hold ? NULL : session_why_halted(pid);

	shell_note(sh, "Attached to process %d (%s); it is %s", pid,
		   session_name(sh->session), hold ? "stopped" :
		   halted ? halted : "running");
	free(halted);
	if (session_salvaged(sh->session))
		shell_note(sh, "%s", session_salvaged(sh->session));
	wait_reset_timers(sh);
	return handlers_place(sh);
}

/* ---- commands --------------------------------------------------------------------- */

static enum result
cmd_attach(struct shell *sh, size_t n, char **words)
{
	const bool hold = n > 2 && strcmp(words[1], "-stop") == 0;

	if (n != (hold ? 3u : 2u))
		return USAGE;
	return target_attach(sh, words[n - 1], hold) < 0 ? FAILED : DONE;
}

static void
set_redirections(struct shell *sh, const char *in, const char *out, bool append)
{
	free(sh->in);
	free(sh->out_file);
	sh->in = in ? xstrdup(in) : NULL;
	sh->out_file = out ? xstrdup(out) : NULL;
	sh->append = append;
}

static enum result
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
	if (strcmp(words[1], "-") == 0 && n > 3)
		return USAGE;
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
static enum result
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
	const struct session_launch launch = {
		.argv = sh->program, .in = sh->in, .out = sh->out_file,
		.append = sh->append,
		.preload = sh->armed && session_wants_preload(&sh->settings),
		.own_group = sh->own_group = terminal_is_shared(sh),
	};

	sh->program_status = -1;
	wait_reset_timers(sh);
	sh->session = session_launch(&launch);
	if (!sh->session)
		return -1;
	shell_note(sh, "Running: %s (process id %d)", sh->program[0],
		   session_pid(sh->session));
	/* first what may fail for a name, then what makes an experiment */
	if (handlers_place(sh) < 0)
		return -1;
	if (!sh->armed)
		return 0;
	if (session_enable(sh->session, &sh->settings) < 0)
		return fail_in("collector enable");
	target_note_experiment(sh);
	shell_note(sh, "Creating experiment %s", sh->experiment);
	return 0;
}

/* One that came before a command is not for it. */
static void
forget_interrupt(void)
{
	if (wait_signal == SIGINT)
		wait_signal = 0;
}

/* Ctrl-C stops what we started. */
static enum result
wait_started(struct shell *sh)
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
	forget_interrupt();
	if (launch_program(sh) == 0 && session_cont(sh->session) == 0)
		return wait_started(sh);
	shell_print_failure(sh);
	sh->exit_status = status_of_failure(fail_last()->kind);
	(void)target_end_session(sh);
	return TOLD;
}

/* Alone: as the last time. Words replace the arguments, < and > replace the
 * redirections. */
static enum result
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
static enum result
cmd_rerun(struct shell *sh, size_t n, char **words)
{
	return cmd_runargs(sh, n, words) == FAILED ? FAILED :
		start_program(sh);
}

static enum result
cmd_cont(struct shell *sh, size_t n, char **words)
{
	const bool started =
		session_state(sh->session) == SESSION_STOPPED;

	(void)words;
	if (n != 1)
		return USAGE;
	forget_interrupt();
	if (started && session_cont(sh->session) < 0)
		return FAILED;
	/* what ran before runs on */
	if (started)
		return wait_started(sh);

	char *halted = session_why_halted(session_pid(sh->session));

	if (halted)
		shell_note(sh, "process %d is %s", session_pid(sh->session),
			   halted);
	free(halted);
	return wait_for_target(sh, 0, true);
}

static enum result
cmd_detach(struct shell *sh, size_t n, char **words)
{
	enum session_leave how = LEAVE_RUNNING;
	char *receipt;

	if (n == 2 && strcmp(words[1], "-stop") == 0)
		how = LEAVE_STOPPED;
	else if (n == 2 && strcmp(words[1], "-keep") == 0)
		how = LEAVE_RECORDING;
	else if (n != 1)
		return USAGE;

	const pid_t pid = session_pid(sh->session);

	const bool recorded = is_recorded(sh);

	if (how == LEAVE_RECORDING && !recorded) {
		fail(FAIL_USAGE, "detach -keep: no experiment is being "
		     "recorded");
		fail_remedy("collector enable starts one; detach alone lets "
			    "go");
		return FAILED;
	}
	if (session_detach(sh->session, how, &receipt) < 0)
		return FAILED;
	target_note_experiment(sh);

	/* a job that was stopped before we came stays so */
	char *halted = how == LEAVE_STOPPED ? NULL : session_why_halted(pid);

	shell_note(sh, "Detached from process %d; it is %s%s%s", pid,
		   how == LEAVE_STOPPED ? "stopped" :
		   halted ? halted : "running", recorded ? "" : ", ",
		   recorded ? "" : session_look(sh->session));
	free(halted);
	if (how == LEAVE_RECORDING)
		shell_note(sh, "recording goes on: sonde stop %s",
			   sh->experiment);
	if (recorded && *receipt)
		shell_note(sh, "%s", receipt);
	free(receipt);
	handlers_drop_breakpoints(sh);
	session_close(sh->session);
	sh->session = NULL;
	sh->thread = 0;
	sh->wait_over = true;
	return DONE;
}

static int
signal_number(const char *word)
{
	long long number;

	if (*word == '-')
		word++;
	if (str_number(word, 1, SIGRTMAX, &number))
		return (int)number;
	if (strncasecmp(word, "SIG", 3) == 0)
		word += 3;
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && strcasecmp(name, word) == 0)
			return sig;
	}
	return -1;
}

static enum result
list_signals(struct shell *sh)
{
	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sigabbrev_np(sig))
			fprintf(sh->out, "%2d  %-8s %s\n", sig,
				sigabbrev_np(sig), sigdescr_np(sig));
	fprintf(sh->out, "%d to %d  real-time signals\n", SIGRTMIN, SIGRTMAX);
	return DONE;
}

static enum result
cmd_kill(struct shell *sh, size_t n, char **words)
{
	if (n == 2 && strcmp(words[1], "-l") == 0)
		return list_signals(sh);

	const int sig = n == 1 ? SIGKILL : signal_number(words[1]);

	if (n > 2)
		return USAGE;
	if (!target_alive(sh)) {
		fail(FAIL_USAGE, "kill: there is no process");
		fail_remedy("attach PID, or debug PROGRAM and run");
		return FAILED;
	}
	if (sig < 0) {
		fail(FAIL_USAGE, "kill: '%s' is no signal", words[1]);
		fail_remedy("kill TERM, or kill 15");
		return FAILED;
	}
	sh->wait_over = true;
	if (session_kill(sh->session, sig) < 0)
		return FAILED;
	if (sig == SIGKILL)
		wait_for_end(sh);
	return DONE;
}

const struct command target_commands[] = {
	{ "attach", "[-stop] PID|NAME", "attach to a running process; it runs "
	  "on (-stop: stop it)", 0, cmd_attach, "attach 4711" },
	{ "cont", "", "resume if stopped, and wait for the next stop, event "
	  "or the end", NEEDS_TARGET, cmd_cont, NULL },
	{ "debug", "[PROGRAM [ARGUMENTS] | - [PID]]",
	  "choose the program that run starts", 0, cmd_debug,
	  "debug ./server -v" },
	{ "detach", "[-stop | -keep]", "let the process go (-stop: stopped; "
	  "-keep: recording goes on)", NEEDS_TARGET, cmd_detach, NULL },
	{ "kill", "[SIGNAL | -l]", "kill the process, or send it a signal "
	  "(-l: list them)", 0, cmd_kill, "kill TERM" },
	{ "rerun", "[ARGUMENTS] [< FILE] [> FILE]", "start the program anew, "
	  "with these arguments only", REDIRECTS_ITSELF, cmd_rerun, NULL },
	{ "run", "[ARGUMENTS] [< FILE] [> FILE]", "start the program and "
	  "wait; without words: as the last time", REDIRECTS_ITSELF, cmd_run,
	  "run -n 5 > out.txt" },
	{ "runargs", "[ARGUMENTS] [< FILE] [> FILE]",
	  "set the program's arguments", REDIRECTS_ITSELF, cmd_runargs,
	  "runargs -n 5 < in.txt" },
	{ 0 }
};
