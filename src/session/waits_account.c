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
 * taken for blocked time only when the thread is found blocked, and at the end
 * for such a wait where it is not. What began before us and ended since is not
 * all ours: nobody has had more time than has passed.
 *
 * Time is held back for a while, to be one packet for each place and state.
 */
#include "waits.h"

#define HOLD_NS		UINT64_C(1000000000)	/* until it is written */
#define HOLD_MAX_NS	UINT64_C(16000000000)	/* ... of who waits for long */

/* ---- packets --------------------------------------------------------------- */

static void
write_held(struct accounts *a, struct waiter *th, uint64_t now)
{
	for (size_t i = 0; i < th->held_len; i++) {
		const struct held_time *h = &th->held[i];

		if (!h->ns)		/* it was taken back */
			continue;
		a->booked[h->state] += h->ns;
		recorder_wait(a->rec, now, th->of.tid, h->state, h->ns,
			      h->frinfo ? h->frinfo : a->unseen_frinfo);
	}
	th->held_len = 0;
	th->held_since = now;
}

static void
hold(struct accounts *a, struct waiter *th, uint64_t now, enum mstate state,
     uint64_t ns, uint64_t frinfo)
{
	if (!ns)
		return;
	for (size_t i = 0; i < th->held_len; i++) {
		struct held_time *h = &th->held[i];

		if (h->state == state && h->frinfo == frinfo) {
			h->ns += ns;
			return;
		}
	}
	if (th->held_len == HELD_MAX)
		write_held(a, th, now);
	th->held[th->held_len++] = (struct held_time){ state, frinfo, ns };
}

/* Who waits for long says so in fewer packets. */
static void
write_when_due(struct accounts *a, struct waiter *th, uint64_t now)
{
	const bool still = th->turns_written == th->last.switches;
	const uint64_t span = still ? th->hold_ns : HOLD_NS;

	if (now - th->held_since < span)
		return;
	th->hold_ns = !still ? HOLD_NS : th->hold_ns < HOLD_MAX_NS ?
		th->hold_ns * 2 : HOLD_MAX_NS;
	th->turns_written = th->last.switches;
	write_held(a, th, now);
}

/* ---- what it waited for a processor ------------------------------------------ */

/* Where it was blocked, if that is how it was found, or where it ran last. */
static void
place_waited(struct accounts *a, struct waiter *th, uint64_t now)
{
	hold(a, th, now, MSTATE_WAIT_CPU, th->unplaced_ns,
	     th->run_frinfo && !th->blocked ? th->run_frinfo : th->frinfo);
	th->unplaced_ns = 0;
}

/* Of what is not written yet. */
static uint64_t
take_back(struct waiter *th, enum mstate state, uint64_t ns)
{
	uint64_t left = ns;

	for (size_t i = 0; i < th->held_len && left; i++) {
		struct held_time *h = &th->held[i];
		const uint64_t part = h->state != state ? 0 :
			h->ns < left ? h->ns : left;

		h->ns -= part;
		left -= part;
	}
	return ns - left;
}

static void
count_waited(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t)
{
	const uint64_t all = t->wait_ns - th->base.wait_ns;

	if (all < th->waited_ns) {	/* it was not all ours */
		th->waited_ns -= take_back(th, MSTATE_WAIT_CPU,
					   th->waited_ns - all);
		return;
	}
	th->unplaced_ns += all - th->waited_ns;
	th->waited_ns = all;
	if (th->run_frinfo || th->frinfo)
		place_waited(a, th, now);
}

/* ---- what it was blocked -------------------------------------------------------- */

static uint64_t
counted(const struct waiter *th, const struct task_turns *t)
{
	return th->blocked_ns + t->cpu_ns - th->base.cpu_ns +
		t->wait_ns - th->base.wait_ns;
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
	hold(a, th, now, th->state, ns, th->frinfo);
}

static bool
is_fault(enum mstate state)
{
	return state == MSTATE_TEXT_FAULT || state == MSTATE_DATA_FAULT;
}

/*
 * Waits for a disk take microseconds, and while they last there may be no
 * processor for us to look (a virtual machine's disk is at work on it). So
 * page faults are counted, too: where nearly each turn was due to one, all
 * that was blocked was theirs; else what they take, as it was seen then.
 */
