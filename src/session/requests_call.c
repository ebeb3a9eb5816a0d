/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of whoever calls a function of a target that stands. A call that a
 * breakpoint or the user stops stays open, and another may be made from there;
 * the innermost is meant.
 */
#include "inject.h"
#include "private.h"

#include <string.h>

static const enum session_called whys[] = {
	[INTERLUDE_RETURNED] = SESSION_CALL_RETURNED,
	[INTERLUDE_FAULTED] = SESSION_CALL_FAULTED,
	[INTERLUDE_STANDS] = SESSION_CALL_STANDS,
	[INTERLUDE_BREAKPOINT] = SESSION_CALL_BREAKPOINT,
	[INTERLUDE_JUMPS] = SESSION_CALL_JUMPS,
	[INTERLUDE_LEFT] = SESSION_CALL_LEFT,
	[INTERLUDE_EXECED] = SESSION_CALL_ENDED,
	[INTERLUDE_ENDED] = SESSION_CALL_ENDED,
};

static struct interlude **
innermost(struct tracer *tr)
{
	return tr->call_count ? &tr->calls[tr->call_count - 1] : NULL;
}

static void
drop_innermost(struct tracer *tr)
{
	interlude_free(tr->calls[--tr->call_count]);
}

void
tracer_leave_calls(struct tracer *tr)
{
	while (tr->call_count) {
		if (tr->target && !target_gone(tr->target))
			interlude_let_go(*innermost(tr));
		drop_innermost(tr);
	}
}

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

/* What became of it; whatever is over is put back, and forgotten. */
static int
answer(struct tracer *tr, const struct interlude_news *news,
       struct wire_message *out)
{
	struct interlude *il = *innermost(tr);
	const enum session_called why = whys[news->why];
	struct inject_met where = { 0 };
	int r = 0;

	if (why == SESSION_CALL_FAULTED || why == SESSION_CALL_JUMPS)
		interlude_where(il, &where);
	if (why == SESSION_CALL_RETURNED || why == SESSION_CALL_FAULTED ||
	    why == SESSION_CALL_JUMPS)
		r = interlude_end(il);
	wire_put(out, why);
	wire_put(out, news->ints[0]);
	wire_put(out, news->ints[1]);
	wire_put(out, news->floats[0]);
	wire_put(out, news->floats[1]);
	for (size_t i = 0; i < ARRAY_LEN(news->x87); i++)
		wire_put(out, news->x87[i]);
	wire_put(out, (uint64_t)news->signal);
	wire_put(out, where.frame_count);
	for (size_t i = 0; i < where.frame_count; i++)
		wire_put(out, where.frames[i]);
	wire_put(out, (uint64_t)(int64_t)(news->breakpoint ?
		tracer_note_hit(tr, news->breakpoint, interlude_thread(il)) :
		0));
	if (why == SESSION_CALL_LEFT)
		interlude_let_go(il);
	if (why != SESSION_CALL_STANDS && why != SESSION_CALL_BREAKPOINT)
		drop_innermost(tr);
	return r;
}

static bool
call_cancelled(void *arg)
{
	const struct tracer *tr = arg;
	struct pollfd shell = { tr->shell, POLLIN, 0 };

	return poll(&shell, 1, 0) > 0;
}

static int
go(struct tracer *tr, uint64_t ms, struct wire_message *out)
{
	struct interlude_news news;

	if (interlude_go(*innermost(tr), ms * 1000000, call_cancelled, tr,
			 &news) < 0)
		return -1;
	return answer(tr, &news, out);
}

static int
do_call_here(struct tracer *tr, struct wire_message *in,
	     struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const uint64_t ms = wire_take(in);
	const bool only_waiting = wire_take(in);
	struct interlude_call c;

	if (tracer_need_held(tr) < 0 || tracer_need_started(tr) < 0 ||
	    take_call(in, &c) < 0)
		return -1;
	if (tr->call_count == CALLS_MAX)
		return fail(FAIL_USAGE, "more than %d calls within calls",
			    CALLS_MAX);
	if (only_waiting && !interlude_waits(tid)) {
		fail(FAIL_UNSUITABLE, "thread %d is in the midst of a function "
		     "of libc: what that is about to change may be half done",
		     (int)tid);
		return fail_remedy("step up, or thread TID for another one");
	}

	struct interlude *il = interlude_begin(tr->target, tid, &c,
					       &tr->way);

	if (!il)
		return -1;
	tr->calls[tr->call_count++] = il;
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
	if (interlude_look(*innermost(tr), &news) < 0)
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
