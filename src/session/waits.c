/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of threads that have no processor: they are looked at when it is
 * time (waits_pace.c), and what a look finds goes into their accounts
 * (waits_account.c).
 *
 * Births and ends are known exactly where a clock tells of them, else by the
 * kernel's start time, and by the look that does not find a thread any more.
 */
#include "waits.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LIST_NS = 100 * 1000 * 1000,	/* between lists of threads */
	PORTION_NS = 3 * 1000 * 1000,	/* then others have their turn */
	NEW_NS = 500 * 1000,		/* ... for looks at new ones */
	NEW_LOOKS = 3,			/* ... and so many at each */
	SETTLE_NS = 1000 * 1000,	/* ... for looks at resource samples */
	FEW = 64,			/* threads */
	RECORD_NS = 1000 * 1000 * 1000,	/* until a record is read */
};

/* ---- a look -------------------------------------------------------------- */

/* The place where we held a program at its start is none of its own. */
static bool
has_not_gone_on(const struct waits *w, const struct waiter *th,
		const struct task_turns *t)
{
	return w->opt->at_start && t->switches == th->base.switches &&
		t->cpu_ns == th->base.cpu_ns;
}

/* false: it has ended. */
static bool
look_at(struct waits *w, struct waiter *th)
{
	struct look look = { .blocked = true };
	struct task_turns t;

	/* told of, not yet met; it may have ended */
	if (th->of.schedstat < 0)
		roll_open_files(&w->roll, th);
	if (look_at_turns(w->opt->target, &th->of, &t) < 0 ||
	    t.cpu_ns < th->last.cpu_ns)		/* of the same number */
		return false;
	if (has_not_gone_on(w, th, &t))
		return true;

	const bool same = th->blocked && t.switches == th->last.switches &&
		t.cpu_ns == th->last.cpu_ns;

	if (!same)
		look = look_at_waiting(&w->looker, &th->of, &t);
	if (look.ended)
		return false;
	/* also when it runs by now: its waits may be short and many */
	w->moved |= t.switches != th->last.switches;
	account_look(&w->accounts, th, now_ns(), &t, same ? NULL : &look);
	return true;
}

/* For a look at each, in portions: threads come and go between these. */
static void
plan_look(struct waits *w)
{
	uint64_t tid, at;
	size_t i = 0;

	w->plan_len = w->plan_at = 0;
	w->plan = xgrow(w->plan, &w->plan_cap, w->roll.threads.len + 1,
			sizeof *w->plan);
	while (map_next(&w->roll.threads, &i, &tid, &at))
		w->plan[w->plan_len++] = (pid_t)tid;
}

/* Whoever has ended did so since the last look. Somebody may know better. */
static void
note_gone(struct waiter *th)
{
	th->gone_ns = th->looked_at + (now_ns() - th->looked_at) / 2;
}

/* false: the others later, so that the clocks do not wait for us. */
static bool
look_at_planned(struct waits *w, uint64_t until)
{
	while (w->plan_at < w->plan_len) {
		struct waiter *th = roll_find(&w->roll, w->plan[w->plan_at++]);

		if (th && !th->gone_ns && !look_at(w, th))
			note_gone(th);
		target_serve_told(w->opt->target);
		if (now_ns() > until)
			return w->plan_at == w->plan_len;
	}
	return true;
}

static void
forget_gone(struct waits *w, uint64_t now)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&w->roll.threads, &i, &tid, &at)) {
		struct waiter *th = (struct waiter *)(uintptr_t)at;

		if (!th->gone_ns || now - th->gone_ns < RECORD_NS)
			continue;
		if (!th->ended)
			account_end(&w->accounts, th, th->gone_ns);
		th->ended = true;
		/* a first thread stays listed when others outlive it */
		if (th->round == w->roll.round)
			continue;
		recorder_forget_thread(w->rec, th->of.tid);
		roll_drop(&w->roll, th);
		i = 0;		/* the map has moved */
	}
}

/* ---- looks --------------------------------------------------------------- */

static void
note_looked(struct waits *w, uint64_t now)
{
	const double between = w->all_at ? (double)(now - w->all_at) : 0;

	w->between_ns += between;
	w->squares += between * between;
	w->all_at = now;
}

/* false: it goes on at the next call. */
static bool
look(struct waits *w, uint64_t until)
{
	const uint64_t began = thread_cpu_ns(), now = now_ns();

	if (w->plan_at == w->plan_len) {
		if (now - w->roll.listed_at >= LIST_NS)
			roll_list(&w->roll, now, false);
		plan_look(w);
	}

	const bool done = look_at_planned(w, until);

	w->cost_ns += thread_cpu_ns() - began;
	if (!done)
		return false;
	note_looked(w, now);
	forget_gone(w, now);
	pace_next(&w->pace, now, w->opt->interval_ns, w->roll.threads.len,
		  w->moved, w->cost_ns);
	w->moved = false;
	w->cost_ns = 0;
	return true;
}

/* Soon, where all have to wait for long for a look; where it runs that tells
 * little of it, so some more times. */
static void
look_at_new(struct waits *w, uint64_t until)
{
	uint64_t tid, at;
	size_t i = 0;

	while (now_ns() < until && map_next(&w->roll.threads, &i, &tid, &at)) {
		struct waiter *th = (struct waiter *)(uintptr_t)at;

		if (!th->gone_ns && !th->known && th->looks < NEW_LOOKS &&
		    !look_at(w, th))
			note_gone(th);
	}
}

