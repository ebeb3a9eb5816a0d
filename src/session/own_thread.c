/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that are made for one called function, and end behind it.
 *
 * While one comes, or goes, all stand. It may need a lock that somebody has:
 * they run then, unless something waits for one of them: a hit would be in the
 * way.
 */
#include "called.h"

struct patience {
	struct tracer *tr;
	uint64_t since;
	bool run;
};
#define ALONE_NS	UINT64_C(50000000)
#define STANDING_NS	UINT64_C(1000000000)
#define OWN_NS		UINT64_C(10000000000)

static bool
no_patience(void *arg)
{
	struct patience *p = arg;
	struct tracer *tr = p->tr;
	const uint64_t ns = now_ns() - p->since;

	if (!p->run && ns > ALONE_NS && !tracer_waits(tr)) {
		if (tr->col)
			collection_runs(tr->col);
		p->run = target_continue_all(tr->target) == 0;
		if (p->run && tr->col)
			collection_note_stop(tr->col,
					     target_pause_ns(tr->target));
	}
	if (p->run)
		tracer_pump_events(tr);
	return called_cancelled(tr) || (!p->run && ns > STANDING_NS);
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

struct fresh_thread *
own_thread_make(struct tracer *tr)
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

void
own_thread_end(struct tracer *tr, struct fresh_thread *own,
	       struct inject_met *met)
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
