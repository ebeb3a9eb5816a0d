/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The account of a thread.
 *
 * What a thread has lived is what it ran, what it could have run (Wait CPU),
 * and what it was blocked. The scheduler counts the first two to the
 * nanosecond, for everybody to read, so the third is exact as well; where and
 * what in is seen by looks:
 *
 *	blocked since the last look, same turn	  as before
 *	blocked					  what in, with which stack
 *	runs					  the next look will tell
 *
 * What became blocked time between two looks goes by halves to what each of
 * them saw: over many looks a place gets what it had. A wait that is longer
 * than what lies between looks is seen whole.
 *
 * The count of who runs lags by a tick of the scheduler, and a wait for a
 * processor is counted when it ends, as a whole. So what is not counted yet is
 * taken for blocked time only when the thread is found blocked, and at the end,
 * or at a resource sample, for such a wait where it is not: the count is ahead
 * of the kernel's then, which comes after it. What began before us and ended
 * since is not all ours: nobody has had more time than has passed.
 */
#include "waits.h"

enum {
	SURE_LOOKS = 6,		/* of who never is blocked */
	HARDLY = 20,		/* ... but for this part */
};

/* ---- what it waited for a processor -------------------------------------- */

/* slept: where it had slept before, as far as that is known. */
static void
place_waited(struct accounts *a, struct waiter *th, uint64_t now,
	     uint64_t slept)
{
	if (th->known && (slept || th->frinfo))
		held_place_woken(a, th, now, slept ? slept : th->frinfo);
	if (th->run_frinfo || th->frinfo)
		held_place_waited(a, th, now);
}

static void
count_waited(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t, uint64_t slept)
{
	const uint64_t all = t->wait_ns - th->base.wait_ns;

	if (all < th->waited_ns) {	/* it was not all ours */
		th->waited_ns -= held_take_back(th, MSTATE_WAIT_CPU,
					   th->waited_ns - all);
		return;
	}

	const uint64_t fresh = all - th->waited_ns;
	const uint64_t woken = woken_of(a, th, now, t, fresh);

	th->woken_ns += woken;
	th->unplaced_ns += fresh - woken;
	th->waited_ns = all;
	place_waited(a, th, now, slept);
}

/* It waits, and nobody has counted that yet. */
static void
add_waits_now(struct waiter *th, const struct task_turns *t, uint64_t ns)
{
	const uint64_t woken = woken_now(th, t, ns);

	th->waited_ns += ns;
	th->woken_ns += woken;
	th->unplaced_ns += ns - woken;
}

/* ---- what it was blocked ------------------------------------------------- */

static uint64_t
counted(const struct waiter *th, const struct task_turns *t)
{
	const uint64_t waited = t->wait_ns - th->base.wait_ns;

	return th->blocked_ns + t->cpu_ns - th->base.cpu_ns +
		(waited > th->waited_ns ? waited : th->waited_ns);
}

static uint64_t
life_of(const struct waiter *th, uint64_t now)
{
	return now > th->since_ns ? now - th->since_ns : 0;
}

uint64_t
account_new_blocked(const struct waiter *th, uint64_t now,
		    const struct task_turns *t)
{
	const uint64_t other = counted(th, t), wall = life_of(th, now);

	return wall > other ? wall - other : 0;
}

static void
add_blocked(struct accounts *a, struct waiter *th, uint64_t now, uint64_t ns)
{
	th->blocked_ns += ns;
	held_add(a, th, now, th->state, ns, th->frinfo);
}

static void
see_blocked(struct accounts *a, struct waiter *th, uint64_t now,
	    const struct task_turns *t, const struct look *look)
{
	const uint64_t all = account_new_blocked(th, now, t);
	const uint64_t faults = account_faults(a, th, now, all, t, look);
	const uint64_t fresh = all - faults;
	const uint64_t before = th->known && !faults ? fresh / 2 : 0;

	add_blocked(a, th, now, before);
	th->state = look->state;
	th->frinfo = look->frinfo ? look->frinfo : th->run_frinfo;
	th->known = true;
	add_blocked(a, th, now, fresh - before);
}

