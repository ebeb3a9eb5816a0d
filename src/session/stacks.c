/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * where: the stacks of live threads. Blocked threads are looked at without a
 * stop; the others by one short snapshot. Addresses only: names are looked up
 * in the shell's process.
 */
#include "private.h"

#include <stdlib.h>

enum { STACK_MAX = 1 << 20, FRAMES_MAX = 20000 };

struct view {
	struct target *target;
	struct unwind_space *space;
	struct mapper *mapper;
	struct unwind_trace trace;
};

static void
put_thread(struct view *v, const struct snapshot_thread *th,
	   struct wire_message *m)
{
	const struct step_stack stack = {
		.data = th->stack, .base = th->stack_base,
		.size = th->stack_size,
	};

	const bool stands = target_held(v->target);

	unwind_walk(v->space, &th->regs, &stack, stands ? mapper_read : NULL,
		    v->mapper, FRAMES_MAX, &v->trace);
	wire_put(m, (uint64_t)th->tid);
	wire_put(m, (uint64_t)th->facts.state);
	wire_put_text(m, th->facts.name);
	wire_put(m, v->trace.end == UNWIND_COMPLETE);
	wire_put(m, v->trace.len);
	for (size_t i = 0; i < v->trace.len; i++)
		wire_put(m, v->trace.pcs[i]);
}

int
stacks_answer(struct target *t, pid_t tid, struct wire_message *m,
	      uint64_t *pause_ns)
{
	struct view v = { .target = t };
	struct snapshot snap = {0};
	int result = -1;

	/* a first thread that has ended has no stack; another speaks for it */
	if (tid == target_pid(t))
		tid = target_live_thread(t);
	v.space = unwind_space_new();
	v.mapper = mapper_new(t, v.space, NULL);
	if (mapper_sync(v.mapper, now_ns()) < 0 ||
	    snapshot_take(t, tid, STACK_MAX, &snap) < 0)
		goto out;
	wire_put(m, snap.pause_ns);
	*pause_ns = target_held(t) ? 0 : snap.pause_ns;
	for (size_t i = 0; i < snap.len; i++)
		if (snap.threads[i].ok)
			put_thread(&v, &snap.threads[i], m);
	result = 0;
out:
	snapshot_fini(&snap);
	unwind_trace_fini(&v.trace);
	mapper_free(v.mapper);
	unwind_space_free(v.space);
	return result;
}
