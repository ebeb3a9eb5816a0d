/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of whoever calls a function of a target that stands. A call that a
 * breakpoint or the user stops stays open, and another may be made from there;
 * the innermost is meant.
 */
#include "inject.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

static const enum session_called whys[] = {
	[INTERLUDE_RETURNED] = SESSION_CALL_RETURNED,
	[INTERLUDE_FAULTED] = SESSION_CALL_FAULTED,
	[INTERLUDE_STANDS] = SESSION_CALL_STANDS,
	[INTERLUDE_BREAKPOINT] = SESSION_CALL_BREAKPOINT,
	[INTERLUDE_JUMPS] = SESSION_CALL_JUMPS,
	[INTERLUDE_LEFT] = SESSION_CALL_LEFT,
	[INTERLUDE_EXECED] = SESSION_CALL_EXECED,
};

static struct called *
innermost(struct tracer *tr)
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
	struct called *c = innermost(tr);

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

static bool
call_cancelled(void *arg)
{
	const struct tracer *tr = arg;
	struct pollfd shell = { tr->shell, POLLIN, 0 };

	return poll(&shell, 1, 0) > 0;
}

/* ---- threads of our own -------------------------------------------------- */

/*
 * While one comes, or goes, all stand. It may need a lock that somebody has:
 * they run then, unless something waits for one of them: a hit would be in the
 * way.
 */
struct patience {
	struct tracer *tr;
	uint64_t since;
	bool run;
};
#define ALONE_NS	UINT64_C(50000000)
#define STANDING_NS	UINT64_C(1000000000)
#define OWN_NS		UINT64_C(10000000000)
#define END_WAIT_NS	UINT64_C(100000000)
#define BACK_NS		UINT64_C(100000000)	/* before it is left */

static bool
no_patience(void *arg)
{
	struct patience *p = arg;
	struct tracer *tr = p->tr;
	const uint64_t ns = now_ns() - p->since;

	if (!p->run && ns > ALONE_NS && !tracer_waits(tr))
		p->run = target_continue_all(tr->target) == 0;
	if (p->run)
		tracer_pump_events(tr);
	return call_cancelled(tr) || (!p->run && ns > STANDING_NS);
}

static struct inject_limits
limits_of(struct patience *p, struct tracer *tr)
{
	*p = (struct patience){ .tr = tr, .since = now_ns() };
	return (struct inject_limits){
		.own_ns = OWN_NS, .wall_ns = 3 * OWN_NS,
		.cancelled = no_patience, .arg = p,
	};
}

/* A failure stays what it is. */
static void
stand_again(struct tracer *tr, const struct patience *p)
{
	struct failure *first;

	if (!p->run || target_gone(tr->target))
		return;
	first = fail_keep();
	(void)target_hold_all(tr->target);
	fail_again(first);
}

static struct fresh_thread *
make_own(struct tracer *tr)
{
	struct patience p;
	const struct inject_limits limits = limits_of(&p, tr);
	struct fresh_thread *own = fresh_make(tr->target, &limits);

	stand_again(tr, &p);
	return own;
}

static void
tell_stays(struct tracer *tr, const char *why)
{
	struct session_event ev = { .kind = SESSION_EVENT_NOTE };

	(void)snprintf(ev.text, sizeof ev.text, "%s", why);
	tracer_send_event(tr, &ev);
}

/* met: what befell it at its end. */
static void
end_own(struct tracer *tr, struct fresh_thread *own, struct inject_met *met)
{
	struct patience p;
	const struct inject_limits limits = limits_of(&p, tr);

	if (fresh_end(own, &limits, met) < 0) {
		stand_again(tr, &p);
		tell_stays(tr, fail_last()->reason);
	} else {
		stand_again(tr, &p);
	}
	fail_clear();
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
		end_own(tr, c->own, &met);
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
		const struct called c = *innermost(tr);
		const pid_t tid = interlude_thread(c.at);

		tr->call_count--;
		leave(tr, &c);
		if (tr->target && !target_gone(tr->target))
			go_on_below(tr, tid);
	}
	if (first)
		fail_again(first);
}

/* ---- what became of a call ----------------------------------------------- */

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

static void
put_where(struct wire_message *out, int signal, const struct inject_met *met)
{
	wire_put(out, (uint64_t)signal);
	wire_put(out, met->frame_count);
	for (size_t i = 0; i < met->frame_count; i++)
		wire_put(out, met->frames[i]);
}

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

/* It is over, and forgotten; with it the thread that was made for it. */
static void
drop_innermost(struct tracer *tr, bool gone, struct inject_met *met)
{
	const struct called c = *innermost(tr);
	const pid_t tid = interlude_thread(c.at);

	tr->call_count--;
	interlude_free(c.at);
	if (!gone)
		go_on_below(tr, tid);
	if (!c.own || gone)
		fresh_free(c.own);
	else
		end_own(tr, c.own, met);
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
	const struct called c = *innermost(tr);
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
	put_where(out, news->signal, &where);
	wire_put(out, (uint64_t)(int64_t)(news->breakpoint ?
		tracer_note_hit(tr, news->breakpoint, tid) : -1));
	if (why == SESSION_CALL_LEFT && !c.own)
		interlude_let_go(c.at);
	if (why != SESSION_CALL_STANDS && why != SESSION_CALL_BREAKPOINT)
		drop_innermost(tr, why == SESSION_CALL_EXECED ||
			       why == SESSION_CALL_GONE, &end);
	wire_put(out, (uint64_t)tid);
	wire_put(out, c.own != NULL);
	wire_put(out, target_knows(tr->target, c.from) ? (uint64_t)c.from : 0);
	put_where(out, end.signal, &end);
	return r;
}

static int
go(struct tracer *tr, uint64_t ms, struct wire_message *out)
{
	struct interlude_news news;

	if (tracer_step_off(tr, tracer_calls(tr)) < 0 ||
	    interlude_go(innermost(tr)->at, ms * 1000000, call_cancelled, tr,
			 &news) < 0)
		return -1;
	return answer(tr, &news, out);
}

/* Is it in a function that was called from here? */
static bool
calls(const struct tracer *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->call_count; i++)
		if (interlude_thread(tr->calls[i].at) == tid)
			return true;
	return false;
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

/* The one of our own that this thread is, for a call within its function. */
static const struct fresh_thread *
own_of(const struct tracer *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->call_count; i++)
		if (tr->calls[i].own && fresh_tid(tr->calls[i].own) == tid)
			return tr->calls[i].own;
	return NULL;
}

/* What cannot even begin needs no thread any more. */
static int
begin(struct tracer *tr, pid_t from, struct fresh_thread *own,
      const struct interlude_call *c)
{
	const pid_t tid = own ? fresh_tid(own) : from;
	struct interlude *il = interlude_begin(tr->target, tid, own ? own :
					       own_of(tr, tid), c, &tr->way);
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

		end_own(tr, own, &met);
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
	if (((only_waiting || (did_wait && !calls(tr, tid))) &&
	     check_waiting(tid) < 0) ||
	    (fresh && !(own = make_own(tr))) || begin(tr, tid, own, &c) < 0)
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
	if (abandon && innermost(tr)->own)
		fresh_calm(innermost(tr)->own);
	if (interlude_look(innermost(tr)->at, &news) < 0)
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
