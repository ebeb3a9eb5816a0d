/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of the interrupted code, by tables that the tracer published and
 * may replace at any moment: a reader announces itself on a half, then checks
 * that this half is still the current one.
 *
 * Nothing that may be unmapped is read. Known to be there is the main stack
 * (its mapping reaches from sp to its end, since sp stands in it: nothing else
 * was between when we came), and, where both stand in one published mapping
 * with a guard below, the stretch from sp to the thread's own descriptor,
 * which libc puts above the stack. (The first thread's descriptor is anywhere;
 * a stack of the program's own may be below it with a hole between. But the
 * first thread of a child began as another, on such a stack: what its rows
 * lead to is there.) A handler's alternate stack is there up to the end that
 * the program told the kernel: there the kernel has put the signal's frame; so
 * what rows lead to is. Of any other stack (a new thread's until it is
 * published, a coroutine's) it is the rest of the page that sp points into:
 * to ask the kernel for more is a system call, and a seccomp filter may end
 * the program for that.
 *
 * What a handler on an alternate stack interrupted had its sp in one of the
 * first two, mostly. Had, or was about to: a stack that overflows is told of
 * there. So only what is mapped for certain is read, whatever sp says: from
 * where the main stack was seen to reach, and in a published mapping.
 */
#include "private.h"

#include <ucontext.h>

#include "hazard.h"

enum { ENTER_TRIES = 4 };
#define MAIN_STACK_MAX	(UINT64_C(1) << 30)
#define ALTERNATE_STACK_MAX	MAIN_STACK_MAX
#define FRAME_MAX	(UINT64_C(64) << 10)	/* with all of AVX-512 and AMX */

uint32_t hot_fs_readable;

static const struct record_tables *
enter(struct record_area *area, uint32_t *half)
{
	int i;

	for (i = 0; i < ENTER_TRIES; i++) {
		const uint32_t h = __atomic_load_n(&area->tables,
						   __ATOMIC_SEQ_CST);

		if (h >= RECORD_HALF_NONE)
			return NULL;
		__atomic_fetch_add(&area->readers[h], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&area->tables, __ATOMIC_SEQ_CST) == h) {
			*half = h;
			return (const struct record_tables *)
				((char *)area + area->tables_at[h]);
		}
		__atomic_fetch_sub(&area->readers[h], 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void
leave(struct record_area *area, uint32_t half)
{
	__atomic_fetch_sub(&area->readers[half], 1, __ATOMIC_SEQ_CST);
}

/* The published mapping that holds addr, or NULL. */
static const struct record_stack *
published(const struct record_tables *t, uint64_t addr)
{
	const struct record_stack *s = (const struct record_stack *)
		((const char *)t + t->stacks_at);
	uint32_t lo = 0, hi = t->stacks;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (addr < s[mid].start)
			hi = mid;
		else if (addr >= s[mid].end)
			lo = mid + 1;
		else
			return &s[mid];
	}
	return NULL;
}

static uint64_t
page_end(uint64_t sp)
{
	return (sp | (PAGE_BYTES - 1)) + 1;
}

static bool
on_main_stack(const struct record_area *area, uint64_t sp, uint64_t tp)
{
	const uint64_t end = area->main_stack_end;

	if (handled(HAZARD_STRAY_STACK) && sp < area->main_stack_floor)
		return false;
	return sp < end && end - sp < MAIN_STACK_MAX && (tp < sp || tp > end);
}

/* By the tracer's numbers (perf signals) or by our own (timers). */
static bool
is_first_thread(const struct record_area *area, uint32_t tid)
{
	return tid == area->leader || tid == guest.pid;
}

/*
 * The main stack does not shrink, and reaches down to where it stands: the
 * kernel has written the tick's own frame right below. Where that lies on an
 * alternate stack, the page of sp may not be there yet.
 */
static void
note_main_stack(struct record_area *area, uint64_t sp)
{
	const uint64_t frame = (uint64_t)__builtin_frame_address(0);

	if (frame >= sp || sp - frame > FRAME_MAX)
		return;
	if (sp < __atomic_load_n(&area->main_stack_low, __ATOMIC_RELAXED))
		__atomic_store_n(&area->main_stack_low, sp, __ATOMIC_RELAXED);
}

/* From sp to the thread's descriptor, in one published mapping; or 0. */
static uint64_t
below_descriptor(const struct record_tables *t, uint64_t sp, uint64_t tp)
{
	const struct record_stack *s = tp > sp ? published(t, sp) : NULL;

	return s && tp <= s->end ? tp - sp : 0;
}

/* From sp to the end of the alternate stack that it is on; or 0. */
static uint64_t
on_alternate_stack(const stack_t *alternate, uint64_t sp)
{
	const uint64_t size = alternate->ss_size;
	const uint64_t at = sp - (uint64_t)alternate->ss_sp;

	return size < ALTERNATE_STACK_MAX && at < size ? size - at : 0;
}

/* Our frame is below sp, so the page of sp is there. A handler on an alternate
 * stack knows nothing of where sp was: it may be a number. */
static bool
is_above_us(uint64_t sp)
{
	enum { ONE_STACK = 64 << 10 };

	return sp - (uint64_t)__builtin_frame_address(0) < ONE_STACK;
}

/* From sp up to the first address that may be gone. */
static void
find_stack(struct record_area *area, const struct record_tables *t,
	   uint32_t tid, const stack_t *alternate, struct step_stack *stack)
{
	const uint64_t sp = stack->base, page = page_end(sp) - sp;
	const uint64_t tp = thread_pointer();
	bool sure;

	if (on_main_stack(area, sp, tp)) {
		note_main_stack(area, sp);
		stack->size = area->main_stack_end - sp;
		return;
	}
	stack->size = below_descriptor(t, sp, tp);
	sure = stack->size && !is_first_thread(area, tid);
	if (!stack->size)
		stack->size = on_alternate_stack(alternate, sp);
	if (!stack->size && is_above_us(sp))
		stack->size = page;
	if (handled(HAZARD_STRAY_STACK) && !sure && stack->size > page)
		stack->doubtful = stack->size - page;
}

/* The stack of what a signal interrupted whose handler ran on another one. */
static bool
find_under(const struct record_area *area, const struct record_tables *t,
	   uint32_t tid, const struct step_regs *regs, struct step_stack *stack)
{
	const uint64_t sp = regs->sp, tp = thread_pointer();
	const uint64_t low = __atomic_load_n(&area->main_stack_low,
					     __ATOMIC_RELAXED);
	uint64_t size = 0;

	if (!regs->exact || sp - stack->base <= stack->size)
		return false;
	if (low && sp >= low && on_main_stack(area, sp, tp))
		size = area->main_stack_end - sp;
	else if (!is_first_thread(area, tid))
		size = below_descriptor(t, sp, tp);
	*stack = (struct step_stack){
		.data = (const unsigned char *)sp, .base = sp, .size = size,
	};
	return size > 0;
}

static uint8_t
end_of(enum step_result r)
{
	switch (r) {
	case STEP_OUTERMOST: return RECORD_COMPLETE;
	case STEP_CUT: return RECORD_CUT;
	case STEP_NO_ROW: return RECORD_NO_ROW;
	case STEP_NEEDS_FULL: return RECORD_NEEDS_FULL;
	default: return RECORD_WILD;
	}
}

static struct step_tables
tables_of(const struct record_area *area, const struct record_tables *t)
{
	return (struct step_tables){
		.origin = (const unsigned char *)t,
		.ranges = (const struct step_range *)
			((const char *)t + t->ranges_at),
		.count = t->ranges,
		.memo = (struct step_memo *)((char *)area + area->memo_at),
	};
}

/* From regs, which are those of the last frame. */
static void
walk(struct record_area *area, const struct record_tables *t,
     struct step_stack *stack, struct step_regs *regs, struct hot_walk *w)
{
	const struct step_tables tables = tables_of(area, t);
	const uint32_t most = w->most;
	enum step_result r = STEP_OK;
	uint32_t n = w->depth;

	while (n < most && r == STEP_OK) {
		n += step_ahead(&tables, stack, regs, w->pcs + n, most - n);
		if (n < most)
			r = step_frame(&tables, stack, regs);
		if (r == STEP_CUT &&
		    find_under(area, t, w->tid, regs, stack)) {
			r = STEP_OK;
			continue;
		}
		if (n < most && r == STEP_OK)
			w->pcs[n++] = regs->pc |
				(regs->exact ? RECORD_PC_EXACT : 0);
	}
	w->depth = n;
	w->end = r == STEP_OK ? RECORD_TOO_DEEP : end_of(r);
}

void
hot_stack_from(struct record_area *area, const struct step_regs *from,
	       const stack_t *alternate, struct hot_walk *w)
{
	struct step_regs regs = *from;
	const struct record_tables *t;
	struct step_stack stack = {
		.data = (const unsigned char *)regs.sp, .base = regs.sp,
	};
	uint32_t half;

	w->pcs[0] = regs.pc | (regs.exact ? RECORD_PC_EXACT : 0);
	w->depth = 1;
	w->end = RECORD_NO_TABLES;
	t = enter(area, &half);
	if (!t)
		return;
	find_stack(area, t, w->tid, alternate, &stack);
	walk(area, t, &stack, &regs, w);
	leave(area, half);
}

bool
hot_stack_trail(struct record_area *area, const struct step_regs *from,
		struct step_trail *trail, struct hot_walk *w)
{
	const stack_t no_alternate = { .ss_size = 0 };
	struct step_regs regs = *from;
	struct step_stack stack = {
		.data = (const unsigned char *)regs.sp, .base = regs.sp,
	};
	const struct record_tables *t;
	uint32_t half;
	bool trailed;

	t = enter(area, &half);
	if (!t) {
		w->pcs[0] = regs.pc;
		w->depth = 1;
		w->end = RECORD_NO_TABLES;
		return false;
	}
	find_stack(area, t, w->tid, &no_alternate, &stack);

	const struct step_tables tables = tables_of(area, t);

	trailed = step_trail_walk(trail, &tables, &stack, &regs) ==
		STEP_OUTERMOST;
	if (!trailed) {
		w->depth = trail->leaf;
		walk(area, t, &stack, &regs, w);
	}
	leave(area, half);
	return trailed;
}

void
hot_stack_walk(struct record_area *area, const void *context,
	       struct record *rec, uint32_t most)
{
	const ucontext_t *uc = context;
	const greg_t *g = uc->uc_mcontext.gregs;
	const struct step_regs regs = {
		.pc = (uint64_t)g[REG_RIP], .sp = (uint64_t)g[REG_RSP],
		.fp = (uint64_t)g[REG_RBP], .exact = 1,
	};

	struct hot_walk w = { rec->pcs, rec->tid, most, 0, 0 };

	hot_stack_from(area, &regs, &uc->uc_stack, &w);
	rec->depth = (uint16_t)w.depth;
	rec->end = w.end;
}

bool
hot_stack_has(struct record_area *area, uint32_t tid, uint64_t sp,
	      uint64_t address)
{
	const stack_t no_alternate = { .ss_size = 0 };
	struct step_stack stack = { .base = sp };
	const struct record_tables *t;
	uint32_t half;

	t = enter(area, &half);
	if (!t)
		return false;
	find_stack(area, t, tid, &no_alternate, &stack);
	leave(area, half);
	return address >= sp && address - sp < stack.size - stack.doubtful;
}

bool
hot_stack_is_roomy(struct record_area *area, uint64_t sp, uint64_t least)
{
	const struct record_stack *s;
	const struct record_tables *t;
	uint32_t half;
	bool roomy;

	if (on_main_stack(area, sp, thread_pointer()))
		return true;
	t = enter(area, &half);
	if (!t)
		return false;
	s = published(t, sp);
	roomy = s && sp - s->start >= least;
	leave(area, half);
	return roomy;
}