void
waits_count(struct waits *w)
{
	const uint64_t now = now_ns();

	if (!w || !w->on || target_gone(w->opt->target))
		return;
	census_take(&w->census, &w->roll, now);
	if (now - w->new_at < LIST_NS)
		return;
	w->new_at = now;
	w->census.cpu_ns = census_cpu(&w->census, &w->roll);
	if (w->census.threads > w->roll.threads.len &&
	    now - w->roll.listed_at >= LIST_NS)
		roll_list(&w->roll, now, false);
	look_at_new(w, now + NEW_NS);
}

/* Around a moment, not from look to look: a long time without a look counts as
 * much as it is long. */
uint64_t
waits_every_ns(const struct waits *w)
{
	return w->between_ns > 0 ? (uint64_t)(w->squares / w->between_ns) : 0;
}

uint64_t
waits_deadline(const struct waits *w)
{
	return w && w->on ? w->pace.due_ns : UINT64_MAX;
}

bool
waits_wanted(const struct waits *w, uint64_t now)
{
	return w && w->on && now >= w->pace.early_ns;
}

bool
waits_work(struct waits *w)
{
	const uint64_t now = now_ns();

	return !w || !w->on || now < w->pace.early_ns ||
		target_gone(w->opt->target) || look(w, now + PORTION_NS);
}

/* ---- resource samples ---------------------------------------------------- */

/* Who had a turn is looked at, as far as there is time. */
static void
settle(struct waits *w, struct waiter *th, uint64_t until)
{
	struct task_turns t;

	if (account_can_wait(th))
		return;
	if ((now_ns() < until && !look_at(w, th)) ||
	    look_at_turns(w->opt->target, &th->of, &t) < 0) {
		note_gone(th);
		return;
	}

	w->moved |= t.switches != th->last.switches;
	account_settle(&w->accounts, th, now_ns(), &t,
		       account_is_as_before(th, &t) ||
		       look_is_blocked(&w->looker, &th->of));
}

void
waits_settle(struct waits *w)
{
	const uint64_t began = thread_cpu_ns(), until = now_ns() + SETTLE_NS;
	uint64_t tid, at;
	size_t i = 0;

	if (!w || !w->on || target_gone(w->opt->target))
		return;
	while (map_next(&w->roll.threads, &i, &tid, &at))
		settle(w, (struct waiter *)(uintptr_t)at, until);
	w->cost_ns += thread_cpu_ns() - began;
}

/* ---- threads too short for a look ---------------------------------------- */

static uint64_t
unmet(const struct waits *w, enum census_time when)
{
	return census_unmet(&w->census, &w->accounts, &w->roll,
			    waits_every_ns(w), when);
}

uint64_t
waits_guessed_ns(const struct waits *w)
{
	return w->census.guessed_ns;
}

void
waits_sum(const struct waits *w, uint64_t now, uint64_t sum[MSTATE_COUNT])
{
	memcpy(sum, w->accounts.booked, sizeof w->accounts.booked);
	if (w->on)
		accounts_sum(&w->accounts, &w->roll, &w->census, now,
			     unmet(w, CENSUS_SO_FAR), sum);
}

/* ---- life ---------------------------------------------------------------- */

uint64_t
waits_begin(struct waits *w)
{
	if (!w || w->on)
		return now_ns();
	w->on = true;
	roll_clear(&w->roll);
	w->all_at = 0;
	w->accounts.lives_ns = w->accounts.seen_cpu_ns = 0;
	w->accounts.brief_ns = w->accounts.ends = 0;
	memcpy(w->accounts.booked_before, w->accounts.booked,
	       sizeof w->accounts.booked);
	census_begin(&w->census, &w->roll, now_ns());
	roll_list(&w->roll, w->census.at, true);
	w->pace.early_ns = w->pace.due_ns = w->roll.listed_at;
	return w->census.at;
}

void
waits_restart(struct waits *w)
{
	if (!w || !w->on)
		return;
	w->on = false;
	w->plan_len = w->plan_at = 0;
	(void)waits_begin(w);
}

static void
finish(struct waits *w, struct waiter *th, uint64_t now)
{
	struct task_turns t;

	if (th->ended)
		return;
	if (!th->gone_ns &&
	    look_at_turns(w->opt->target, &th->of, &t) == 0) {
		account_stop(&w->accounts, th, now, &t,
			     look_is_blocked(&w->looker, &th->of));
		return;
	}
	account_end(&w->accounts, th, th->gone_ns ? th->gone_ns : now);
	th->ended = true;
}

uint64_t
waits_end(struct waits *w)
{
	uint64_t tid, at;
	size_t i = 0;

	if (!w || !w->on)
		return 0;
	/* many would take long, and the clocks are still on */
	if (w->roll.threads.len < FEW)
		(void)look(w, UINT64_MAX);
	waits_count(w);
	w->on = false;
	w->plan_len = w->plan_at = 0;

	const uint64_t now = now_ns(), more = unmet(w, CENSUS_AT_END);

	while (map_next(&w->roll.threads, &i, &tid, &at))
		finish(w, (struct waiter *)(uintptr_t)at, now);
	census_book(&w->census, &w->accounts, &w->roll, now, more);
	return now;
}

struct waits *
waits_new(struct recorder *rec, const struct recorder_options *o)
{
	struct waits *w = xcalloc(1, sizeof *w);

	w->rec = rec;
	w->opt = o;
	if (roll_init(&w->roll, o->target) < 0) {
		free(w);
		return NULL;
	}
	w->accounts.rec = rec;
	w->accounts.unseen_frinfo = recorder_unseen_stack(rec);
	looker_init(&w->looker, rec, o->target);
	return w;
}

void
waits_free(struct waits *w)
{
	if (!w)
		return;
	(void)waits_end(w);
	looker_fini(&w->looker);
	free(w->plan);
	roll_fini(&w->roll);
	free(w);
}
