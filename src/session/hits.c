/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that were told of at a breakpoint: whoever stands at a trap then
 * executes what is under it first when it goes on, and hits it no second time.
 * Many can stand at one; and one at several, where it stands in a function that
 * was called for it there: it passes the outer one when it is back.
 */
#include "private.h"

#include <stdlib.h>
#include <sys/user.h>

int
tracer_note_hit(struct tracer *tr, const struct breakpoint *bp, pid_t tid)
{
	size_t i = 0;

	while (i < tr->trap_count && tr->traps[i].at != bp)
		i++;
	if (i == tr->trap_count)
		return -1;
	tr->hits = xgrow(tr->hits, &tr->hit_cap, tr->hit_count + 1,
			 sizeof *tr->hits);
	tr->hits[tr->hit_count++] = (struct hit){
		.tid = tid, .addr = breakpoint_address(bp),
	};
	return (int)i;
}

/* Is it still to pass there, later? */
static bool
stays(const struct tracer *tr, const struct hit *hit)
{
	struct user_regs_struct regs;
	struct arch_regs at;

	if (target_is_suspended(tr->target, hit->tid))
		return true;
	if (!tr->call_count || thread_get_regs(hit->tid, &regs) < 0)
		return false;
	arch.from_ptrace(&regs, &at);
	return at.reg[arch.reg_pc] != hit->addr;
}

int
tracer_step_off(struct tracer *tr, pid_t only)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < tr->hit_count; i++) {
		const struct hit hit = tr->hits[i];
		struct breakpoint *bp = breakpoint_at(tr->target, hit.addr);

		if (!bp)
			continue;
		if (r < 0 || (only && hit.tid != only) || stays(tr, &hit))
			tr->hits[kept++] = hit;
		else
			r = breakpoint_step_over(tr->target, bp, hit.tid);
	}
	tr->hit_count = kept;
	return r;
}
