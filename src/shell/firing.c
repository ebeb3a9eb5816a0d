/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What handlers do when their event comes. A body is text that goes through the
 * same loop as a line.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* What runs around us is not the body's: it is asked about nothing, leaves no
 * loop. */
static bool
run_body(struct shell *sh, const char *text, const char *file, int line)
{
	const bool within = sh->in_body;
	const int tested = sh->tested, loops = sh->loops, calls = sh->calls,
	      status = sh->status;
	struct params *params = sh->params;

	sh->in_body = true;
	sh->tested = sh->loops = sh->calls = 0;
	sh->params = NULL;
	if (!shell_run_body(sh, text, file, line))
		sh->wait_over = sh->body_failed = true;
	sh->in_body = within;
	sh->tested = tested;
	sh->loops = loops;
	sh->calls = calls;
	sh->params = params;
	sh->status = status;
	return sh->wait_over || sh->quitting;
}

static bool
stop_here(struct shell *sh)
{
	struct place p;

	if (session_state(sh->session) == SESSION_RUNNING &&
	    session_stop(sh->session) < 0)
		shell_print_failure(sh);
	if (session_state(sh->session) == SESSION_STOPPED &&
	    place_now(sh, thread_now(sh), &p) == 0) {
		if (sh->home)
			fprintf(sh->out, "process %d ",
				session_pid(sh->session));
		place_print(sh, &p);
	}
	fail_clear();
	return true;
}

bool
handler_fire(struct shell *sh, struct handler *h)
{
	const enum handler_does does = h->does;
	/* it may delete its handler */
	char *body = h->body ? xstrdup(h->body) : NULL;
	char *file = h->file ? xstrdup(h->file) : NULL;
	const int line = h->line;
	bool over = false;

	shell_note(sh, "(%d) %s", h->number, h->what);
	if (h->kind != EVENT_STOPS)
		str_addf(&sh->fired, "%s%d", sh->fired.len ? " " : "",
			 h->number);
	sh->wait_over = false;
	if (h->once)
		handler_remove(sh, h);
	if (does == DOES_STOP)
		over = stop_here(sh);
	if (body)
		over = run_body(sh, body, file, line);
	free(file);
	free(body);
	return over || sh->wait_over || sh->quitting;
}

bool
handler_fire_of(struct shell *sh, struct handler *h, pid_t tid, bool *over)
{
	const pid_t pid = session_pid(sh->session);

	sh->thread = tid;
	*over = handler_fire(sh, h) || *over;
	return sh->session && session_pid(sh->session) == pid;
}

/* -in: is that function being executed, perhaps by what it has called? */
static bool
is_within(struct shell *sh, const struct handler *h, pid_t tid)
{
	const pid_t thread = sh->thread;
	struct debug *d;
	bool within;

	if (!h->within || !tid)
		return true;
	sh->thread = tid;
	d = debuggee_now(sh);
	within = d && debuggee_is_in(d, h->within);
	sh->thread = thread;
	fail_clear();
	return within;
}

/* One that cannot be evaluated is told, and counts: nothing is missed. */
static bool
condition_holds(struct shell *sh, const struct handler *h, pid_t tid)
{
	const pid_t thread = sh->thread;
	bool truth = true;
	struct debug *d;

	if (!h->condition)
		return true;
	if (tid)
		sh->thread = tid;
	d = debuggee_now(sh);
	sh->call_alone = h->alone;
	if (!d || debug_truth(d, h->condition, &truth) < 0) {
		fail_in("(%d) -if %s", h->number, h->condition);
		shell_print_failure(sh);
		truth = true;
	}
	sh->call_alone = false;
	sh->thread = thread;
	return truth;
}

bool
handler_counts(struct shell *sh, struct handler *h, pid_t tid)
{
	const bool judged = h->filtered && sh->judged;
	bool counts;

	if (h->disabled)
		return false;
	if (judged) {
		h->hits = (long long)sh->judged;
		return true;
	}
	filter_end(sh, h);
	counts = (!h->thread || tid == h->thread) &&
		is_within(sh, h, tid) && condition_holds(sh, h, tid);
	h->hits += counts;
	return counts && (!h->count || h->hits % h->count == 0);
}

static bool
waits_at(const struct handler *h, uint64_t address)
{
	for (size_t i = 0; i < h->spots_len; i++)
		if (h->spots[i] == address)
			return true;
	return false;
}

