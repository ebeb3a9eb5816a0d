/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * step, next, stepi, nexti, pop: one thread goes on for a line or an instruction.
 *
 * Within a line it executes instruction by instruction, while all others stand
 * (they see no more of it than of a preempted thread). A call that is stepped
 * over, or leads to where there are no lines, takes long and may wait for
 * others: then all run, to a breakpoint behind the call that only this thread
 * meets, and not in a deeper frame of the same function.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	struct shell *sh;
	pid_t tid;
	bool over;		/* calls */
	bool entered;		/* it has gone into one */
	struct place from, now;
	bool ended;		/* by something else: a stop, the end */
};

static void
look(struct walk *w, const struct session_step *at)
{
	place_at(w->sh, w->tid, at, &w->now);
}

/* All run until this thread comes there, with a stack as short as that. */
static int
run_until(struct walk *w, uint64_t addr, uint64_t least_sp)
{
	struct shell *sh = w->sh;
	struct session_step at;

	if (until_begin(sh, addr, w->tid, least_sp) < 0)
		return -1;
	sh->place_told = false;
	run_forget_interrupt();

	const bool ran = session_cont(sh->session) == 0;
	const enum result r = ran ? run_wait_started(sh) : FAILED;
	const bool reached = until_end(sh);

	if (!ran)
		return -1;
	if (reached && session_at(sh->session, w->tid, &at) == 0) {
		w->ended = sh->place_told;
		look(w, &at);
		return 0;
	}
	w->ended = true;
	return r == FAILED ? -1 : 0;
}

/* What became of a step. */
static int
take(struct walk *w, const struct session_step *at)
{
	switch (at->why) {
	case SESSION_STEPPED:
	case SESSION_STEP_CALLS:
		look(w, at);
		return 0;
	case SESSION_STEP_WAITS:
		/* its call may wait for others */
		return run_until(w, at->pc, at->sp);
	case SESSION_STEP_SIGNALLED:
		shell_note(w->sh, "a signal is due to thread %d; it is "
			   "delivered when it goes on", w->tid);
		w->ended = true;
		look(w, at);
		return 0;
	case SESSION_STEP_INTERRUPTED:
		w->ended = true;
		look(w, at);
		return 0;
	case SESSION_STEP_ENDED:
		w->ended = true;
		shell_note(w->sh, "thread %d has ended", w->tid);
		if (w->tid == w->sh->thread)
			w->sh->thread = 0;
		w->tid = 0;
		return 0;
	}
	return 0;
}

/* What handlers of what it came to, or has changed, have to say. */
static bool
met_handlers(struct walk *w, const struct session_step *at)
{
	struct shell *sh = w->sh;
	bool over = data_stepped(sh, w->tid);

	if (at->breakpoint >= 0 && sh->session && !sh->quitting)
		over = handlers_meet(sh, at->breakpoint, w->tid) || over;
	return over || !sh->session ||
		session_state(sh->session) != SESSION_STOPPED;
}

static int
step_in(struct walk *w, uint64_t start, uint64_t end)
{
	struct session_step at;

	/* for so long at a time: Ctrl-C is looked for in between */
	do {
		if (session_step(w->sh->session, w->tid, start, end, &at) < 0)
			return -1;
	} while (at.why == SESSION_STEP_INTERRUPTED && !wait_signal);
	w->sh->place_told = false;
	if (take(w, &at) < 0)
		return -1;
	w->ended = w->ended || (w->tid && met_handlers(w, &at));
	return 0;
}

static int
over_call(struct walk *w)
{
	return run_until(w, w->now.behind_call, w->now.sp);
}

/* The first line behind the prologue. */
static int
past_prologue(struct walk *w)
{
	const uint64_t to = place_behind_prologue(w->sh, w->now.pc);

	return to == w->now.pc ? 0 : step_in(w, w->now.pc, to);
}

/* A stub of calls between objects leads to a function that has a name. */
static uint64_t
behind_stub(struct walk *w)
{
	char *name = xstrdup(w->now.linkage);
	char *at = strchr(name, '@');
	uint64_t addr;

	if (at)
		*at = '\0';
	addr = live_address(live_of(w->sh), name);
	fail_clear();
	free(name);
	return addr;
}

/* Into it, if there are lines; else over it. */
static int
into_call(struct walk *w)
{
	const struct place call = w->now;

	if (step_in(w, 0, 0) < 0 || w->ended)
		return w->ended ? 0 : -1;
	if (w->now.is_plt) {
		const uint64_t to = behind_stub(w);
		struct live_place p;
		const char *file;
		int line;

		if (to && live_find(live_of(w->sh), to, &p) &&
		    symfile_line(p.sf, p.vaddr, &file, &line) &&
		    run_until(w, to, w->now.sp) < 0)
			return -1;
	}
	if (w->ended)
		return 0;
	if (w->now.file) {
		w->entered = true;
		return past_prologue(w);
	}
	return run_until(w, call.behind_call, call.sp);
}

static bool
same_line(const struct place *a, const struct place *b)
{
	return a->line == b->line && a->function_start == b->function_start &&
		a->file && b->file && strcmp(a->file, b->file) == 0;
}

/* Is it where a person expects to be shown the next line? */
static bool
is_there(const struct walk *w)
{
	const struct place *n = &w->now, *f = &w->from;

	/* a function that calls itself is another line, too */
	if (w->ended || w->entered)
		return true;
	/* in the caller, in the midst of a line: on to its end */
	return n->file && n->pc == n->row_start && !same_line(n, f);
}

/* Out of a function without lines, that was come to by a jump or a return. */
static int
leave(struct walk *w)
{
	uint64_t to;

	if (frame_return(w->sh, w->tid, &to) < 0)
		return -1;
	return run_until(w, to, w->now.sp + 1);
}

static int
go_on(struct walk *w)
{
	if (!w->now.file)
		return leave(w);
	if (w->now.behind_call)
		return w->over ? over_call(w) : into_call(w);
	return step_in(w, w->now.row_start, w->now.row_end);
}

static int
walk_line(struct walk *w)
{
	w->entered = false;
	if (!w->now.file)
		return leave(w);
	do {
		if (go_on(w) < 0)
			return -1;
		w->ended |= wait_signal != 0;
	} while (!is_there(w));
	return 0;
}

static int
walk_instruction(struct walk *w)
{
	return w->over && w->now.behind_call ? over_call(w) : step_in(w, 0, 0);
}

/* ---- commands ------------------------------------------------------------ */

static enum result
walk(struct shell *sh, long long times, bool over, int (*go)(struct walk *))
{
	struct walk w = { .sh = sh, .tid = thread_now(sh), .over = over };

	if (place_now(sh, w.tid, &w.now) < 0)
		return FAILED;
	run_forget_interrupt();
	sh->place_told = false;
	for (long long i = 0; i < times && !w.ended; i++) {
		w.from = w.now;
		if (go(&w) < 0)
			return FAILED;
		w.ended |= wait_signal != 0;
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
		return walk(sh, 1, true, leave);
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
