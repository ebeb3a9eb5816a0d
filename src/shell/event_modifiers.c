/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What -thread and -in name is there, and can be meant, or it is said: a
 * handler that can never count waits in silence.
 */
#include "event_place.h"
#include "event_words.h"

#include <stdlib.h>

struct seek {
	long long tid;
	bool found;
};

static void
seek_thread(struct shell *sh, void *arg)
{
	struct seek *s = arg;
	struct session_thread *th = NULL;
	const ssize_t n = session_threads(sh->session, &th);

	for (ssize_t i = 0; i < n; i++)
		s->found |= th[i].tid == s->tid;
	free(th);
}

static int
check_thread(struct shell *sh, const char *command, long long tid)
{
	struct seek s = { .tid = tid };

	if (!target_alive(sh)) {
		fail(FAIL_USAGE, "%s: -thread %lld: there is no process yet "
		     "whose thread that could be", command, tid);
		return fail_remedy("set it when the process is there; threads "
				   "lists them then");
	}
	seek_thread(sh, &s);
	processes_each(sh, seek_thread, &s);
	if (s.found)
		return 0;
	fail(FAIL_MISSING, "%s: process %d has no thread %lld", command,
	     (int)session_pid(sh->session), tid);
	return fail_remedy("threads lists them");
}

static bool
is_of_no_thread(enum event_kind kind)
{
	return kind == EVENT_TIMER || kind == EVENT_LEVEL ||
		kind == EVENT_STOPS || kind == EVENT_EXIT ||
		kind == EVENT_GONE || kind == EVENT_ATTACH ||
		kind == EVENT_DETACH || kind == EVENT_PROG_NEW ||
		kind == EVENT_SYNC || kind == EVENT_SYNCRTLD;
}

int
event_check_modifiers(struct shell *sh, const char *command,
		      enum event_kind kind, const struct event *e)
{
	if ((e->thread || e->within) && is_of_no_thread(kind)) {
		fail(FAIL_USAGE, "%s %s: %s: no thread does that", command,
		     e->name, e->thread ? "-thread" : "-in");
		return fail_remedy("leave it out");
	}
	return e->thread ? check_thread(sh, command, e->thread) : 0;
}

void
event_note_within(struct shell *sh, const struct handler *h)
{
	struct debug_code code;
	struct debug *d;

	if (!h->within || h->disabled || !target_alive(sh) || sh->at_exec)
		return;
	d = debuggee_now(sh);
	if (!d || debug_function(d, h->within, &code) < 0)
		shell_note(sh, "(%d) -in %s: process %d has no such function, "
			   "so this waits until one is loaded", h->number,
			   h->within, (int)session_pid(sh->session));
	fail_clear();
}
