/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that were called in a target that stands, and are not over: who is
 * in which, the innermost last; and what becomes of them when nobody waits.
 */
#include "called.h"

#define BACK_NS		UINT64_C(100000000)	/* before it is left */

struct called *
called_innermost(struct tracer *tr)
{
	return tr->call_count ? &tr->calls[tr->call_count - 1] : NULL;
}

pid_t
tracer_calls(const struct tracer *tr)
{
	return tr->call_count ?
		interlude_thread(tr->calls[tr->call_count - 1].at) : 0;
}

/*
 * A function that is not the innermost may be over before it is its turn, on
 * another thread: that one stands then, and it is told when it is.
 */
bool
tracer_call_waits(struct tracer *tr, pid_t tid)
{
	if (tid == tracer_calls(tr))
		return false;
	for (size_t i = tr->call_count; i-- > 0;)
		if (interlude_thread(tr->calls[i].at) == tid) {
			tr->calls[i].waits = true;
			thread_stays(tr->target, tid);
			return true;
		}
	return false;
}

/* What this thread was in before goes on, if that was another call. */
static void
go_on_below(struct tracer *tr, pid_t tid)
{
	struct called *c = called_innermost(tr);

	for (size_t i = tr->call_count; i-- > 0;)
		if (interlude_thread(tr->calls[i].at) == tid) {
			interlude_go_on(tr->calls[i].at);
			break;
		}
	if (!c || !c->waits)
		return;
	c->waits = false;
	if (target_suspend(tr->target, interlude_thread(c->at), false) < 0)
		fail_clear();	/* it has ended */
}

bool
called_cancelled(void *arg)
{
	return tracer_shell_speaks(arg);
}

void
called_put_where(struct wire_message *out, int signal,
		 const struct inject_met *met)
{
	wire_put(out, (uint64_t)signal);
	wire_put(out, met->frame_count);
	for (size_t i = 0; i < met->frame_count; i++)
		wire_put(out, met->frames[i]);
}

int
called_check_thread(const struct tracer *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->call_count; i++)
		if (tr->calls[i].own && fresh_helper(tr->calls[i].own) == tid) {
			fail(FAIL_UNSUITABLE, "thread %d is none of the "
			     "program's: it waits for the end of thread %d",
			     (int)tid, (int)fresh_tid(tr->calls[i].own));
			return fail_remedy("thread TID for another one");
		}
	return 0;
}

bool
called_by(const struct tracer *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->call_count; i++)
		if (interlude_thread(tr->calls[i].at) == tid)
			return true;
	return false;
}

const struct fresh_thread *
called_own(const struct tracer *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->call_count; i++)
		if (tr->calls[i].own && fresh_tid(tr->calls[i].own) == tid)
			return tr->calls[i].own;
	return NULL;
}

/* ---- their ends ---------------------------------------------------------- */

void
called_drop(struct tracer *tr, bool gone, struct inject_met *met)
{
	const struct called c = *called_innermost(tr);
	const pid_t tid = interlude_thread(c.at);

	tr->call_count--;
	interlude_free(c.at);
	if (!gone)
		go_on_below(tr, tid);
	if (!c.own || gone)
		fresh_free(c.own);
	else
		own_thread_end(tr, c.own, met);
}

/* It has not long to go, perhaps; whatever stops it there. */
static bool
is_soon_back(struct tracer *tr, const struct called *c)
{
	const uint64_t until = now_ns() + BACK_NS;
	struct interlude_news news = { .why = INTERLUDE_BREAKPOINT };

	if (target_held(tr->target) &&
	    tracer_step_off(tr, interlude_thread(c->at)) < 0)
		return false;
	while (target_held(tr->target) && news.why == INTERLUDE_BREAKPOINT &&
	       now_ns() < until)
		if (interlude_go(c->at, BACK_NS, NULL, NULL, &news) < 0)
			return false;
	return (news.why == INTERLUDE_RETURNED ||
		news.why == INTERLUDE_FAULTED ||
		news.why == INTERLUDE_JUMPS) && interlude_end(c->at) == 0;
}

/* Nobody waits for the function. If it is long, some memory stays: the look at
 * the target tells. */
static void
leave_own(struct tracer *tr, const struct called *c)
{
	struct inject_met met;

	if (is_soon_back(tr, c)) {
		interlude_free(c->at);
		own_thread_end(tr, c->own, &met);
		return;
	}
	if (!target_gone(tr->target))
		interlude_let_go(c->at);
	interlude_free(c->at);
	fresh_free(c->own);
}

static void
leave(struct tracer *tr, const struct called *c)
{
	const bool alive = tr->target && !target_gone(tr->target);

	if (alive && c->own) {
		leave_own(tr, c);
		return;
	}
	if (alive)
		interlude_let_go(c->at);
	interlude_free(c->at);
	fresh_free(c->own);
}

void
tracer_leave_calls(struct tracer *tr)
{
	struct failure *first = tr->call_count ? fail_keep() : NULL;

	while (tr->call_count) {
		const struct called c = *called_innermost(tr);
		const pid_t tid = interlude_thread(c.at);

		tr->call_count--;
		leave(tr, &c);
		if (tr->target && !target_gone(tr->target))
			go_on_below(tr, tid);
	}
	if (first)
		fail_again(first);
}
