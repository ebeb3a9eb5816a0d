/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program's first steps: it stands at its exec, before any instruction, for
 * whoever asked to see that; then the loader has mapped all, and constructors
 * are to run. In between only single steps are for the user: breakpoints and
 * calls need a loader that has done its work.
 */
#include "inject.h"
#include "private.h"

#include <signal.h>
#include <stdlib.h>

void
tracer_note_preloaded(struct tracer *tr, const char *preloaded, int fd)
{
	free(tr->preloaded);
	tr->preloaded = preloaded ? xstrdup(preloaded) : NULL;
	tr->preloaded_fd = fd;
}

int
tracer_give_back(struct tracer *tr)
{
	const int r = !tr->preloaded ? 0 : preload_give_back(tr->target,
		tr->preloaded, tr->preloaded_fd);

	tracer_note_preloaded(tr, NULL, -1);
	/* it would run with what is ours: it must not run at all */
	if (r < 0)
		(void)target_signal(tr->target, SIGKILL);
	return r;
}

int
tracer_run_to_start(struct tracer *tr)
{
	const unsigned habit = inject_trap_habit(tr->target);

	return target_run_to_start(tr->target) < 0 ? -1 :
		inject_trap_restore(tr->target, habit);
}

int
tracer_start(struct tracer *tr)
{
	const struct session_event out = {
		.kind = SESSION_EVENT_STARTED, .tid = target_pid(tr->target),
	};
	int r;

	tr->at_exec = false;
	/* nobody could be told of signals on the way */
	target_catch(tr->target, 0);
	r = tracer_run_to_start(tr);
	target_catch(tr->target, tr->caught);
	if (r < 0 || tracer_give_back(tr) < 0) {
		if (!target_gone(tr->target))
			(void)tracer_release(tr);
		return -1;
	}
	tr->at_start = true;
	tracer_send_event(tr, &out);
	return 0;
}

int
tracer_need_started(struct tracer *tr)
{
	if (!tr->at_exec)
		return 0;
	fail(FAIL_USAGE, "process %d stands at its exec: nothing of it, and "
	     "nothing of its loader, has run", (int)target_pid(tr->target));
	return fail_remedy("stop syncrtld, then cont: there its objects are "
			   "loaded");
}
