/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands for the process: attach, detach, cont, kill. The program that is
 * run: cmd_run.c.
 */
#include "foreign.h"
#include "private.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct attaching {
	bool hold;
	const char *pid, *program;	/* program NULL, or "-": whatever */
};

/* dbx: PID, PROGRAM PID, - PID, -p PID PROGRAM; -r keeps handlers, as we do. */
static bool
take_attach(size_t n, char **words, struct attaching *a)
{
	const char *rest[2] = { NULL };
	bool pid_first = false;
	size_t count = 0;

	for (size_t i = 1; i < n; i++) {
		if (strcmp(words[i], "-stop") == 0)
			a->hold = true;
		else if (strcmp(words[i], "-p") == 0)
			pid_first = true;
		else if (strcmp(words[i], "-r") == 0)
			continue;
		else if (count == ARRAY_LEN(rest))
			return false;
		else
			rest[count++] = words[i];
	}
	if (!count)
		return false;
	a->pid = rest[count == 2 && !pid_first];
	a->program = count == 2 ? rest[pid_first] : NULL;
	if (a->program && strcmp(a->program, "-") == 0)
		a->program = NULL;
	/* two processes */
	return !a->program || a->program[strspn(a->program, "0123456789")];
}

/* Of a program that is named, too: is it that? */
static int
check_runs(const char *word, const char *program)
{
	const pid_t pid = target_find(word);
	struct stat theirs, named;
	char path[64], runs[4096];
	ssize_t n;

	if (pid < 0)
		return -1;
	(void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (foreign_stat(AT_FDCWD, path, &theirs, 0) < 0)
		return 0;		/* attaching says why */
	if (stat(program, &named) < 0)
		return fail_errno("attach: program %s", program);
	if (theirs.st_dev == named.st_dev && theirs.st_ino == named.st_ino)
		return 0;
	n = readlink(path, runs, sizeof runs - 1);
	runs[n > 0 ? n : 0] = '\0';
	fail(FAIL_UNSUITABLE, "process %d runs %s, and not %s", (int)pid, runs,
	     program);
	return fail_remedy("attach %d", (int)pid);
}

/* Under the prompt already, beside others. */
static bool
is_ours(const struct shell *sh, const char *word)
{
	const pid_t pid = processes_others(sh) ? target_find(word) : -1;

	return pid > 0 && process_is_ours(sh, pid);
}

enum result
cmd_attach(struct shell *sh, size_t n, char **words)
{
	struct attaching a = {0};

	if (!take_attach(n, words, &a))
		return USAGE;
	const bool had = is_ours(sh, a.pid);

	if (a.program && check_runs(a.pid, a.program) < 0)
		return FAILED;
	if (target_attach(sh, a.pid, a.hold) < 0)
		return FAILED;
	if (!had)
		(void)handlers_hear(sh, EVENT_ATTACH);
	return DONE;
}

/* -nosig: 0; -sig SIGNAL: that, -1 it is none. false: neither. */
static bool
take_signal(size_t n, char **words, int *signal)
{
	*signal = 0;
	if (n == 1 || (n == 2 && strcmp(words[1], "-nosig") == 0))
		return true;
	if (n != 3 || strcmp(words[1], "-sig") != 0)
		return false;
	*signal = signal_number(words[2]);
	if (*signal < 0) {
		fail(FAIL_USAGE, "cont: '%s' is no signal", words[2]);
		fail_remedy("kill -l lists them");
	}
	return true;
}

static int
need_standing(const struct shell *sh)
{
	if (target_alive(sh) &&
	    session_state(sh->session) == SESSION_STOPPED)
		return 0;
	fail(FAIL_USAGE, "cont: the process does not stand before a signal");
	return fail_remedy("stop sig SIGNAL, then cont; kill SIGNAL sends one");
}

static enum result
cont_started(struct shell *sh, bool alone, pid_t signalled, int signal)
{
	enum result r = FAILED;

	if ((!alone || alone_begin(sh, thread_now(sh)) == 0) &&
	    session_cont_with(sh->session, signalled, signal) == 0)
		r = run_wait_started(sh);
	if (alone)
		alone_end(sh);
	return r;
}

/* Of two that stand at a fork. */
static enum result
cont_follow(struct shell *sh, const char *whom)
{
	static const struct {
		const char *name;
		enum session_follow_mode mode;
	} modes[] = {
		{ "parent", FOLLOW_PARENT }, { "child", FOLLOW_CHILD },
		{ "both", FOLLOW_BOTH },
	};
	size_t i = 0;

	while (i < ARRAY_LEN(modes) && strcmp(whom, modes[i].name) != 0)
		i++;
	if (i == ARRAY_LEN(modes))
		return USAGE;
	if (!target_alive(sh) ||
	    session_state(sh->session) != SESSION_STOPPED) {
		fail(FAIL_USAGE, "cont -follow: no process stands at a fork");
		fail_remedy("dbxenv follow_fork_mode ask");
		return FAILED;
	}
	if (session_follow(sh->session, modes[i].mode) < 0)
		return FAILED;
	return modes[i].mode != FOLLOW_PARENT ? run_wait_started(sh) :
		cont_started(sh, false, 0, 0);
}

/* cont at [FILE:]LINE [TID]: from that line of its function on. */
static enum result
cont_at(struct shell *sh, size_t n, char **words)
{
	if (n > 4)
		return USAGE;
	if (!target_alive(sh) ||
	    session_state(sh->session) != SESSION_STOPPED) {
		fail(FAIL_USAGE, "cont at: the process does not stand");
		fail_remedy("stop");
		return FAILED;
	}
	if ((n == 4 && thread_choose(sh, words[3]) < 0) ||
	    place_jump(sh, words[2]) < 0)
		return FAILED;
	return cont_started(sh, false, 0, 0);
}

static enum result
cmd_cont(struct shell *sh, size_t n, char **words)
{
	int signal = 0;

	if (n == 3 && strcmp(words[1], "-follow") == 0)
		return cont_follow(sh, words[2]);
	if (n > 2 && strcmp(words[1], "at") == 0)
		return cont_at(sh, n, words);
	if (n > 1 && words[n - 1][0] && words[n - 1][1] == '@') {
		if (thread_choose(sh, words[n - 1]) < 0)
			return FAILED;
		words[--n] = NULL;
	}

	const bool alone = n == 2 && strcmp(words[1], "-resumeone") == 0;
	const bool signalled = n > 1 && !alone;

	if (!alone && !take_signal(n, words, &signal))
		return USAGE;
	if (signalled && (signal < 0 || need_standing(sh) < 0))
		return FAILED;
	if (!target_alive(sh) && sh->autostart && sh->program)
		return cmd_run(sh, 1, words);
	if (!target_alive(sh)) {
		(void)fail_no_process(sh, "cont");
		return FAILED;
	}

	const bool started =
		session_state(sh->session) == SESSION_STOPPED;

	/* what ran before runs on */
	if (started)
		return cont_started(sh, alone, signalled ? thread_now(sh) : 0,
				    signal);

	/* else it may stand for one of these, for a moment */
	char *halted = wants_any(sh) ? NULL :
		session_why_halted(session_pid(sh->session));

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
	int signal = 0;
	char *receipt;

	if (n == 2 && strcmp(words[1], "-stop") == 0)
		how = LEAVE_STOPPED;
	else if (n == 2 && strcmp(words[1], "-keep") == 0)
		how = LEAVE_RECORDING;
	else if (n == 3 && strcmp(words[1], "-sig") == 0)
		signal = signal_number(words[2]);
	else if (n != 1)
		return USAGE;
	if (signal < 0) {
		fail(FAIL_USAGE, "detach: '%s' is no signal", words[2]);
		fail_remedy("kill -l lists them");
		return FAILED;
	}

	if (sh->pty) {
		fail(FAIL_USAGE, "its terminal is of ours, and would go with "
		     "us: SIGHUP would end it");
		fail_remedy("quit, or before run: dbxenv run_io stdio");
		return FAILED;
	}

	const pid_t pid = session_pid(sh->session);

	if (!sh->in_body)
		deeds_settle(sh);
	if (!sh->session)
		return DONE;
	/* bodies of `when detach` still have the process */
	if (!sh->in_body && handlers_hear(sh, EVENT_DETACH) && !sh->session)
		return DONE;

	const bool recorded = target_is_recorded(sh);

	if (how == LEAVE_RECORDING && !recorded) {
		fail(FAIL_USAGE, "detach -keep: no experiment is being "
		     "recorded");
		fail_remedy("collector enable starts one; detach alone lets "
			    "go");
		return FAILED;
	}
	if (signal && ((session_state(sh->session) != SESSION_STOPPED &&
			session_stop(sh->session) < 0) ||
		       session_deliver(sh->session, thread_now(sh), signal) < 0))
		return FAILED;
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
	(void)handlers_hear(sh, EVENT_GONE);
	processes_settle(sh);
	sh->wait_over = true;
	return DONE;
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

	if (n > 2) {
		fail(FAIL_USAGE, "kill: only of the process that is debugged");
		fail_remedy("kill SIGNAL; sh kill of any other");
		return FAILED;
	}
	if (!target_alive(sh)) {
		(void)fail_no_process(sh, "kill");
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
	if (!sh->home)		/* else that comes when its news are served */
		processes_settle(sh);
	return DONE;
}

const struct command target_commands[] = {
	{ "attach", "[-stop] [-r] PID|NAME | PROGRAM|- PID | -p PID PROGRAM",
	  "attach to a running process; it runs on (-stop: stop it)", 0,
	  cmd_attach, "attach 4711" },
	{ "cont", "[-resumeone | -sig SIGNAL | -nosig | at LINE |\n"
	  "       -follow parent|child|both] [t@TID]",
	  "resume; wait for an event or the end\n"
	  "  (-resumeone: alone; -sig: with this signal instead of the one that "
	  "is due,\n  -nosig: with none; at: from that line on;\n"
	  "  -follow: of two that stand at a fork, see dbxenv)",
	  LETS_RUN, cmd_cont, "cont" },
	{ "debug", "[PROGRAM [ARGUMENTS] | - [PID]]",
	  "choose the program that run starts", 0, cmd_debug,
	  "debug ./server -v" },
	{ "detach", "[-stop | -keep | -sig SIGNAL]", "let it go (-stop: stopped; "
	  "-keep: recording\n  goes on; -sig: with this signal)",
	  NEEDS_TARGET, cmd_detach, "detach -keep" },
	{ "kill", "[SIGNAL | -l]", "kill the process, or send it a signal "
	  "(-l: list them)", 0, cmd_kill, "kill TERM" },
	{ "process", "[PID]", "make another process under the prompt current;\n  "
	  "alone: which is", 0, cmd_process, "process 4711" },
	{ "processes", "", "list the processes under the prompt (dbxenv\n  "
	  "follow_fork_mode both); without one: of the experiment", 0,
	  cmd_processes, "processes" },
	{ "rerun", "[ARGUMENTS] [< FILE] [> FILE]", "start the program anew, "
	  "with these arguments only", REDIRECTS_ITSELF | LETS_RUN, cmd_rerun,
	  "rerun -n 5" },
	{ "run", "[ARGUMENTS] [< FILE] [> FILE]", "start the program and "
	  "wait; without words: as the last time",
	  REDIRECTS_ITSELF | LETS_RUN, cmd_run, "run -n 5 > out.txt" },
	{ "runargs", "[ARGUMENTS] [< FILE] [> FILE]",
	  "set the program's arguments", REDIRECTS_ITSELF, cmd_runargs,
	  "runargs -n 5 < in.txt" },
	{ 0 }
};
