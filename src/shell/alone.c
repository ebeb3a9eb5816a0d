/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that stand while others run: by thread -suspend until thread -resume,
 * and by -resumeone all but one, for one command.
 */
#include "private.h"

#include <stdlib.h>

int
alone_begin(struct shell *sh, pid_t tid)
{
	struct session_thread *th = NULL;
	const ssize_t n = session_threads(sh->session, &th);
	int r = n < 0 ? -1 : 0;

	for (ssize_t i = 0; r == 0 && i < n; i++) {
		bool before;

		/* one that has ended, or waits in the kernel, runs nothing */
		if (th[i].tid == tid ||
		    session_suspend(sh->session, th[i].tid, true,
				    &before) < 0 || before)
			continue;

		pid_t *kept = xmalloc(sizeof *kept);

		*kept = th[i].tid;
		vec_push(&sh->suspended, kept);
	}
	free(th);
	fail_clear();
	return r;
}

void
alone_end(struct shell *sh)
{
	bool before;

	if (target_alive(sh) && sh->suspended.len &&
	    session_state(sh->session) == SESSION_STOPPED)
		for (size_t i = 0; i < sh->suspended.len; i++)
			(void)session_suspend(sh->session,
				*(pid_t *)sh->suspended.items[i], false,
				&before);
	for (size_t i = 0; i < sh->suspended.len; i++)
		free(sh->suspended.items[i]);
	sh->suspended.len = 0;
}

enum result
alone_suspend(struct shell *sh, pid_t tid, bool suspend)
{
	bool before;

	if (session_state(sh->session) != SESSION_STOPPED) {
		fail(FAIL_USAGE, "process %d runs", session_pid(sh->session));
		fail_remedy("stop");
		return FAILED;
	}
	if (session_suspend(sh->session, tid, suspend, &before) < 0)
		return FAILED;
	shell_note(sh, suspend ? "thread %d stands when the others run" :
		   "thread %d runs with the others", (int)tid);
	return DONE;
}
