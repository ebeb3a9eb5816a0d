/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hook to a record (include/trace.h). No lock, no library call; no
 * system call but while no chunk is free, and where a thread stands where it
 * was not seen before (hot_room.c). A handler may come at any point and write
 * records of its own: what a thread shares with its handlers is changed by
 * single instructions.
 */
#include "hooks.h"

void *hot_originals[TRACE_FUNCTIONS];

struct trace_thread hot_threads[TRACE_THREADS];
uint64_t hot_trace_strangers;

/* ---- threads ------------------------------------------------------------- */

struct trace_thread *
hot_trace_claim(uint64_t pointer)
{
	const uint64_t first = hot_trace_hash(pointer);
	uint32_t i;

	/* without a thread pointer libc's number of it is nowhere */
	for (i = 0; pointer && i < TRACE_THREAD_PROBES; i++) {
		struct trace_thread *th = &hot_threads[(first + i) %
						   TRACE_THREADS];
		uint64_t was = __atomic_load_n(&th->pointer, __ATOMIC_ACQUIRE);

		if (was == pointer)
			return th;
		if (!was && __atomic_compare_exchange_n(&th->pointer, &was,
							pointer, false,
							__ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
			return th;
		if (was == pointer)
			return th;	/* by a handler, just now */
	}
	__atomic_fetch_add(&hot_trace_strangers, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Who waits until nobody is inside any more. */
bool
hot_trace_is_quiet(void)
{
	uint32_t i;

	for (i = 0; i < TRACE_THREADS; i++)
		if (__atomic_load_n(&hot_threads[i].inside, __ATOMIC_ACQUIRE) !=
		    hot_threads[i].stale)
			return false;
	return true;
}

void
hot_trace_look(bool first)
{
	uint32_t i;

	for (i = 0; i < TRACE_THREADS; i++) {
		struct trace_thread *th = &hot_threads[i];
		const uint32_t inside = __atomic_load_n(&th->inside,
							__ATOMIC_ACQUIRE);

		if (th->stale != inside && (first || inside < th->stale))
			th->stale = inside;
	}
}

/* ---- a turn -------------------------------------------------------------- */

void
hot_trace_renew(struct trace_area *a, uint64_t now)
{
	const uint64_t beat = __atomic_load_n(&a->beat, __ATOMIC_RELAXED);

	__atomic_store_n(&a->seen_at, now, __ATOMIC_RELAXED);
	__atomic_store_n(&a->seen_beat, beat, __ATOMIC_RELEASE);
}

/* One that got an old one's pointer closes the chunk that it finds, and so does
 * one that another recorder knew. */
void
hot_trace_meet(struct trace_turn turn, uint32_t tid)
{
	struct trace_thread *th = turn.th;

	if (th->token == sonde_owner.token)
		hot_chunk_close(turn.area, chunk_number(th), th->serial);
	th->place = 0;
	th->walking = 0;
	th->room.pages = 0;
	th->tid = tid;
	th->token = sonde_owner.token;
}
