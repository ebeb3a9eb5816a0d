/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of whoever calls a function of a target that stands. A call that a
 * breakpoint or the user stops stays open, and another may be made from there;
 * the innermost is meant.
 */
#include "called.h"

#include <string.h>

#define END_WAIT_NS	UINT64_C(100000000)

static const enum session_called whys[] = {
	[INTERLUDE_RETURNED] = SESSION_CALL_RETURNED,
	[INTERLUDE_FAULTED] = SESSION_CALL_FAULTED,
	[INTERLUDE_STANDS] = SESSION_CALL_STANDS,
	[INTERLUDE_BREAKPOINT] = SESSION_CALL_BREAKPOINT,
	[INTERLUDE_JUMPS] = SESSION_CALL_JUMPS,
	[INTERLUDE_LEFT] = SESSION_CALL_LEFT,
	[INTERLUDE_EXECED] = SESSION_CALL_EXECED,
};

static int
take_call(struct wire_message *in, struct interlude_call *c)
{
	size_t n;
	const void *words = wire_take_bytes(in, &n);

	if (!words || n != sizeof *c)
		return fail(FAIL_GENERAL, "a request was damaged");
	memcpy(c, words, sizeof *c);
	c->data = wire_take_bytes(in, &c->data_size);
	if (!c->data)
		c->data_size = 0;
	if (c->int_count > INTERLUDE_INTS || c->float_count > INTERLUDE_FLOATS ||
	    c->stack_count > INTERLUDE_STACK)
		return fail(FAIL_USAGE, "too many arguments");
	return 0;
}

/* ---- what became of a call ----------------------------------------------- */

static void
put_result(struct wire_message *out, const struct interlude_news *news)
{
	wire_put(out, news->ints[0]);
	wire_put(out, news->ints[1]);
	wire_put(out, news->floats[0]);
	wire_put(out, news->floats[1]);
	for (size_t i = 0; i < ARRAY_LEN(news->x87); i++)
		wire_put(out, news->x87[i]);
}

/* Its thread has ended; and with it the process, or it is another program's by
 * now. */
static enum session_called
why_ended(struct tracer *tr, const struct called *c)
{
	enum { END_LOOK_MS = 2 };
	struct pollfd end = { target_pidfd(tr->target), POLLIN, 0 };
	const uint64_t until = now_ns() + END_WAIT_NS;
	bool over;

	/* the process has not ended before we have heard of all its threads */
	do {
		tracer_pump_events(tr);
		over = target_gone(tr->target) ||
			poll(&end, 1, END_LOOK_MS) > 0;
	} while (!over && now_ns() < until);
	if (over)
		return SESSION_CALL_GONE;
	return target_execs(tr->target) != c->execs ? SESSION_CALL_EXECED :
		SESSION_CALL_ENDED;
}

/* What became of it; whatever is over is put back. */
static int
answer(struct tracer *tr, const struct interlude_news *news,
       struct wire_message *out)
{
	const struct called c = *called_innermost(tr);
	const enum session_called why = news->why == INTERLUDE_ENDED ?
		why_ended(tr, &c) : whys[news->why];
	const pid_t tid = interlude_thread(c.at);
	struct inject_met where = { 0 }, end = { 0 };
	const bool restored = why == SESSION_CALL_RETURNED ||
		why == SESSION_CALL_FAULTED || why == SESSION_CALL_JUMPS;
	int r = 0;

	if (why == SESSION_CALL_FAULTED || why == SESSION_CALL_JUMPS)
		interlude_where(c.at, &where);
	if (restored)
		r = interlude_end(c.at);
	wire_put(out, why);
	put_result(out, news);
	called_put_where(out, news->signal, &where);
	wire_put(out, (uint64_t)(int64_t)(news->breakpoint ?
		tracer_note_hit(tr, news->breakpoint, tid) : -1));
	if (why == SESSION_CALL_LEFT && !c.own)
		interlude_let_go(c.at);
	if (why != SESSION_CALL_STANDS && why != SESSION_CALL_BREAKPOINT)
		called_drop(tr, why == SESSION_CALL_EXECED ||
			       why == SESSION_CALL_GONE, &end);
	wire_put(out, (uint64_t)tid);
	wire_put(out, c.own != NULL);
	wire_put(out, target_knows(tr->target, c.from) ? (uint64_t)c.from : 0);
	called_put_where(out, end.signal, &end);
	return r;
}

