/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target of the shell: found by pid or name, attached, let go.
 */
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
target_alive(const struct shell *sh)
{
	return sh->session && session_state(sh->session) != SESSION_ENDED;
}

bool
target_is_recorded(const struct shell *sh)
{
	return sh->session &&
	       session_experiment_state(sh->session) != NOT_COLLECTING;
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

/* The current one; the file of its terminal stays open. */
static enum result
end_session(struct shell *sh)
{
	char *receipt = NULL;
	enum result r = DONE;

	debuggee_free(sh);

	const bool recorded = target_is_recorded(sh);

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

enum result
target_end_session(struct shell *sh)
{
	enum result r = DONE;

	post_mortem_end(sh);
	while (sh->session) {
		const enum result one = end_session(sh);

		if (one != DONE)
			r = one;
		(void)processes_next(sh);
	}
	pty_close(sh);
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

/* It is under the prompt. */
static int
choose(struct shell *sh, pid_t pid, bool hold)
{
	if (process_choose(sh, pid) < 0 ||
	    (hold && session_stop(sh->session) < 0))
		return -1;
	shell_note(sh, "process %d (%s) is current; it is %s", (int)pid,
		   session_name(sh->session), process_state(sh->session));
	return 0;
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
	if (target_alive(sh) && processes_others(sh) &&
	    process_is_ours(sh, pid))
		return choose(sh, pid, hold);
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
	timers_reset(sh);
	return handlers_place(sh);
}