/* All of it was our stop: whoever waits for a processor has been counted when
 * it gets one, and stops there. */
static void
see_released(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t)
{
	const uint64_t ns = account_new_blocked(th, now, t);

	th->blocked_ns += ns;
	held_add(a, th, now, MSTATE_STOPPED, ns,
		 th->run_frinfo ? th->run_frinfo : th->frinfo);
}

/* ---- more than there was time for ---------------------------------------- */

/* The first wait that was counted lasted since before us, or until now. */
static void
note_first_wait(struct waiter *th, const struct task_turns *t)
{
	const uint64_t wait = t->wait_ns - th->base.wait_ns;
	const uint64_t ours = th->looked_at - th->since_ns;

	if (th->waited || !wait)
		return;
	th->waited = true;
	th->before_ns = !th->met && wait > ours ? wait - ours : 0;
}

/* While it waits again it does not show yet how much of that was not ours. */
static void
trim(struct waiter *th, uint64_t now, const struct task_turns *t)
{
	const uint64_t other = counted(th, t), wall = life_of(th, now);
	uint64_t more = other > wall ? other - wall : 0;

	note_first_wait(th, t);
	if (!more)
		return;
	if (th->met && !th->last.switches)	/* its birth is a guess */
		th->since_ns -= more, more = 0;
	if (th->blocked) {	/* so it was taken, and waited by then */
		const uint64_t part = held_take_back(th, th->state, more);

		th->blocked_ns -= part;
		more -= part;
	}
	if (more > th->before_ns)
		more = th->before_ns;
	th->before_ns -= more;
	th->base.wait_ns += more;
}

/* ---- a look -------------------------------------------------------------- */

/* The same turn as at the last look. */
static bool
same_turn(const struct waiter *th, const struct task_turns *t)
{
	return t->switches == th->last.switches && t->cpu_ns == th->last.cpu_ns;
}

/* In this turn looks have found it so since then. */
static void
note_wants(struct waiter *th, uint64_t now, const struct task_turns *t,
	   bool blocked)
{
	th->woke = !blocked && (th->blocked || th->woke) && same_turn(th, t);
	if (blocked)
		th->wants_since = 0;
	else if (!th->wants_since || !same_turn(th, t))
		th->wants_since = now;
	th->blocked = blocked;
}

void
account_look(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t, const struct look *look)
{
	const uint64_t slept = th->known ? th->frinfo : 0;

	th->looks++;
	trim(th, now, t);
	if (!look)
		add_blocked(a, th, now, account_new_blocked(th, now, t));
	else if (look->released)
		see_released(a, th, now, t);
	else if (look->blocked)
		see_blocked(a, th, now, t, look);
	note_wants(th, now, t, look ? look->blocked && !look->released :
		   th->blocked);
	count_waited(a, th, now, t, slept);
	th->last = *t;
	th->looked_at = now;
	held_write_due(a, th, now);
}

/* ---- the end ------------------------------------------------------------- */

/* Of one that was never seen blocked: asleep, where it ran. */
static void
guess_place(struct waiter *th)
{
	if (th->known)
		return;
	th->state = MSTATE_SLEEP;
	th->frinfo = th->run_frinfo;
}

uint64_t
account_part_waited(const struct waiter *th, uint64_t ns)
{
	const uint64_t all = th->waited_ns + th->blocked_ns;

	return all ? (uint64_t)((double)ns * (double)th->waited_ns /
				(double)all) : ns;
}

/* So long it does wait for a processor, by looks. */
static uint64_t
surely_waits(const struct waiter *th, uint64_t now, const struct task_turns *t)
{
	return th->wants_since && same_turn(th, t) ? now - th->wants_since : 0;
}

/* Nobody counted it yet, and it is not blocked: it runs, and its clock lags, or
 * it waits for a processor, and may have been blocked before. sure: so long
 * it did wait. */
static void
divide(struct accounts *a, struct waiter *th, uint64_t now,
       const struct task_turns *t, uint64_t open, uint64_t sure)
{
	if (open <= LAG_NS)
		return;
	if (sure > open)
		sure = open;

	const uint64_t wait = sure + account_part_waited(th, open - sure);

	add_waits_now(th, t, wait);
	add_blocked(a, th, now, open - wait);
}

