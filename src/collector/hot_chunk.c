/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of the trace area: a thread's own, the next one, room in it.
 */
#include "hooks.h"

#include <asm/unistd.h>

#define NO_PLACE	UINT64_MAX

static struct trace_chunk *
chunk_of(const struct trace_area *a, uint64_t index)
{
	return (struct trace_chunk *)((char *)a + a->chunks_at) + index;
}

/* A free one, now ours; NO_PLACE: there is none. */
static uint64_t
find_free(struct trace_area *a, uint32_t start)
{
	const uint32_t words = a->chunks / 64;
	uint32_t i;

	for (i = 0; i < words; i++) {
		const uint32_t at = (start + i) % words;
		uint64_t bits = __atomic_load_n(&a->free[at],
						__ATOMIC_ACQUIRE);

		while (bits) {
			const uint64_t bit = bits & -bits;

			if (__atomic_compare_exchange_n(&a->free[at], &bits,
							bits & ~bit, false,
							__ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return at * UINT64_C(64) +
					(uint64_t)__builtin_ctzll(bit);
		}
	}
	return NO_PLACE;
}

static void
pause_for(const struct trace_area *a, uint32_t round)
{
	enum { SPINS = 64 };
	const struct { int64_t s, ns; } while_ = { 0, 50000 };

	if (round < SPINS || hot_is_confined(a))
		__builtin_ia32_pause();
	else
		(void)sys4(__NR_nanosleep, (uint64_t)&while_, 0, 0, 0);
}

/* Since nobody has freed a chunk, in which calls are held up one after the
 * other; then they lose their records at once. A recorder that has no processor
 * for a moment costs nothing but that moment; one that stands, or more threads
 * than there are chunks, do not bring the program to a standstill. */
static bool
is_in_vain(const struct trace_area *a, uint64_t freed, uint64_t now)
{
	enum { WAITS = 10 };

	return __atomic_load_n(&a->vain, __ATOMIC_RELAXED) == freed + 1 &&
		(int64_t)(now - __atomic_load_n(&a->vain_since,
						__ATOMIC_RELAXED)) >
		(int64_t)(WAITS * a->wait_ticks);
}

static void
note_vain(struct trace_area *a, uint64_t freed, uint64_t since)
{
	if (__atomic_load_n(&a->vain, __ATOMIC_RELAXED) == freed + 1)
		return;
	__atomic_store_n(&a->vain_since, since, __ATOMIC_RELAXED);
	__atomic_store_n(&a->vain, freed + 1, __ATOMIC_RELEASE);
}

/* The clock may go while we wait: then it was as long as it may be. */
static uint64_t
passed_since(const struct trace_area *a, uint64_t since)
{
	const uint64_t now = hot_trace_now();

	return now ? now - since : a->wait_ticks;
}

static uint64_t
wait_for_free(struct trace_area *a, uint32_t start)
{
	const uint64_t since = hot_trace_now();
	const uint64_t freed = __atomic_load_n(&a->freed, __ATOMIC_RELAXED);
	uint64_t index = NO_PLACE, passed = 0;
	uint32_t round;

	/* without a clock nobody knows how long: a visit ends, or the program
	 * has taken it from itself */
	if (!since || is_in_vain(a, freed, since))
		return NO_PLACE;
	__atomic_fetch_add(&a->waits, 1, __ATOMIC_RELAXED);
	for (round = 0; index == NO_PLACE && passed < a->wait_ticks &&
	     __atomic_load_n(&a->on, __ATOMIC_RELAXED); round++) {
		pause_for(a, round);
		index = find_free(a, start);
		passed = passed_since(a, since);
	}
	__atomic_fetch_add(&a->waited_ticks, passed, __ATOMIC_RELAXED);
	if (index == NO_PLACE)
		note_vain(a, freed, since);
	return index;
}

void
hot_chunk_close(const struct trace_area *a, uint32_t number, uint64_t serial)
{
	uint64_t open = serial << 2 | TRACE_OPEN;

	if (number)
		(void)__atomic_compare_exchange_n(
			&chunk_of(a, number - 1)->state, &open,
			serial << 2 | TRACE_CLOSED, false, __ATOMIC_RELEASE,
			__ATOMIC_RELAXED);
}

uint64_t
hot_chunk_serial(const struct trace_area *a, uint32_t number)
{
	return number ? __atomic_load_n(&chunk_of(a, number - 1)->state,
					__ATOMIC_RELAXED) >> 2 : 0;
}

bool
hot_chunk_next(struct trace_area *a, struct trace_thread *th)
{
	const uint32_t start = th->tid;
	uint64_t index = find_free(a, start);
	struct trace_chunk *c;
	uint64_t serial;
	uint32_t old;

	if (index == NO_PLACE)
		index = wait_for_free(a, start);
	if (index == NO_PLACE)
		return false;
	c = chunk_of(a, index);
	c->tid = th->tid;
	serial = __atomic_add_fetch(&a->serial, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&c->state, serial << 2 | TRACE_OPEN,
			 __ATOMIC_RELEASE);
	old = (uint32_t)(__atomic_exchange_n(&th->place, (index + 1) << 32,
					     __ATOMIC_ACQ_REL) >> 32);
	if (old != th->walking)		/* else its scratch is in use */
		hot_chunk_close(a, old, hot_chunk_serial(a, old));
	th->serial = serial;
	return true;
}

uint64_t *
hot_chunk_more(struct trace_turn turn, uint32_t bytes, uint64_t at)
{
	enum { TRIES = 3 };
	int i;

	for (i = 0; i < TRIES; i++) {
		uint32_t used = (uint32_t)at;

		if (at >> 32 && used < TRACE_ROOM)
			*(volatile uint64_t *)(hot_chunk_data(turn.area,
						       (at >> 32) - 1) + used) =
				trace_head(TRACE_REST, 1, 0);
		if (!hot_chunk_next(turn.area, turn.th))
			break;
		at = hot_chunk_take(turn.th, bytes);
		used = (uint32_t)at;
		if (at >> 32 && used + bytes <= TRACE_ROOM)
			return (uint64_t *)(used +
				hot_chunk_data(turn.area, (at >> 32) - 1));
	}
	/* it would grow into the chunk's number */
	if ((uint32_t)turn.th->place > TRACE_ROOM)
		__atomic_store_n((uint32_t *)&turn.th->place, TRACE_ROOM,
				 __ATOMIC_RELAXED);
	__atomic_fetch_add(&turn.area->lost[TRACE_LOST_FULL], 1,
			   __ATOMIC_RELAXED);
	return NULL;
}