static uint64_t
part_of_faults(struct waiter *th, uint64_t fresh, uint64_t faults,
	       uint64_t turns)
{
	if (!faults || faults > turns)
		return 0;
	if (faults * 10 >= turns * 9) {
		th->fault_ns = fresh / faults;
		return fresh;
	}

	const uint64_t part = fresh / turns * faults;

	return th->fault_ns && th->fault_ns * faults < part ?
		th->fault_ns * faults : part;
}

static uint64_t
add_faults(struct accounts *a, struct waiter *th, uint64_t now,
	   uint64_t fresh, const struct task_turns *t, const struct look *look)
{
	/* what it is blocked in now began after the last look */
	const uint64_t most = now - th->looked_at;
	const uint64_t own = (fresh < most ? fresh : most) / 2;
	const uint64_t part = th->known && !is_fault(look->state) ?
		part_of_faults(th, fresh - own, look->faults - th->faults,
			       t->switches - th->fault_turns) : 0;

	th->faults = look->faults;
	th->fault_turns = t->switches;
	th->blocked_ns += part;
	if (is_fault(th->state))
		hold(a, th, now, th->state, part, th->frinfo);
	else
		hold(a, th, now, MSTATE_DATA_FAULT, part, th->run_frinfo);
	return part;
}

static void
see_blocked(struct accounts *a, struct waiter *th, uint64_t now,
	    const struct task_turns *t, const struct look *look)
{
	const uint64_t all = account_new_blocked(th, now, t);
	const uint64_t faults = add_faults(a, th, now, all, t, look);
	const uint64_t fresh = all - faults;
	const uint64_t before = th->known && !faults ? fresh / 2 : 0;

	add_blocked(a, th, now, before);
	th->state = look->state;
	th->frinfo = look->frinfo ? look->frinfo : th->run_frinfo;
	th->known = true;
	add_blocked(a, th, now, fresh - before);
}

/* ---- more than there was time for ----------------------------------------------- */

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
		const uint64_t part = take_back(th, th->state, more);

		th->blocked_ns -= part;
		more -= part;
	}
	if (more > th->before_ns)
		more = th->before_ns;
	th->before_ns -= more;
	th->base.wait_ns += more;
}

/* ---- a look ------------------------------------------------------------------------ */

void
account_look(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t, const struct look *look)
{
	th->looks++;
	trim(th, now, t);
	if (!look)
		add_blocked(a, th, now, account_new_blocked(th, now, t));
	else if (look->blocked)
		see_blocked(a, th, now, t, look);
	if (look)
		th->blocked = look->blocked;
	count_waited(a, th, now, t);
	th->last = *t;
	th->looked_at = now;
	write_when_due(a, th, now);
}

/* ---- the end ---------------------------------------------------------------------- */

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

/* Nobody counted it yet, and it is not blocked: it runs, and its clock lags, or
 * it waits for a processor, and may have been blocked before. sure: so long
 * it did wait. */
static void
divide(struct accounts *a, struct waiter *th, uint64_t now, uint64_t open,
       uint64_t sure)
{
	if (open <= LAG_NS)
		return;
	if (sure > open)
		sure = open;

	const uint64_t wait = sure + account_part_waited(th, open - sure);

	th->waited_ns += wait;
	th->unplaced_ns += wait;
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
		divide(a, th, end, account_new_blocked(th, th->looked_at,
						       &th->last), 0);
	th->unplaced_ns += part_since(th, end, th->waited_ns);
	add_blocked(a, th, end, part_since(th, end, th->blocked_ns));
	place_waited(a, th, end);
	write_held(a, th, end);
}

/* The same turn as at the last look. */
static bool
same_turn(const struct waiter *th, const struct task_turns *t)
{
	return t->switches == th->last.switches && t->cpu_ns == th->last.cpu_ns;
}

void
account_stop(struct accounts *a, struct waiter *th, uint64_t now,
	     const struct task_turns *t, bool blocked)
{
	trim(th, now, t);

	const uint64_t open = account_new_blocked(th, now, t);
	const bool same = same_turn(th, t);

	count_waited(a, th, now, t);
	guess_place(th);
	if (blocked)
		add_blocked(a, th, now, open);
	else
		divide(a, th, now, open, same && !th->blocked ?
		       now - th->looked_at : 0);
	place_waited(a, th, now);
	write_held(a, th, now);
	th->last = *t;
}