/* What was since the last look nobody counted for us: it went on as it was on
 * the whole. */
static uint64_t
part_since(const struct waiter *th, uint64_t end, uint64_t ns)
{
	const uint64_t rest = end > th->looked_at ? end - th->looked_at : 0;
	const uint64_t life = th->looked_at - th->since_ns;

	return life ? (uint64_t)((double)rest * (double)ns / (double)life) : 0;
}

void
account_end(struct accounts *a, struct waiter *th, uint64_t end)
{
	a->ends++;
	a->lives_ns += life_of(th, end);
	if (th->last.switches == 0) {	/* no look has met it */
		a->brief_ns += life_of(th, end);
		return;
	}
	a->seen_cpu_ns += th->last.cpu_ns - th->base.cpu_ns;
	guess_place(th);
	if (!th->blocked)
		divide(a, th, end, &th->last,
		       account_new_blocked(th, th->looked_at, &th->last), 0);
	const uint64_t wait = part_since(th, end, th->waited_ns);

	add_blocked(a, th, end, part_since(th, end, th->blocked_ns));
	add_waits_now(th, &th->last, wait);
	held_place_woken(a, th, end, th->frinfo);
	held_place_waited(a, th, end);
	held_write(a, th, end);
}

void
account_stop(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t, bool blocked)
{
	trim(th, now, t);

	const uint64_t open = account_new_blocked(th, now, t);

	count_waited(a, th, now, t, 0);
	guess_place(th);
	if (blocked)
		add_blocked(a, th, now, open);
	else
		divide(a, th, now, t, open, surely_waits(th, now, t));
	held_place_woken(a, th, now, th->frinfo);
	held_place_waited(a, th, now);
	held_write(a, th, now);
	th->last = *t;
}

/* ---- a resource sample --------------------------------------------------- */

bool
account_can_wait(const struct waiter *th)
{
	return th->ended || th->gone_ns || !th->looks ||
		(th->blocked && held_is_still(th));
}

bool
account_is_as_before(const struct waiter *th, const struct task_turns *t)
{
	return th->blocked && same_turn(th, t);
}

/* By all that is known of it. */
static bool
hardly_blocks(const struct waiter *th)
{
	return th->known ? th->blocked_ns < th->waited_ns / HARDLY :
		th->looks >= SURE_LOOKS;
}

/* Of what nobody counted yet, of one that is not blocked: it may have been, and
 * what in the next look tells that finds it so (many page faults). Waits are as
 * long as it is used to, or since the beginning. */
static uint64_t
must_have_waited(const struct waiter *th, uint64_t now, uint64_t open,
		 const struct task_turns *t)
{
	const uint64_t turns = t->switches - th->base.switches;
	const uint64_t usual = turns ? 2 * th->waited_ns / turns :
		th->known ? 0 : open;
	const uint64_t most = surely_waits(th, now, t) + usual;

	return open <= LAG_NS ? 0 :
		open <= most || hardly_blocks(th) ? open : most;
}

void
account_settle(struct accounts *a, struct waiter *th, uint64_t now,
	       const struct task_turns *t, bool blocked)
{
	const bool as_before = account_is_as_before(th, t);

	trim(th, now, t);
	count_waited(a, th, now, t, 0);

	const uint64_t open = account_new_blocked(th, now, t);
	const uint64_t wait = blocked ? 0 : must_have_waited(th, now, open, t);

	add_waits_now(th, t, wait);
	if (as_before)
		add_blocked(a, th, now, open);
	/* else the next look tells what in */
	note_wants(th, now, t, blocked);
	th->blocked = as_before;
	if (!th->known || !th->frinfo) {	/* nobody saw it sleep */
		th->unplaced_ns += th->woken_ns;
		th->woken_ns = 0;
	}
	if (th->run_frinfo || th->frinfo)
		place_waited(a, th, now, 0);
	else
		held_place_later(th, now);
	th->last = *t;
	th->looked_at = now;
	held_write_sample(a, th, now);
}