static int
go(struct tracer *tr, uint64_t ms, struct wire_message *out)
{
	struct interlude_news news;

	if (tracer_step_off(tr, tracer_calls(tr)) < 0 ||
	    interlude_go(called_innermost(tr)->at, ms * 1000000,
			 called_cancelled, tr, &news) < 0)
		return -1;
	return answer(tr, &news, out);
}

static int
check_waiting(pid_t tid)
{
	if (interlude_waits(tid))
		return 0;
	fail(FAIL_UNSUITABLE, "thread %d is in the midst of a function of libc: "
	     "what that is about to change may be half done", (int)tid);
	return fail_remedy("step up, or thread TID for another one, or call "
			   "-fresh");
}

/* What cannot even begin needs no thread any more. */
static int
begin(struct tracer *tr, pid_t from, struct fresh_thread *own,
      const struct interlude_call *c)
{
	const pid_t tid = own ? fresh_tid(own) : from;
	struct interlude *il = interlude_begin(tr->target, tid, own ? own :
					       called_own(tr, tid), c, &tr->way);
	struct inject_met met;

	if (il) {
		tr->calls[tr->call_count++] = (struct called){
			.at = il, .own = own, .from = from,
			.execs = target_execs(tr->target),
		};
		return 0;
	}
	if (own) {
		struct failure *first = fail_keep();

		own_thread_end(tr, own, &met);
		fail_again(first);
	}
	return -1;
}

static int
do_call_here(struct tracer *tr, struct wire_message *in,
	     struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const uint64_t ms = wire_take(in);
	const bool only_waiting = wire_take(in), did_wait = wire_take(in);
	const bool fresh = wire_take(in);
	struct fresh_thread *own = NULL;
	struct interlude_call c;

	if (tracer_need_held(tr) < 0 || tracer_need_started(tr) < 0 ||
	    take_call(in, &c) < 0)
		return -1;
	if (tr->call_count == CALLS_MAX)
		return fail(FAIL_USAGE, "more than %d calls within calls",
			    CALLS_MAX);
	if (called_check_thread(tr, tid) < 0 ||
	    ((only_waiting || (did_wait && !called_by(tr, tid))) &&
	     check_waiting(tid) < 0) ||
	    (fresh && !(own = own_thread_make(tr))) || begin(tr, tid, own, &c) < 0)
		return -1;
	return go(tr, ms, out);
}

static int
need_call(struct tracer *tr)
{
	if (tracer_need_held(tr) < 0)
		return -1;
	if (tr->call_count)
		return 0;
	return fail(FAIL_USAGE, "no function was called that stands");
}

static int
do_call_go(struct tracer *tr, struct wire_message *in,
	   struct wire_message *out)
{
	return need_call(tr) < 0 ? -1 : go(tr, wire_take(in), out);
}

/* All have run, or the user has had enough of it. */
static int
do_call_end(struct tracer *tr, struct wire_message *in,
	    struct wire_message *out)
{
	const bool abandon = wire_take(in);
	const int signal = (int)wire_take(in);
	struct interlude_news news;

	if (need_call(tr) < 0)
		return -1;
	if (abandon && called_innermost(tr)->own)
		fresh_calm(called_innermost(tr)->own);
	if (interlude_look(called_innermost(tr)->at, &news) < 0)
		news.why = INTERLUDE_ENDED;
	if (news.why == INTERLUDE_STANDS && (abandon || signal)) {
		news.why = INTERLUDE_FAULTED;
		news.signal = signal;
	}
	return answer(tr, &news, out);
}

const struct request_handler call_requests[] = {
	{ WIRE_CALL_HERE, do_call_here, false },
	{ WIRE_CALL_GO, do_call_go, false },
	{ WIRE_CALL_END, do_call_end, false },
	{ 0 }
};
