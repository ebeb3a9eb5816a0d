/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of traced calls: each is written once, and known by its id. What
 * the thread's last one was is remembered in its chunk's scratch, so that what
 * has not changed of it is not walked again. A handler that comes meanwhile
 * leaves the scratch alone.
 */
#include "hooks.h"

#define SEED	UINT64_C(0x9e3779b97f4a7c15)

struct scratch {
	uint64_t serial;	/* of the chunk, when its thread got it */
	uint64_t tables;	/* number of those that were walked by */
	struct step_trail trail;
};
_Static_assert(sizeof(struct scratch) <= TRACE_SCRATCH_BYTES, "its room");
_Static_assert((int)TRACE_DEPTH <= (int)STEP_TRAIL_PCS, "its room");

struct stack {
	const uint64_t *leaf;
	int32_t outwards;	/* 1, or -1: where the next one stands */
	uint32_t depth, end;
	uint64_t id;
};

/* Is it in the table? Full: it is not. */
static bool
is_known(const struct trace_area *a, uint64_t id, uint64_t **slot)
{
	uint64_t *table = (uint64_t *)((char *)a + a->stacks_at);
	uint32_t i;

	for (i = 0; i < TRACE_THREAD_PROBES; i++) {
		uint64_t *s = &table[(id + i) & (a->stacks - 1)];
		const uint64_t have = __atomic_load_n(s, __ATOMIC_ACQUIRE);

		if (have == id)
			return true;
		if (!have) {
			*slot = s;
			return false;
		}
	}
	*slot = NULL;
	return false;
}

/* Two threads may both write it; that is one of them too many, and harmless. */
static void
write_stack(struct trace_turn *turn, const struct stack *s, uint64_t *slot)
{
	const uint64_t *pc = s->leaf;
	uint64_t *to = hot_chunk_reserve(turn, s->depth + 2), none = 0;
	uint32_t i;

	if (!to)
		return;
	to[1] = s->id;
	for (i = 0; i < s->depth; i++, pc += s->outwards)
		to[i + 2] = *pc;
	__atomic_store_n(to, trace_head(TRACE_STACK, s->depth + 2, s->end),
			 __ATOMIC_RELEASE);
	if (slot)
		(void)__atomic_compare_exchange_n(slot, &none, s->id, false,
						  __ATOMIC_RELEASE,
						  __ATOMIC_RELAXED);
}

static struct stack
of_trail(const struct step_trail *t)
{
	return (struct stack){
		.leaf = &t->pcs[t->leaf], .outwards = -1,
		.depth = t->leaf + 1, .end = RECORD_COMPLETE,
		.id = t->crumbs[t->leaf].id,
	};
}

static struct stack
of_walk(const struct hot_walk *w)
{
	struct stack s = {
		.leaf = w->pcs, .outwards = 1, .depth = w->depth,
		.end = w->end, .id = SEED ^ w->end,
	};
	uint32_t i;

	for (i = w->depth; i > 0; i--)
		s.id = step_stack_id(s.id, w->pcs[i - 1]);
	return s;
}

static struct stack
find(struct record_area *area, const struct trace_thread *th,
     const struct step_regs *regs, struct scratch *s)
{
	const uint32_t tables = __atomic_load_n(&area->published,
						__ATOMIC_ACQUIRE);
	struct hot_walk w = {
		.pcs = s->trail.pcs, .tid = th->tid, .most = TRACE_DEPTH,
	};

	if (s->serial != th->serial || s->tables != tables) {
		s->serial = th->serial;
		s->tables = tables;
		s->trail.len = 0;
	}
	if (step_trail_recall(&s->trail, regs) ||
	    hot_stack_trail(area, regs, &s->trail, &w))
		return of_trail(&s->trail);
	s->trail.len = 0;
	return of_walk(&w);
}

/* In a handler that came while the thread was at a stack: the caller alone. */
static struct stack
caller_alone(const struct trace_caller *caller)
{
	const struct hot_walk w = {
		.pcs = (uint64_t *)&caller->pc, .depth = 1,
		.end = RECORD_NO_STACK,
	};

	return of_walk(&w);
}

uint64_t
hot_trace_stack(struct trace_turn *turn, const struct trace_caller *caller)
{
	const struct step_regs regs = {
		.pc = caller->pc, .sp = caller->sp, .fp = caller->fp,
	};
	struct trace_thread *th = turn->th;
	struct record_area *area = __atomic_load_n(&guest.area,
						   __ATOMIC_ACQUIRE);
	uint32_t scratch = 0;
	struct stack s;
	uint64_t *slot;

	if (!chunk_number(th) && !hot_chunk_next(turn->area, th))
		return 0;
	if (area && !th->walking) {
		th->walking = scratch = chunk_number(th);
		s = find(area, th, &regs, (struct scratch *)
			 (hot_chunk_data(turn->area, scratch - 1) +
			  TRACE_ROOM));
	} else {
		s = caller_alone(caller);
	}
	if (!is_known(turn->area, s.id, &slot))
		write_stack(turn, &s, slot);
	if (scratch) {
		th->walking = 0;
		if (chunk_number(th) != scratch)
			hot_chunk_close(turn->area, scratch,
				    hot_chunk_serial(turn->area, scratch));
	}
	return s.id;
}
