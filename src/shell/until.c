/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a step ends that lets all threads run: a breakpoint that only one
 * thread meets, and not in a deeper frame. A handler's at the same address
 * serves as well.
 */
#include "private.h"

#include <string.h>

static const struct handler *
handler_at(const struct shell *sh, uint64_t addr)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (h->breakpoint >= 0 && h->address == addr)
			return h;
	}
	return NULL;
}

int
until_begin(struct shell *sh, uint64_t addr, pid_t tid, uint64_t least_sp)
{
	const struct handler *h = handler_at(sh, addr);
	const int number = h ? h->breakpoint :
		session_break(sh->session, addr, NO_TRAP);

	if (number < 0)
		return -1;
	sh->until = (struct until){
		.on = true, .own = !h, .breakpoint = number, .tid = tid,
		.least_sp = least_sp,
	};
	return 0;
}

bool
until_takes(struct shell *sh, int breakpoint, pid_t tid, bool *again)
{
	struct until *u = &sh->until;
	struct session_step at;

	if (!u->on || breakpoint != u->breakpoint)
		return false;
	if (tid == u->tid && session_at(sh->session, tid, &at) == 0 &&
	    at.sp >= u->least_sp)
		u->reached = true;
	*again = !u->reached;
	return true;
}

bool
until_end(struct shell *sh)
{
	const struct until u = sh->until;

	sh->until = (struct until){0};
	if (u.own && target_alive(sh))
		(void)session_unbreak(sh->session, u.breakpoint);
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
	if (call && (session_behind_call(sh->session, call, addr) < 0))
		return -1;
	if (call && *addr)
		return 0;
	fail(FAIL_UNSUITABLE, "where the function of thread %d returns to is "
	     "not known", (int)tid);
	return fail_remedy("where shows its stack; stop in FUNCTION, then "
			   "cont");
}
