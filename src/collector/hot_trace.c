/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hook to a record (include/trace.h). No lock, no library call; no
 * system call but while no chunk is free. A handler may come at any point and
 * write records of its own: what a thread shares with its handlers is changed
 * by single instructions.
 */
#include "hooks.h"

enum { HASH_SHIFT = 64 - 13 };
#define GOLDEN	UINT64_C(0x9e3779b97f4a7c15)

void *hot_originals[TRACE_FUNCTIONS];

static struct trace_thread threads[TRACE_THREADS];
_Static_assert(TRACE_THREADS == 1 << (64 - HASH_SHIFT), "one slot a hash");

uint64_t
hot_trace_now(void)
{
	return __builtin_ia32_rdtsc();
}

static uint64_t
thread_pointer(void)
{
	uint64_t tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* ---- threads ------------------------------------------------------------- */

static struct trace_thread *
claim(uint64_t pointer)
{
	const uint64_t first = pointer * GOLDEN >> HASH_SHIFT;
	uint32_t i;

	for (i = 0; i < TRACE_THREAD_PROBES; i++) {
		struct trace_thread *th = &threads[(first + i) %
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
	return NULL;
}

static struct trace_thread *
thread(void)
{
	const uint64_t pointer = thread_pointer();
	struct trace_thread *th = &threads[pointer * GOLDEN >> HASH_SHIFT];

	return th->pointer == pointer ? th : claim(pointer);
}

/* One instruction each: a handler sees all of it, or nothing. */
static void
enter(struct trace_thread *th)
{
	__asm__ volatile("incl %0" : "+m"(th->inside) : : "memory", "cc");
}

static void
leave(struct trace_thread *th)
{
	__asm__ volatile("decl %0" : "+m"(th->inside) : : "memory", "cc");
}

/* Who waits until nobody is inside any more. */
bool
hot_trace_is_quiet(void)
{
	uint32_t i;

	for (i = 0; i < TRACE_THREADS; i++)
		if (__atomic_load_n(&threads[i].inside, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* ---- a turn -------------------------------------------------------------- */

static bool
lease_holds(struct trace_area *a, uint64_t now)
{
	const uint64_t beat = __atomic_load_n(&a->beat, __ATOMIC_RELAXED);

	if (beat == __atomic_load_n(&a->seen_beat, __ATOMIC_RELAXED))
		return (int64_t)(now - __atomic_load_n(&a->seen_at,
						       __ATOMIC_RELAXED)) <
			(int64_t)a->lease_ticks;
	__atomic_store_n(&a->seen_at, now, __ATOMIC_RELAXED);
	__atomic_store_n(&a->seen_beat, beat, __ATOMIC_RELEASE);
	return true;
}

/* Its number, as libc has it: a thread that got an old one's pointer closes
 * the chunk that it finds, and so does one that another recorder knew. */
static void
know(const struct trace_turn *turn)
{
	struct trace_thread *th = turn->th;
	const uint32_t tid = *(const uint32_t *)
		(th->pointer + (uint64_t)(int64_t)turn->area->tid_offset);

	if (th->tid == tid && th->token == sonde_owner.token)
		return;
	if (th->token == sonde_owner.token)
		hot_chunk_close(turn->area, chunk_number(th), th->serial);
	th->place = 0;
	th->walking = 0;
	th->tid = tid;
	th->token = sonde_owner.token;
}

bool
hot_trace_begin(struct trace_turn *turn, enum trace_family family, uint64_t now)
{
	const struct guest_origin *origin;

	turn->th = thread();
	if (!turn->th)
		return false;
	enter(turn->th);
	origin = __atomic_load_n(&guest.origin, __ATOMIC_ACQUIRE);
	turn->area = origin ? __atomic_load_n(&origin->trace,
					      __ATOMIC_ACQUIRE) : NULL;
	if (turn->area && __atomic_load_n(&turn->area->on, __ATOMIC_RELAXED) &
	    1u << family) {
		if (lease_holds(turn->area, now)) {
			know(turn);
			return true;
		}
		__atomic_fetch_add(&turn->area->lost[TRACE_LOST_LEASE], 1,
				   __ATOMIC_RELAXED);
	}
	leave(turn->th);
	return false;
}

void
hot_trace_end(const struct trace_turn *turn)
{
	leave(turn->th);
}

void
hot_trace_write(struct trace_turn *turn, enum trace_kind kind,
		enum trace_function function, const uint64_t *words,
		uint32_t n)
{
	uint64_t *to = hot_chunk_reserve(turn, n + 1);
	uint32_t i;

	if (!to)
		return;
	for (i = 0; i < n; i++)
		to[i + 1] = words[i];
	__atomic_store_n(to, trace_head(kind, n + 1, function),
			 __ATOMIC_RELEASE);
}
