/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of the program that are called while it runs, on a thread of their
 * own. What befalls the function ends that thread alone, and is told here.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- where it was -------------------------------------------------------- */

/* In libc it is mostly who called that who tells more. */
static void
print_where(struct frames *f, const struct session_called_at *at, FILE *out)
{
	uint64_t pcs[SESSION_CALLED_AT];
	const struct frame *first, *own;

	for (size_t i = 0; i < at->len; i++)
		pcs[i] = at->frames[i] - (i > 0);
	first = &frames_at(f, pcs[0])->items[0];
	own = frames_own(f, pcs, at->len);
	fputs(" in ", out);
	frame_print(first, out);
	if (!own || own == first)
		return;
	fputs(", called from ", out);
	frame_print(own, out);
}

char *
called_where(struct shell *sh, const struct session_called_at *at)
{
	struct frames *f = at->len ? frames_new(live_of(sh)) : NULL;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("memory for a text");
	if (f)
		print_where(f, at, out);
	frames_free(f);
	(void)fclose(out);
	return text;
}

/* The innermost that changes what all threads share, as malloc does. */
static char *
shared_by(struct shell *sh, const struct session_called_at *at)
{
	struct frames *f = at->len ? frames_new(live_of(sh)) : NULL;
	char *name = NULL;

	for (size_t i = 0; i < at->len && !name; i++) {
		const struct frame_list *list =
			frames_at(f, at->frames[i] - (i > 0));
		const struct frame *own = &list->items[list->len - 1];

		if (own->function && called_changes_shared(own->function))
			name = xstrdup(own->function);
	}
	frames_free(f);
	return name;
}

int
called_remedy(struct shell *sh, const struct session_called_at *at,
	      const char *first)
{
	char *name = shared_by(sh, at);

	if (name)
		fail_remedy("%sit was within %s, whose locks may be held for "
			    "ever now: other threads that need them hang",
			    first, name);
	else
		fail_remedy("%swhat the function changed or locked before "
			    "stays so", first);
	free(name);
	return -1;
}

/* ---- what befell it ------------------------------------------------------ */

static int
judge(struct shell *sh, const struct session_met *met)
{
	char *where = called_where(sh, &met->where);

	switch (met->why) {
	case SESSION_BESIDE_FAULTED:
		fail(FAIL_GENERAL, "the function that was called got SIG%s (%s)"
		     "%s; its thread was ended, the process goes on",
		     sigabbrev_np(met->signal), sigdescr_np(met->signal),
		     where);
		called_remedy(sh, &met->where,
			      "the signal was not delivered; ");
		break;
	case SESSION_BESIDE_JUMPED:
		fail(FAIL_GENERAL, "the function that was called would have "
		     "left its stack by longjmp%s; its thread was ended, the "
		     "process goes on", where);
		called_remedy(sh, &met->where, "");
		break;
	case SESSION_BESIDE_THREAD_ENDED:
		fail(FAIL_GENERAL, "the function that was called has ended its "
		     "thread (pthread_exit); the process goes on");
		break;
	case SESSION_BESIDE_RETURNED:
		break;
	}
	free(where);
	return -1;
}

/* It has returned, but what libc does behind it has not (destructors of
 * thread_local objects, of keys). */
void
called_tell_end(struct shell *sh, int signal,
		const struct session_called_at *at)
{
	char *where;

	if (!signal)
		return;
	where = called_where(sh, at);
	shell_note(sh, "what its thread had to do at its end got SIG%s (%s)%s: "
		   "it was left out", sigabbrev_np(signal),
		   sigdescr_np(signal), where);
	free(where);
}

int
beside_call(struct shell *sh, uint64_t function, const uint64_t *args,
	    size_t nargs, uint64_t *result)
{
	const struct session_beside c = {
		.function = function, .args = args, .nargs = nargs,
	};
	struct session_met met;

	if (session_call(sh->session, &c, result, &met) == 0) {
		called_tell_end(sh, met.signal, &met.where);
		return 0;
	}
	return met.why && fail_last()->kind != FAIL_ENDED ? judge(sh, &met) :
		-1;
}
