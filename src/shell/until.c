/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a step ends that lets all threads run: a breakpoint that only one
 * thread meets, and neither in a deeper frame nor on another stack; or where
 * it lands by another way than a return (landing.c); or the end of its thread.
 */
#include "events.h"

#include <string.h>

/* ---- what the tracer judges ---------------------------------------------- */

/* Handlers have their numbers, from 1. */
static int
who(size_t i)
{
	return -1 - (int)i;
}

void
until_filter(struct shell *sh, size_t i, uint64_t address,
	     const struct condition *c)
{
	const struct session_filter f = {
		.who = who(i), .users = 1, .thread = sh->until.tid,
		.condition = *c,
	};

	/* what others wait for there is judged here */
	if (spot_users(sh, address) != 1)
		return;
	sh->until.filtered[i] = session_filter(sh->session, spot_number(
				sh, address), &f) == 0;
	fail_clear();
}

static uint64_t
address_of(const struct shell *sh, size_t i)
{
	return i ? sh->landings.items[i - 1].address : sh->until.address;
}

static void
end_filter(struct shell *sh, size_t i)
{
	struct session_hits hits;

	if (sh->until.filtered[i] && target_alive(sh) &&
	    session_hits(sh->session, who(i), true, &hits) < 0)
		fail_clear();
	sh->until.filtered[i] = false;
}

void
until_unfilter(struct shell *sh, uint64_t address)
{
	for (size_t i = 0; sh->until.on && i <= LANDINGS_MAX; i++)
		if (sh->until.filtered[i] && address_of(sh, i) == address)
			end_filter(sh, i);
}

/* ---- it begins and ends -------------------------------------------------- */

static void
filter_own(struct shell *sh)
{
	const struct until *u = &sh->until;
	const struct condition c = {
		.len = u->same_sp ? 3 : 4,
		.steps = {
			{ .op = CONDITION_REGISTER,
			  .number = (uint8_t)arch.reg_sp },
			{ .op = CONDITION_WORD, .word = u->sp },
			{ .op = u->same_sp ? CONDITION_EQUAL : CONDITION_LESS },
			{ .op = CONDITION_NOT },
		},
	};

	until_filter(sh, 0, u->address, &c);
}

int
until_begin(struct shell *sh, uint64_t addr, pid_t tid, uint64_t sp,
	    enum until_sp which)
{
	if (sh->at_exec) {
		fail(FAIL_USAGE, "process %d stands at its exec: only single "
		     "instructions go on from there",
		     session_pid(sh->session));
		return fail_remedy("stepi, or stop syncrtld and cont");
	}
	if (spot_take(sh, addr, false) < 0)
		return -1;
	sh->until = (struct until){
		.on = true, .address = addr, .tid = tid, .sp = sp,
		.same_sp = which == UNTIL_SAME_SP,
	};
	filter_own(sh);
	landings_begin(sh);
	if (wants_review(sh) < 0)	/* its end is not told */
		fail_clear();
	return 0;
}

static bool
fits(const struct until *u, uint64_t addr, uint64_t sp)
{
	return addr == u->address &&
		(u->same_sp ? sp == u->sp : sp >= u->sp);
}

bool
until_takes(struct shell *sh, uint64_t addr, pid_t tid)
{
	struct until *u = &sh->until;
	struct session_step at;

	if (!u->on || tid != u->tid ||
	    session_at(sh->session, tid, &at) < 0)
		return false;
	u->landed = u->landed || (addr == u->landing && at.sp >= u->sp);
	u->reached = u->reached || u->landed || fits(u, addr, at.sp);
	if (!u->reached)
		landing_follow(sh, addr);
	return u->reached;
}

bool
until_thread_ends(struct shell *sh, pid_t tid)
{
	struct until *u = &sh->until;

	if (!u->on || tid != u->tid)
		return false;
	u->ended = true;
	return true;
}

enum until_over
until_end(struct shell *sh)
{
	const struct until u = sh->until;

	if (!u.on)
		return UNTIL_NOT_REACHED;
	for (size_t i = 0; i <= LANDINGS_MAX; i++)
		end_filter(sh, i);
	sh->until = (struct until){0};
	spot_drop(sh, u.address);
	landings_end(sh, &u);
	(void)wants_review(sh);		/* it may have ended */
	fail_clear();
	return u.ended ? UNTIL_THREAD_ENDED : u.landed ? UNTIL_LANDED :
		u.reached ? UNTIL_REACHED : UNTIL_NOT_REACHED;
}

/* ---- where a frame ends -------------------------------------------------- */

int
frame_return(struct shell *sh, pid_t tid, uint64_t *addr)
{
	struct session_stacks st;
	uint64_t call = 0;

	if (session_where(sh->session, tid, LOOK_GENTLY, &st) < 0)
		return -1;
	for (size_t i = 0; i < st.len; i++)
		if (st.items[i].tid == tid && st.items[i].len > 1)
			call = st.items[i].pcs[1];
	session_stacks_fini(&st);
	if (call && session_behind_call(sh->session, call, addr) < 0)
		return -1;
	if (call && *addr)
		return 0;
	fail(FAIL_UNSUITABLE, "where the function of thread %d returns to is "
	     "not known", (int)tid);
	return fail_remedy("where shows its stack; stop in FUNCTION, then "
			   "cont");
}

/* Where its stack is when it has returned; 0: not known. */
uint64_t
frame_return_sp(struct shell *sh, pid_t tid)
{
	const pid_t thread = sh->thread;
	struct debug_frame f = { 0 };
	struct debug *d;

	sh->thread = tid;
	d = debuggee_now(sh);
	if (!d || debug_frames(d, 1) == 0 || debug_frame(d, 0, &f) < 0)
		f.cfa = 0;
	sh->thread = thread;
	fail_clear();
	return f.signal ? 0 : f.cfa;
}