/* A function is entered that shall be heard of when it returns. true: an
 * earlier call of it was late, and left by a jump. */
static bool
wait_for_return(struct shell *sh, struct handler *h, pid_t tid)
{
	struct session_step at;
	uint64_t to;
	bool left;

	if (session_at(sh->session, tid, &at) < 0) {
		shell_print_failure(sh);
		return false;
	}
	left = longer_entered(sh, h, tid, at.sp);
	if (frame_return(sh, tid, &to) < 0 || spot_take(sh, to, h->may_trap) < 0) {
		shell_print_failure(sh);
		return left;
	}
	h->pending = xgrow(h->pending, &h->pending_cap, h->pending_len + 1,
			   sizeof *h->pending);
	h->pending[h->pending_len++] = (struct pending){
		.tid = tid, .address = to, .least_sp = at.sp + 1,
		.since_ns = now_ns(),
	};
	return left;
}

/* It returns, and perhaps others of the thread that it was called by: none
 * does with its stack below. */
static bool
has_returned(struct shell *sh, struct handler *h, uint64_t address, pid_t tid,
	     uint64_t *since_ns)
{
	struct session_step at;
	bool returned = false;

	if (session_at(sh->session, tid, &at) < 0)
		return false;
	for (size_t i = h->pending_len; i-- > 0;) {
		struct pending *p = &h->pending[i];

		if (p->tid != tid || p->address != address ||
		    at.sp < p->least_sp)
			continue;
		if (!returned || p->since_ns < *since_ns)
			*since_ns = p->since_ns;
		h->pending_len--;
		memmove(p, p + 1, (h->pending_len - i) * sizeof *p);
		spot_drop(sh, address);
		returned = true;
	}
	return returned;
}

static bool
is_met(struct shell *sh, struct handler *h, uint64_t address, pid_t tid)
{
	const uint64_t now = now_ns();
	uint64_t since = 0;

	if (h->kind == EVENT_PLACE)
		return waits_at(h, address) && handler_counts(sh, h, tid);
	if (h->kind != EVENT_RETURNS)
		return false;
	if (filter_is_at(h, address))
		filter_end(sh, h);	/* what is to return is known there */
	if (has_returned(sh, h, address, tid, &since))
		return longer_lasted(sh, h, now - since) &&
			handler_counts(sh, h, tid);
	return waits_at(h, address) && !h->disabled &&
		(!h->thread || h->thread == tid) &&
		wait_for_return(sh, h, tid) && handler_counts(sh, h, tid);
}

/* By number: a body may remove any of them. */
static bool
fire_all(struct shell *sh, uint64_t address, pid_t tid)
{
	bool over = false;

	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && is_met(sh, h, address, tid) &&
		    !handler_fire_of(sh, h, tid, &over))
			return true;
	}
	filters_begin_at(sh, address, tid);
	return over;
}

bool
handlers_meet(struct shell *sh, int breakpoint, pid_t tid)
{
	const pid_t thread = sh->thread;
	bool reached, over;
	uint64_t address;

	if (data_meet(sh, breakpoint, tid, &over)) {
		sh->thread = over && sh->session ? tid : thread;
		return over;
	}
	if (!spot_address(sh, breakpoint, &address)) {
		sh->thread = tid;
		return true;
	}
	reached = until_takes(sh, address, tid);
	reached = loads_meet(sh, address, tid) || reached;
	if (sh->session)
		reached = data_returned(sh, address, tid) || reached;
	if (!sh->session || fire_all(sh, address, tid) || reached) {
		sh->thread = sh->session ? tid : 0;
		return true;
	}
	sh->thread = thread;
	return false;
}

/* exit CODE: that one. */
static bool
is_of_code(const struct shell *sh, const struct handler *h)
{
	if (h->kind != EVENT_EXIT || !h->place)
		return true;
	return sh->program_status >= 0 &&
		status_of_program(sh->program_status) == atoi(h->place);
}

bool
handlers_hear(struct shell *sh, enum event_kind kind)
{
	bool over = false;

	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && h->kind == kind && is_of_code(sh, h) &&
		    handler_counts(sh, h, 0))
			over = handler_fire(sh, h) || over;
	}
	return over;
}
