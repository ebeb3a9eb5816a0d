/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Another program in the process: it has executed one, ours comes to where it is
 * loaded, a child is followed. Handlers are placed there again.
 */
#include "private.h"

#include <stdlib.h>

/* What cannot be placed in the new program is told; it runs nonetheless. */
static bool
place_again(struct shell *sh)
{
	handlers_drop_breakpoints(sh);
	if (handlers_place(sh) < 0)
		shell_print_failure(sh);
	return wait_run_again(sh, session_pid(sh->session));
}

/* Bodies may put another process in its place. true: the wait is over. */
static bool
hear_of(struct shell *sh, enum event_kind kind, pid_t pid)
{
	return handlers_hear(sh, kind) || !sh->session ||
		session_pid(sh->session) != pid;
}

/* The calls that the one before was in. true: the wait is over. */
static bool
end_calls(struct shell *sh, pid_t pid)
{
	return longer_ended(sh, 0) || !sh->session ||
		session_pid(sh->session) != pid;
}

bool
program_new(struct shell *sh)
{
	const pid_t pid = session_pid(sh->session);
	const bool over = end_calls(sh, pid);

	if (over && !target_alive(sh))
		return true;
	handlers_drop_breakpoints(sh);
	if (handlers_place(sh) < 0)
		shell_print_failure(sh);
	sh->booting = true;
	return hear_of(sh, EVENT_PROG_NEW, pid) ||
		hear_of(sh, EVENT_SYNCRTLD, pid) || over ||
		wait_run_again(sh, pid);
}

/* It has executed another program, of which nothing has run. */
bool
program_exec(struct shell *sh)
{
	const pid_t pid = session_pid(sh->session);
	const bool over = end_calls(sh, pid);

	if (over && !target_alive(sh))
		return true;
	handlers_drop_breakpoints(sh);
	sh->at_exec = sh->booting = sh->prog_new = true;
	if (wants_review(sh) < 0)
		shell_print_failure(sh);
	return hear_of(sh, EVENT_SYNC, pid) || over || wait_run_again(sh, pid);
}

/* From there it has come to where all is loaded. */
bool
program_started(struct shell *sh)
{
	const pid_t pid = session_pid(sh->session);
	const bool is_new = sh->prog_new;

	sh->at_exec = sh->prog_new = false;
	sh->booting = true;
	handlers_drop_breakpoints(sh);
	if (handlers_place(sh) < 0 ||
	    (!is_new && sh->armed && collecting_start(sh) < 0)) {
		shell_print_failure(sh);
		if (!is_new) {		/* as in `run`: it does not run */
			sh->body_failed = true;
			sh->exit_status =
				status_of_failure(fail_last()->kind);
			(void)target_end_session(sh);
			return true;
		}
	}
	return (is_new && hear_of(sh, EVENT_PROG_NEW, pid)) ||
		hear_of(sh, EVENT_SYNCRTLD, pid) || wait_run_again(sh, pid);
}

/* While it has its parent's memory nothing is put there. */
bool
program_followed(struct shell *sh, const struct session_event *ev)
{
	sh->thread = 0;
	if (!ev->signal)
		return place_again(sh);
	handlers_drop_breakpoints(sh);
	if (wants_review(sh) < 0)
		shell_print_failure(sh);
	return wait_run_again(sh, session_pid(sh->session));
}

/* The parent goes on, and is not current any more; of one that is not, its
 * child is neither, and runs. */
bool
program_both(struct shell *sh, const struct session_event *ev)
{
	const pid_t parent = session_pid(sh->session);

	(void)until_end(sh);
	alone_end(sh);
	(void)wait_run_again(sh, parent);
	if (!ev->other)		/* told by the next event: the tracer is gone */
		return false;
	process_add(sh, ev->other);
	return program_followed(sh, ev);
}
