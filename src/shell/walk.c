/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread goes on for a line or an instruction: step, next, stepi, nexti.
 *
 * Within a line it executes instruction by instruction, while all others stand
 * (they see no more of it than of a preempted thread). A call that is stepped
 * over, or leads to where there are no lines, takes long and may wait for
 * others: then all run, to a breakpoint behind the call that only this thread
 * meets, and not in a deeper frame of the same function.
 */
#include "events.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

static void
look(struct walk *w, const struct session_step *at)
{
	place_at(w->sh, w->tid, at, &w->now);
}

static void
note_end(struct walk *w)
{
	w->ended = true;
	shell_note(w->sh, "thread %d has ended", w->tid);
	if (w->tid == w->sh->thread)
		w->sh->thread = 0;
	w->tid = 0;
}

/* All run until this thread comes there, or where else that frame or one around
 * it goes on. */
static int
run_until(struct walk *w, uint64_t addr, uint64_t sp, enum until_sp which)
{
	struct shell *sh = w->sh;
	struct session_step at;

	if (until_begin(sh, addr, w->tid, sp, which) < 0)
		return -1;
	sh->place_told = false;

	const bool ran = session_cont(sh->session) == 0;
	const enum result r = ran ? run_wait_started(sh) : FAILED;
	const enum until_over over = until_end(sh);

	if (!ran)
		return -1;
	if ((over == UNTIL_REACHED || over == UNTIL_LANDED) &&
	    session_at(sh->session, w->tid, &at) == 0) {
		w->ended = sh->place_told;
		w->landed |= over == UNTIL_LANDED;
		look(w, &at);
		return 0;
	}
	w->ended = true;
	if (over == UNTIL_THREAD_ENDED)
		note_end(w);
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
		return run_until(w, at->pc, at->sp, UNTIL_SAME_SP);
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
		note_end(w);
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

/* Until that call has returned. */
static int
over(struct walk *w, const struct place *call)
{
	return run_until(w, call->behind_call, call->sp, UNTIL_SAME_SP);
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
		    run_until(w, to, w->now.sp, UNTIL_SAME_SP) < 0)
			return -1;
	}
	if (w->ended)
		return 0;
	if (w->now.file) {
		w->entered = true;
		return past_prologue(w);
	}
	return over(w, &call);
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
	/* in the caller, in the midst of a line: on to its end; but the rest of
	 * a line that an exception leads to is what comes next */
	return n->file && !same_line(n, f) &&
		(w->landed || n->pc == n->row_start);
}

int
walk_out(struct walk *w)
{
	const uint64_t cfa = frame_return_sp(w->sh, w->tid);
	uint64_t to;

	if (frame_return(w->sh, w->tid, &to) < 0)
		return -1;
	return cfa ? run_until(w, to, cfa, UNTIL_SAME_SP) :
		run_until(w, to, w->now.sp + 1, UNTIL_LEAST_SP);
}

static int
go_on(struct walk *w)
{
	if (!w->now.row_end)
		return walk_out(w);
	if (w->now.behind_call)
		return w->over ? over(w, &w->now) : into_call(w);
	return step_in(w, w->now.row_start, w->now.row_end);
}

int
walk_line(struct walk *w)
{
	w->entered = w->landed = false;
	if (!w->now.row_end)
		return walk_out(w);
	do {
		if (go_on(w) < 0)
			return -1;
		w->ended |= wait_was_interrupted();
	} while (!is_there(w));
	return 0;
}

int
walk_instruction(struct walk *w)
{
	return w->over && w->now.behind_call ? over(w, &w->now) : step_in(w, 0, 0);
}
