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
 * lead to is there.) Of any other stack (a new thread's until it is published,
 * a signal's, a coroutine's) it is the rest of the page that sp points into:
 * to ask the kernel for more is a system call, and a seccomp filter may end
 * the program for that.
 */
#include "private.h"

#include <ucontext.h>

#include "hazard.h"

enum { ENTER_TRIES = 4 };
#define MAIN_STACK_MAX	(UINT64_C(1) << 30)

static uint64_t
thread_pointer(void)
{
	uint64_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

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

/* From sp up to the first address that may be gone. */
static void
find_stack(const struct record_area *area, const struct record_tables *t,
	   uint32_t tid, struct step_stack *stack)
{
	const uint64_t sp = stack->base, page = page_end(sp) - sp;
	const uint64_t tp = thread_pointer();
	const struct record_stack *s;

	if (on_main_stack(area, sp, tp)) {
		stack->size = area->main_stack_end - sp;
		return;
	}
	s = tp > sp ? published(t, sp) : NULL;
	stack->size = s && tp <= s->end ? tp - sp : page;
	if (handled(HAZARD_STRAY_STACK) && is_first_thread(area, tid) &&
	    stack->size > page)
		stack->doubtful = stack->size - page;
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

static void
walk(struct record_area *area, const struct record_tables *t,
     const struct step_stack *stack, struct step_regs *regs, struct record *rec,
     uint32_t most)
{
	const struct step_tables tables = {
		.origin = (const unsigned char *)t,
		.ranges = (const struct step_range *)
			((const char *)t + t->ranges_at),
		.count = t->ranges,
		.memo = (struct step_memo *)((char *)area + area->memo_at),
	};
	enum step_result r = STEP_OK;
	uint32_t n = rec->depth;

	while (n < most && r == STEP_OK) {
		n += step_ahead(&tables, stack, regs, rec->pcs + n, most - n);
		if (n < most)
			r = step_frame(&tables, stack, regs);
		if (n < most && r == STEP_OK)
			rec->pcs[n++] = regs->pc |
				(regs->exact ? RECORD_PC_EXACT : 0);
	}
	rec->depth = (uint16_t)n;
	rec->end = r == STEP_OK ? RECORD_TOO_DEEP : end_of(r);
}

void
hot_stack_walk(struct record_area *area, const void *context,
	       struct record *rec, uint32_t most)
{
	const greg_t *g = ((const ucontext_t *)context)->uc_mcontext.gregs;
	struct step_regs regs = {
		.pc = (uint64_t)g[REG_RIP], .sp = (uint64_t)g[REG_RSP],
		.fp = (uint64_t)g[REG_RBP], .exact = 1,
	};
	const struct record_tables *t;
	struct step_stack stack = {
		.data = (const unsigned char *)regs.sp, .base = regs.sp,
	};
	uint32_t half;

	rec->pcs[0] = regs.pc | RECORD_PC_EXACT;
	rec->depth = 1;
	rec->end = RECORD_NO_TABLES;
	t = enter(area, &half);
	if (!t)
		return;
	find_stack(area, t, rec->tid, &stack);
	walk(area, t, &stack, &regs, rec, most);
	leave(area, half);
}
