/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes: debug, run, attach, detach, cont, kill, where, threads, ...
 */
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
alive(const struct shell *sh)
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

	if (alive(sh))
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
	if (alive(sh)) {
		fail(FAIL_USAGE, "process %d is the target already",
		     session_pid(sh->session));
		return fail_remedy("detach first");
	}
	(void)target_end_session(sh);	/* what it had is over */
	sh->session = session_attach(pid, hold);
	if (!sh->session)
		return -1;
	shell_note(sh, "Attached to process %d (%s); it is %s", pid,
		   session_name(sh->session), hold ? "stopped" : "running");
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

static bool
may_execute(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

static bool
is_in_path(const char *name)
{
	const char *env = getenv("PATH");
	char *path = xstrdup(env ? env : "/bin:/usr/bin"), *save = NULL;
	bool found = false;

	for (char *dir = strtok_r(path, ":", &save); dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		char *file = xasprintf("%s/%s", dir, name);

		found = may_execute(file);
		free(file);
	}
	free(path);
	return found;
}

int
target_check_program(const char *name)
{
	struct stat st;

	if (!strchr(name, '/')) {
		if (is_in_path(name))
			return 0;
		fail(FAIL_MISSING, "program '%s' is not in PATH", name);
		return stat(name, &st) == 0 ? fail_remedy("./%s", name) : -1;
	}
	if (may_execute(name))
		return 0;
	if (stat(name, &st) < 0)
		return fail_errno("program %s", name);
	return fail(FAIL_DENIED, "%s is not a program that can be run", name);
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

static int
launch_program(struct shell *sh)
{
	const struct session_launch launch = {
		.argv = sh->program, .in = sh->in, .out = sh->out_file,
		.append = sh->append,
		.preload = sh->armed && session_wants_preload(&sh->settings),
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

/* A program that could not be prepared as asked does not run at all. */
static enum result
start_program(struct shell *sh)
{
	if (target_end_session(sh) == FAILED)
		return FAILED;
	if (launch_program(sh) == 0 && session_cont(sh->session) == 0) {
		wait_signal = 0;
		return wait_for_target(sh, 0, true);
	}
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
	if (started && session_cont(sh->session) < 0)
		return FAILED;
	wait_signal = 0;

	const enum result r = wait_for_target(sh, 0, true);

	/* Ctrl-C: what cont started it stops; what ran before runs on */
	if (wait_signal && started && alive(sh)) {
		if (session_stop(sh->session) < 0)
			return FAILED;
		shell_note(sh, "Interrupted; process %d is stopped",
			   session_pid(sh->session));
	}
	return r;
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
	shell_note(sh, "Detached from process %d; it is %s", pid,
		   how == LEAVE_STOPPED ? "stopped" : "running");
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
cmd_kill(struct shell *sh, size_t n, char **words)
{
	const int sig = n == 1 ? SIGKILL : signal_number(words[1]);

	if (n > 2)
		return USAGE;
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

/* A thread by its tid; 0 for none given. */
static bool
thread_word(size_t n, char **words, size_t at, long long *tid)
{
	*tid = 0;
	if (n <= at)
		return true;

	const char *word = words[at];

	if (str_starts(word, "t@") || str_starts(word, "l@"))
		word += 2;
	return str_number(word, 1, 1 << 30, tid);
}

static enum result
cmd_where(struct shell *sh, size_t n, char **words)
{
	const bool all = n == 2 && strcmp(words[1], "-all") == 0;
	struct session_stacks st;
	long long tid = sh->thread ? sh->thread : session_pid(sh->session);

	if (n > 2 || (!all && n == 2 && !thread_word(n, words, 1, &tid)))
		return USAGE;
	if (session_where(sh->session, all ? 0 : (pid_t)tid, &st) < 0)
		return FAILED;

	struct live *l = live_new(sh->session);

	live_print_stacks(l, &st, sh->out);
	fprintf(sh->out, "(%s)\n", st.how);
	live_free(l);
	session_stacks_fini(&st);
	return DONE;
}

static enum result
cmd_threads(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;

	(void)words;
	if (n != 1)
		return USAGE;
	if (!alive(sh))		/* then it is the table of the experiment */
		return view_run(sh, n, words);

	const ssize_t count = session_threads(sh->session, &th);

	if (count < 0)
		return FAILED;
	fprintf(sh->out, "%8s  %-5s  %12s  %s\n", "TID", "STATE", "CPU s",
		"NAME");
	for (ssize_t i = 0; i < count; i++)
		fprintf(sh->out, "%8d  %-5c  %12.3f  %s\n", th[i].tid,
			th[i].state, (double)th[i].cpu_ns / 1e9, th[i].name);
	free(th);
	return DONE;
}

static enum result
cmd_thread(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;
	long long tid;

	if (n > 2 || !thread_word(n, words, 1, &tid))
		return USAGE;
	if (!tid)
		tid = sh->thread ? sh->thread : session_pid(sh->session);

	const ssize_t count = session_threads(sh->session, &th);
	bool found = false;

	for (ssize_t i = 0; i < count; i++) {
		if (th[i].tid != tid)
			continue;
		fprintf(sh->out, "thread %d (%s), state %c, %.3f s CPU\n",
			th[i].tid, th[i].name, th[i].state,
			(double)th[i].cpu_ns / 1e9);
		found = true;
	}
	free(th);
	if (count >= 0 && !found)
		fail(FAIL_MISSING, "process %d has no thread %lld",
		     session_pid(sh->session), tid);
	return found ? DONE : FAILED;
}

static enum result
cmd_loadobject(struct shell *sh, size_t n, char **words)
{
	struct modules mods = {0};
	const char *last = "";

	if (n > 2 || (n == 2 && strcmp(words[1], "-list") != 0))
		return USAGE;

	char *text = session_maps(sh->session);

	if (!text || modules_parse(&mods, text) < 0) {
		free(text);
		return FAILED;
	}
	for (size_t i = 0; i < mods.len; i++) {
		const struct module *m = &mods.items[i];

		if (!*m->path || strcmp(last, m->path) == 0 ||
		    !(m->prot & MODULE_EXEC))
			continue;
		last = m->path;
		fprintf(sh->out, "0x%012llx  %s%s\n",
			(unsigned long long)m->start, m->path,
			m->deleted ? " (deleted)" : "");
	}
	modules_fini(&mods);
	free(text);
	return DONE;
}

static const char *
state_word(const struct shell *sh)
{
	switch (session_state(sh->session)) {
	case SESSION_RUNNING:
		return "running";
	case SESSION_STOPPED:
		return "stopped";
	case SESSION_ENDED:
		break;
	}
	return "ended";
}

static enum result
cmd_proc(struct shell *sh, size_t n, char **words)
{
	const char *what = n == 2 ? words[1] : "";
	char *text;

	if (n > 2)
		return USAGE;
	if (strcmp(what, "-map") == 0) {
		if (!(text = session_maps(sh->session)))
			return FAILED;
		fputs(text, sh->out);
		free(text);
		return DONE;
	}
	if (*what && strcmp(what, "-pid") != 0)
		return USAGE;
	if (*what)
		fprintf(sh->out, "%d\n", session_pid(sh->session));
	else
		fprintf(sh->out, "process %d (%s) is %s\n",
			session_pid(sh->session), session_name(sh->session),
			state_word(sh));
	return DONE;
}

/* ---- call f(args) -------------------------------------------------------------------- */

enum { CALL_ARGS = 6 };

/* "f(1, 0x2)" in one or more words -> name and numbers. */
static int
parse_call(char *text, char **name, uint64_t *args, size_t *nargs)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');

	if (!open || !close || close < open || close[1] || open == text) {
		fail(FAIL_USAGE, "'%s' is not of the form f(1, 2)", text);
		return -1;
	}

	char *arguments = open + 1;

	*open = *close = '\0';
	while (open > text && open[-1] == ' ')
		*--open = '\0';
	*name = text;
	*nargs = 0;
	for (char *word = strtok(arguments, ","); word;
	     word = strtok(NULL, ",")) {
		char *end;

		errno = 0;
		const unsigned long long value = strtoull(word, &end, 0);

		while (*end == ' ')
			end++;
		if (errno || *end || end == word || *nargs == CALL_ARGS) {
			fail(FAIL_USAGE, "argument '%s' of %s", word, text);
			return fail_remedy("up to %d whole numbers", CALL_ARGS);
		}
		args[(*nargs)++] = value;
	}
	return 0;
}

static enum result
cmd_call(struct shell *sh, size_t n, char **words)
{
	uint64_t args[CALL_ARGS], result, addr;
	size_t nargs;
	char *name;

	if (n < 2)
		return USAGE;

	char *text = words_joined(n - 1, words + 1);
	enum result r = FAILED;

	if (parse_call(text, &name, args, &nargs) == 0) {
		struct live *l = live_new(sh->session);

		addr = live_address(l, name);
		live_free(l);
		if (addr && session_call(sh->session, addr, args, nargs,
					 &result) == 0) {
			fprintf(sh->out, "%s() = %lld (0x%llx)\n", name,
				(long long)result,
				(unsigned long long)result);
			r = DONE;
		}
	}
	free(text);
	return r;
}

const struct command target_commands[] = {
	{ "attach", "[-stop] PID|NAME", "attach to a running process; it runs "
	  "on (-stop: stop it)", 0, cmd_attach, "attach 4711" },
	{ "call", "F(ARGUMENTS)", "call a function in the process, on a "
	  "thread of its own", NEEDS_TARGET, cmd_call, "call getpid()" },
	{ "cont", "", "resume if stopped, and wait for the next stop, event "
	  "or the end", NEEDS_TARGET, cmd_cont, NULL },
	{ "debug", "[PROGRAM [ARGUMENTS] | - [PID]]",
	  "choose the program that run starts", 0, cmd_debug,
	  "debug ./server -v" },
	{ "detach", "[-stop | -keep]", "let the process go (-stop: stopped; "
	  "-keep: recording goes on)", NEEDS_TARGET, cmd_detach, NULL },
	{ "kill", "[SIGNAL]", "kill the process, or send it a signal",
	  NEEDS_TARGET, cmd_kill, "kill TERM" },
	{ "loadobject", "[-list]", "list what is loaded", NEEDS_TARGET,
	  cmd_loadobject, NULL },
	{ "proc", "[-map | -pid]", "tell about the process", NEEDS_TARGET,
	  cmd_proc, NULL },
	{ "rerun", "[ARGUMENTS] [< FILE] [> FILE]", "start the program anew, "
	  "with these arguments only", REDIRECTS_ITSELF, cmd_rerun, NULL },
	{ "run", "[ARGUMENTS] [< FILE] [> FILE]", "start the program and "
	  "wait; without words: as the last time", REDIRECTS_ITSELF, cmd_run,
	  "run -n 5 > out.txt" },
	{ "runargs", "[ARGUMENTS] [< FILE] [> FILE]",
	  "set the program's arguments", REDIRECTS_ITSELF, cmd_runargs,
	  "runargs -n 5 < in.txt" },
	{ "thread", "[TID]", "tell about a thread", NEEDS_TARGET, cmd_thread,
	  NULL },
	{ "threads", "", "list the threads; without a process: of the "
	  "experiment", 0, cmd_threads, NULL },
	{ "where", "[TID | -all]", "print stacks", NEEDS_TARGET, cmd_where,
	  "where -all" },
	{ 0 }
};
