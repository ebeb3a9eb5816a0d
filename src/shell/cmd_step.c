/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step, next, stepi, nexti, pop: how far, of which thread; and where that has
 * come to, which is printed.
 */
#include "events.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

static enum result
walk(struct shell *sh, long long times, bool over, int (*go)(struct walk *))
{
	struct walk w = { .sh = sh, .tid = thread_now(sh), .over = over };

	if (place_now(sh, w.tid, &w.now) < 0)
		return FAILED;
	sh->place_told = false;
	for (long long i = 0; i < times && !w.ended; i++) {
		w.from = w.now;
		if (go(&w) < 0)
			return FAILED;
		w.ended |= wait_was_interrupted();
	}
	if (w.tid && !sh->place_told && sh->session &&
	    session_state(sh->session) == SESSION_STOPPED) {
		sh->thread = w.tid;
		if (place_now(sh, w.tid, &w.now) == 0)
			place_print(sh, &w.now);
	}
	return wait_end_by_signal(sh) ? QUIT : DONE;
}

static bool
count_of(size_t n, char **words, long long *times)
{
	*times = 1;
	return n == 1 || (n == 2 && str_number(words[1], 1, 1000000, times));
}

static enum result
no_signal_step(void)
{
	fail(FAIL_USAGE, "-sig: signals wait until the thread goes on");
	fail_remedy("stop in the handler, then cont -sig SIGNAL");
	return FAILED;
}

static enum result
walk_times(struct shell *sh, size_t n, char **words, bool over,
	   int (*go)(struct walk *))
{
	bool alone = false;
	long long times;
	enum result r;

	for (; n > 1; n--, words++) {
		if (strcmp(words[1], "-sig") == 0)
			return no_signal_step();
		if (strcmp(words[1], "-resumeone") == 0)
			alone = true;
		else if (words[1][0] && words[1][1] == '@') {
			if (thread_choose(sh, words[1]) < 0)
				return FAILED;
		} else
			break;
	}
	if (!count_of(n, words, &times))
		return USAGE;
	if (alone && alone_begin(sh, thread_now(sh)) < 0)
		return FAILED;
	r = walk(sh, times, over, go);
	if (alone)
		alone_end(sh);
	return r;
}

/* Over the line, or to that function, which it calls. */
static enum result
step_to(struct shell *sh, const char *function)
{
	const pid_t tid = thread_now(sh);
	struct handler *h = handler_add(sh, EVENT_PLACE, DOES_STOP);
	const int number = h->number;
	enum result r = FAILED;

	h->what = xasprintf("step to %s", function);
	h->place = xstrdup(function);
	h->once = h->hidden = true;
	h->thread = tid;
	if (handler_place(sh, h) == 0 && !h->late)
		r = walk(sh, 1, true, walk_line);
	else if (h->late)
		fail(FAIL_MISSING, "step to: process %d has no function '%s'",
		     (int)session_pid(sh->session), function);
	h = handler_numbered(sh, number);
	if (h)
		handler_remove(sh, h);
	return r;
}

static enum result
cmd_step(struct shell *sh, size_t n, char **words)
{
	if (n == 2 && strcmp(words[1], "up") == 0)
		return walk(sh, 1, true, walk_out);
	if (n == 2 && strcmp(words[1], "to") == 0) {
		fail(FAIL_USAGE, "step to: into which function?");
		fail_remedy("step to FUNCTION");
		return FAILED;
	}
	if (n == 3 && strcmp(words[1], "to") == 0)
		return step_to(sh, words[2]);
	return walk_times(sh, n, words, false, walk_line);
}

static enum result
cmd_next(struct shell *sh, size_t n, char **words)
{
	return walk_times(sh, n, words, true, walk_line);
}

static enum result
cmd_stepi(struct shell *sh, size_t n, char **words)
{
	return walk_times(sh, n, words, false, walk_instruction);
}

static enum result
cmd_nexti(struct shell *sh, size_t n, char **words)
{
	return walk_times(sh, n, words, true, walk_instruction);
}

static enum result
cmd_pop(struct shell *sh, size_t n, char **words)
{
	const bool call = n == 2 && strcmp(words[1], "-c") == 0;
	const bool to = n == 3 && strcmp(words[1], "-f") == 0;
	long long times = 1;
	struct place now;

	if (to && !str_number(words[2], 1, 1000000, &times))
		return USAGE;
	if (!call && !to && !count_of(n, words, &times))
		return USAGE;
	if ((call ? called_give_up(sh) :
	     debuggee_pop(sh, (size_t)times)) < 0 ||
	    place_now(sh, thread_now(sh), &now) < 0)
		return FAILED;
	place_print(sh, &now);
	return DONE;
}

const struct command step_commands[] = {
	{ "next", "[-resumeone] [t@TID] [N]", "go on to the next line, over "
	  "calls (-resumeone: alone)",
	  NEEDS_TARGET | NEEDS_STOPPED | LETS_RUN, cmd_next, "next" },
	{ "nexti", "[-resumeone] [t@TID] [N]", "execute one instruction, a "
	  "call as one",
	  NEEDS_TARGET | NEEDS_STOPPED | LETS_RUN, cmd_nexti, "nexti 3" },
	{ "pop", "[N | -f N | -c]", "leave the function undone (-f: to frame N; "
	  "-c: a call that\n  stands)",
	  NEEDS_TARGET | NEEDS_STOPPED | LETS_RUN, cmd_pop, "pop" },
	{ "step", "[-resumeone] [t@TID] [N] | up | to FUNCTION", "go on to the "
	  "next line, into calls\n  (up: to the caller; to: into that call "
	  "only)",
	  NEEDS_TARGET | NEEDS_STOPPED | LETS_RUN, cmd_step, "step up" },
	{ "stepi", "[t@TID] [N]", "execute one instruction",
	  NEEDS_TARGET | NEEDS_STOPPED | LETS_RUN, cmd_stepi, "stepi" },
	{ 0 }
};
