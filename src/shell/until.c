/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a step ends that lets all threads run: a breakpoint that only one
 * thread meets, and not in a deeper frame.
 */
#include "private.h"

#include <string.h>

int
until_begin(struct shell *sh, uint64_t addr, pid_t tid, uint64_t least_sp)
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
		.on = true, .address = addr, .tid = tid, .least_sp = least_sp,
	};
	return 0;
}

bool
until_takes(struct shell *sh, uint64_t addr, pid_t tid)
{
	struct until *u = &sh->until;
	struct session_step at;

	if (!u->on || addr != u->address || tid != u->tid ||
	    session_at(sh->session, tid, &at) < 0 || at.sp < u->least_sp)
		return false;
	u->reached = true;
	return true;
}

bool
until_end(struct shell *sh)
{
	const struct until u = sh->until;

	sh->until = (struct until){0};
	if (u.on)
		spot_drop(sh, u.address);
	fail_clear();
	return u.reached;
}

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
