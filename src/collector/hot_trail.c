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
	uint64_t written;	/* the last stack that was */
	uint64_t pad;
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
static bool
write_stack(struct trace_turn *turn, const struct stack *s, uint64_t *slot)
{
	const uint64_t *pc = s->leaf;
	uint64_t *to = hot_chunk_reserve(turn, s->depth + 2), none = 0;
	uint32_t i;

	if (!to)
		return false;
	to[1] = s->id;
	for (i = 0; i < s->depth; i++, pc += s->outwards)
		to[i + 2] = *pc;
	__atomic_store_n(to, trace_head(TRACE_STACK, s->depth + 2, s->end),
			 __ATOMIC_RELEASE);
	if (slot)
		(void)__atomic_compare_exchange_n(slot, &none, s->id, false,
						  __ATOMIC_RELEASE,
						  __ATOMIC_RELAXED);
	return true;
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

/* What is there of another chunk's time, or by other tables, is void. */
static void
tidy(struct scratch *s, const struct record_area *area,
     const struct trace_thread *th)
{
	const uint32_t tables = __atomic_load_n(&area->published,
						__ATOMIC_ACQUIRE);

	if (s->serial == th->serial && s->tables == tables)
		return;
	s->serial = th->serial;
	s->tables = tables;
	s->written = 0;
	s->trail.len = 0;
}

static struct stack
find(struct record_area *area, const struct trace_thread *th,
     const struct step_regs *regs, struct step_trail *trail)
{
	struct hot_walk w = {
		.pcs = trail->pcs, .tid = th->tid, .most = TRACE_DEPTH,
	};

	if (hot_stack_trail(area, regs, trail, &w))
		return of_trail(trail);
	trail->len = 0;
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

static bool
write_if_new(struct trace_turn *turn, const struct stack *s)
{
	uint64_t *slot;

	return is_known(turn->area, s->id, &slot) ||
		write_stack(turn, s, slot);
}

static uint64_t
write_found(struct trace_turn *turn, struct record_area *area,
	    const struct step_regs *regs, struct scratch *scratch, bool again)
{
	const struct stack s = again ? of_trail(&scratch->trail) :
		find(area, turn->th, regs, &scratch->trail);

	if (write_if_new(turn, &s))
		scratch->written = s.id;
	return s.id;
}

/* Whose scratch it is was not closed meanwhile. */
static void
leave_scratch(const struct trace_turn *turn, uint32_t number)
{
	turn->th->walking = 0;
	if (chunk_number(turn->th) != number)
		hot_chunk_close(turn->area, number,
				hot_chunk_serial(turn->area, number));
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
	struct scratch *scratch;
	uint32_t number;
	uint64_t id;
	bool again;

	if (!chunk_number(th) && !hot_chunk_next(turn->area, th))
		return 0;
	if (!area || th->walking) {
		const struct stack s = caller_alone(caller);

		(void)write_if_new(turn, &s);	/* else it is counted */
		return s.id;
	}
	th->walking = number = chunk_number(th);
	scratch = (struct scratch *)(hot_chunk_data(turn->area, number - 1) +
				     TRACE_ROOM);
	tidy(scratch, area, th);
	again = step_trail_recall(&scratch->trail, &regs);
	id = again ? scratch->trail.crumbs[scratch->trail.leaf].id : 0;
	if (!id || id != scratch->written)
		id = write_found(turn, area, &regs, scratch, again);
	leave_scratch(turn, number);
	return id;
}
