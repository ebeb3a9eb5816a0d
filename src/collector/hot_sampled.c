/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some allocations instead of all: as if each byte were chosen by itself, once
 * in so many. A thread counts down the bytes that it asks for, and where that
 * crosses zero the block is chosen; from there on distances have no memory, so
 * the next one is drawn anew. Which blocks were chosen is known until they are
 * freed: by a table in the trace area, and before it by counts that are in the
 * cache, so that most calls of free need not look into it. Without a lock; a
 * block's entry is only touched by who has the block. Who was on its way when
 * the recording changed for one of all blocks finds no table, and all chosen.
 */
#include "hooks.h"

enum { WINDOW = 16, STUCK = UINT8_MAX };
#define GOLDEN		UINT64_C(0x9e3779b97f4a7c15)
#define LN2_Q32		UINT64_C(2977044472)

uint64_t hot_sample_bytes;
uint8_t hot_sampled[TRACE_SAMPLED_COUNTS];

static uint64_t randoms[TRACE_THREADS];	/* by thread; 0: not begun */

static uint64_t *
random_of(const struct trace_thread *th)
{
	return &randoms[th - hot_threads];
}

/* ---- distances ----------------------------------------------------------- */

static uint64_t
draw(const struct trace_thread *th)
{
	uint64_t z = *random_of(th) += GOLDEN;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Of u >= 1, with 32 bits behind the point: squared again and again. */
static uint64_t
log2_of(uint64_t u)
{
	const int zeros = __builtin_clzll(u);
	uint64_t x = u << zeros, log = (uint64_t)(63 - zeros);
	int i;

	for (i = 0; i < 32; i++) {
		const unsigned __int128 square = (unsigned __int128)x * x >> 63;
		const uint64_t bit = (uint64_t)(square >> 64);

		log = log << 1 | bit;
		x = (uint64_t)(square >> bit);
	}
	return log;
}

/* Exponentially distributed about `bytes`; a part of one is one: then a block
 * of n is passed by with just the probability that n are. */
static int64_t
distance(const struct trace_thread *th, uint64_t bytes)
{
	const uint64_t u = draw(th) | 1;
	const uint64_t log = (UINT64_C(64) << 32) - log2_of(u);
	const uint64_t ln = (uint64_t)((unsigned __int128)log * LN2_Q32 >> 32);

	return (int64_t)((unsigned __int128)bytes * ln >> 32) + 1;
}

/* Nothing is hooked yet, or no more. */
void
hot_sample_start(uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < TRACE_THREADS; i++) {
		if (!randoms[i] && !hot_threads[i].until)
			continue;	/* its page may be nobody's yet */
		randoms[i] = 0;
		hot_threads[i].until = 0;
	}
	for (i = 0; i < TRACE_SAMPLED_COUNTS; i++)
		hot_sampled[i] = 0;
	__atomic_store_n(&hot_sample_bytes, bytes, __ATOMIC_SEQ_CST);
}

/* ---- the set ------------------------------------------------------------- */

/* One that has no room any more counts for ever. */
static void
count(uint64_t address, int by)
{
	uint8_t *at = &hot_sampled[hot_sample_hash(address)];
	uint8_t n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != STUCK && !(n == 0 && by < 0) &&
	       !__atomic_compare_exchange_n(at, &n, (uint8_t)(n + by), false,
					    __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
}

static uint64_t *
window_of(const struct trace_area *a, uint64_t address)
{
	const uint64_t at = (address * GOLDEN >> 40) & (a->sampled - WINDOW);

	return (uint64_t *)((char *)a + a->sampled_at) + at;
}

/* From one value to another, in its window. */
static bool
change(const struct trace_area *a, uint64_t address, uint64_t from, uint64_t to)
{
	uint64_t *w = window_of(a, address);
	uint32_t i;

	for (i = 0; i < WINDOW; i++) {
		uint64_t was = from;

		if (__atomic_load_n(&w[i], __ATOMIC_RELAXED) == from &&
		    __atomic_compare_exchange_n(&w[i], &was, to, false,
						__ATOMIC_SEQ_CST,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool
keep(const struct trace_turn *turn, uint64_t address)
{
	/* it is there where its end was not seen */
	if (change(turn->area, address, address, address))
		return true;
	if (!change(turn->area, address, 0, address)) {
		__atomic_fetch_add(&turn->area->lost[TRACE_LOST_SAMPLED], 1,
				   __ATOMIC_RELAXED);
		return false;
	}
	count(address, 1);
	return true;
}

/* ---- a block ------------------------------------------------------------- */

bool
hot_sample_choose(const struct trace_turn *turn, const void *p, uint64_t size)
{
	const uint64_t bytes = turn->area->sample_bytes;
	struct trace_thread *th = turn->th;

	if (!turn->area->sampled_at)
		return true;
	if (*random_of(th) == 0) {	/* its first one counts down as any */
		*random_of(th) = (hot_trace_now() ^ th->pointer ^
				  (uint64_t)th->tid << 32) | 1;
		th->until = distance(th, bytes) -
			(int64_t)(size ? size : 1);
		if (th->until > 0)
			return false;
	}
	th->until = distance(th, bytes);
	return keep(turn, (uint64_t)p);
}

bool
hot_sample_drop(const struct trace_turn *turn, const void *p)
{
	if (!turn->area->sampled_at)
		return true;
	if (!change(turn->area, (uint64_t)p, (uint64_t)p, 0))
		return false;
	count((uint64_t)p, -1);
	return true;
}

uint64_t
hot_sample_take(const void *p)
{
	struct trace_turn turn;
	uint64_t now;
	bool was;

	if (!p || !hot_sample_may_have(p))
		return 0;
	now = hot_trace_now();
	if (!hot_trace_begin(&turn, TRACE_HEAP, now))
		return 0;
	was = hot_sample_drop(&turn, p);
	hot_trace_end(&turn);
	return was ? now : 0;
}

void
hot_sample_give_back(const void *p)
{
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_HEAP, hot_trace_now()))
		return;
	if (turn.area->sampled_at)
		(void)keep(&turn, (uint64_t)p);	/* else it is counted */
	hot_trace_end(&turn);
}
