/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is there room for what a hook does? What it records comes when the original
 * has returned, and its walk takes a KB of stack: on an alternate stack of two
 * (MINSIGSTKSZ), where a handler has just begun, that is not there. So a thread
 * whose sp is where it was not seen before asks the kernel once whether that
 * is its alternate stack, and how much of it lies below.
 *
 * What is known is a range of pages: those that sp was seen in, and what lies
 * between near ones. It grows with the stack; on another stack (a coroutine's)
 * it begins anew. Who is confined by a filter may not ask: there it is what the
 * tracer has published of the stack.
 */
#include "hooks.h"

#include <asm/unistd.h>

enum {
	NEAR = 16,		/* pages */
	BELOW_DESCRIPTOR = 64 << 10,
};

/* Pages of this stack do not have enough of it below them. */
struct tight {
	uint64_t start, end;	/* pages; none: both 0 */
};

static bool
overlaps(const struct tight *t, uint64_t first, uint64_t end)
{
	return first < t->end && t->start < end;
}

/* The known pages with this one, where it is near them, and what lies between;
 * else this one. */
static void
learn(struct trace_thread *th, uint64_t page, const struct tight *t)
{
	const int64_t off = (int32_t)((uint32_t)page - th->room.first);
	uint64_t first = page, end = page + 1;
	struct trace_room now = { 0, 0 };

	if (th->room.pages && off >= -NEAR &&
	    off <= (int64_t)th->room.pages + NEAR) {
		const uint64_t known = page - (uint64_t)off;
		const uint64_t known_end = known + th->room.pages;

		first = known < first ? known : first;
		end = known_end > end ? known_end : end;
	}
	if (overlaps(t, first, end)) {
		first = page;
		end = page + 1;
	}
	if (!overlaps(t, first, end))
		now = (struct trace_room){ (uint32_t)first,
					   (uint32_t)(end - first) };
	__atomic_store(&th->room, &now, __ATOMIC_RELAXED);
}

/* It may be an array of the program's own, in pages that others share. */
static struct tight
tight_pages(const stack_t *s)
{
	const uint64_t start = (uint64_t)s->ss_sp;
	const uint64_t bytes = s->ss_size < TRACE_STACK_LEAST ? s->ss_size :
		TRACE_STACK_LEAST;

	if (!bytes)
		return (struct tight){ 0, 0 };
	return (struct tight){ start / PAGE_BYTES,
			       (start + bytes - 1) / PAGE_BYTES + 1 };
}

static bool
by_kernel(struct trace_thread *th, uint64_t sp)
{
	enum { ON_IT = 1, DISABLED = 2 };
	struct tight tight = { 0, 0 };
	stack_t s;

	if (sys4(__NR_sigaltstack, 0, (uint64_t)&s, 0, 0) < 0)
		return true;
	if (s.ss_flags & ON_IT && sp - (uint64_t)s.ss_sp < TRACE_STACK_LEAST)
		return false;
	if (!(s.ss_flags & DISABLED))
		tight = tight_pages(&s);
	learn(th, sp / PAGE_BYTES, &tight);
	return true;
}

/* A new thread's stack is not published yet: it stands near its end. */
static bool
by_tracer(struct trace_thread *th, uint64_t sp)
{
	const struct tight none = { 0, 0 };
	struct record_area *area = __atomic_load_n(&guest.area,
						   __ATOMIC_ACQUIRE);

	if (th->pointer - sp >= BELOW_DESCRIPTOR &&
	    (!area || !hot_stack_is_roomy(area, sp, TRACE_STACK_LEAST)))
		return false;
	learn(th, sp / PAGE_BYTES, &none);
	return true;
}

bool
hot_room_ask(const struct trace_turn *turn, uint64_t sp)
{
	return hot_is_confined(turn->area) ? by_tracer(turn->th, sp) :
		by_kernel(turn->th, sp);
}
