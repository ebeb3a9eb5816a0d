/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in our handler. Nothing is blocked there (hot_return.c), so a handler
 * of the program may come on top of ours, with ticks on top of that, and leave
 * all of them for good by siglongjmp. What ours held until then would be held
 * for ever: the memory for records, a window, a half of the tables. So each
 * thread has a visit as long as it is inside, found by its thread pointer, and
 * the next tick of the thread sees that it was left.
 */
#include "hazard.h"
#include "private.h"

enum { PROBES = 16 };

struct visit hot_visits[VISITS];

static uint64_t
mark_at(uint64_t frame)
{
	return frame ^ UINT64_C(0x6b72616d65646e73);
}

static struct visit *
find(uint64_t pointer)
{
	const uint64_t first = pointer * UINT64_C(0x9e3779b97f4a7c15) >> 54;
	uint32_t i;

	_Static_assert(VISITS == 1 << (64 - 54), "one slot a hash");
	for (i = 0; pointer && i < PROBES; i++) {
		struct visit *v = &hot_visits[(first + i) % VISITS];

		if (__atomic_load_n(&v->pointer, __ATOMIC_RELAXED) == pointer)
			return v;
	}
	for (i = 0; pointer && i < PROBES; i++) {
		struct visit *v = &hot_visits[(first + i) % VISITS];
		uint64_t nobody = 0;

		if (__atomic_compare_exchange_n(&v->pointer, &nobody, pointer,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return v;
	}
	return NULL;
}

/*
 * The lowest handler stood, on the same stack, where we stand now, or below;
 * or what it had in its frame is something else by now. (One that stands on
 * another stack may come back.)
 */
static bool
is_left(struct record_area *area, const struct visit *v, uint64_t at)
{
	const uint64_t frame = v->frame;

	if (!handled(HAZARD_SIGNAL_MASK))
		return false;
	if (frame <= at)
		return frame == at || hot_stack_has(area, v->tid, frame, at);
	return hot_stack_has(area, v->tid, at, frame) &&
		*(const uint64_t *)frame != mark_at(frame);
}

static void
let_go(struct record_area *area, struct visit *v)
{
	const uint32_t half = v->reading;

	v->reading = 0;
	if (half)
		__atomic_fetch_sub(&area->readers[half - 1], 1,
				   __ATOMIC_SEQ_CST);
	if (v->window)
		hot_ring_leave(v->window);
	v->window = NULL;
	v->more = 0;
}

struct visit *
hot_visit_begin(volatile uint64_t *mark, bool *lowest)
{
	const uint64_t at = (uint64_t)mark;
	struct visit *v = find(thread_pointer());
	struct record_area *area;

	*lowest = true;
	if (!v) {
		__atomic_fetch_add(&guest.inside, 1, __ATOMIC_SEQ_CST);
		return NULL;
	}
	*mark = mark_at(at);
	if (!__atomic_load_n(&v->frame, __ATOMIC_RELAXED))
		__atomic_store_n(&v->frame, at, __ATOMIC_RELAXED);
	if (__atomic_add_fetch(&v->inside, 1, __ATOMIC_SEQ_CST) == 1) {
		__atomic_store_n(&v->frame, at, __ATOMIC_RELAXED);
		return v;
	}
	area = forked() ? NULL : __atomic_load_n(&guest.area,
						 __ATOMIC_SEQ_CST);
	*lowest = area && is_left(area, v, at);
	if (!*lowest)
		return v;
	let_go(area, v);
	__atomic_store_n(&v->frame, at, __ATOMIC_RELAXED);
	__atomic_store_n(&v->inside, 1, __ATOMIC_SEQ_CST);
	return v;
}

void
hot_visit_end(struct visit *v, bool lowest)
{
	if (!v) {
		__atomic_fetch_sub(&guest.inside, 1, __ATOMIC_SEQ_CST);
		return;
	}
	if (lowest) {
		v->tid = 0;
		__atomic_store_n(&v->frame, 0, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&v->inside, 1, __ATOMIC_SEQ_CST);
	if (lowest)
		__atomic_store_n(&v->pointer, 0, __ATOMIC_RELEASE);
}
