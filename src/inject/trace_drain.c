/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of traced calls, out of their chunks. The target can write
 * everything in there, so nothing read from it is trusted: a record that does
 * not fit its chunk costs the rest of that chunk, no more.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "hazard.h"
#include "tracing.h"

enum {
	WORD = 8, WORDS_MAX = TRACE_ROOM / WORD,
	/* A round is no longer, however much there is: who drains has the time
	 * to keep, too. The next one goes on from there. */
	SLICE_NS = 200 * 1000 * 1000,
};

static struct trace_chunk *
chunk_of(const struct tracing *tr, size_t i)
{
	return (struct trace_chunk *)((char *)tr->area +
				      tr->layout.chunks_at) + i;
}

static char *
data_of(const struct tracing *tr, size_t i)
{
	return (char *)tr->area + tr->layout.data_at + i * TRACE_CHUNK_BYTES;
}

/* ---- records ------------------------------------------------------------- */

static const uint32_t least[] = {
	[TRACE_REST] = 1, [TRACE_STACK] = 3, [TRACE_ALLOC] = 5,
	[TRACE_RELEASE] = 4, [TRACE_MOVE] = 7, [TRACE_WAIT] = 6,
	[TRACE_CALL] = 6,
};

/* 0: not known, or it says something else: a mutex whose owner has died. */
static pid_t
owner_of(struct tracing *tr, pid_t inner)
{
	return guest_tid_is_plausible((uint32_t)inner) ?
		guest_known_tid(tr->g, inner) : 0;
}

static void
tell_wait(struct tracing *tr, struct trace_event *ev, const uint64_t *w)
{
	ev->stack = w[2];
	ev->since_ns = tracing_time(tr, w[3]);
	ev->object = w[4];
	ev->owner = owner_of(tr, (pid_t)w[5]);
}

static void
tell_call(struct tracing *tr, struct trace_event *ev, uint64_t *w,
	  uint32_t words)
{
	ev->stack = w[2];
	ev->since_ns = tracing_time(tr, w[3]);
	ev->fd = (int32_t)w[4];
	ev->other_fd = (int32_t)(w[4] >> 32);
	ev->result = (int64_t)w[5];
	if (words > 6) {
		((char *)(w + words))[-1] = '\0';
		ev->path = (const char *)(w + 6);
		ev->path_bytes = (words - 6) * WORD;
	}
}

static void
tell_memory(struct tracing *tr, struct trace_event *ev, const uint64_t *w)
{
	ev->address = w[2];
	ev->size = w[3];
	if (ev->kind != TRACE_RELEASE)
		ev->stack = w[4];
	if (ev->kind != TRACE_MOVE)
		return;
	ev->old_address = w[5];
	ev->old_time_ns = tracing_time(tr, w[6]);
}

static void
tell_stack(struct trace_event *ev, const uint64_t *w, uint32_t words,
	   uint32_t end)
{
	ev->stack = w[1];
	ev->pcs = w + 2;
	ev->depth = words - 2;
	ev->end = end < RECORD_ENDS ? end : RECORD_WILD;
}

/* false: there is no such record. */
static bool
tell(struct tracing *tr, pid_t tid, uint64_t *w, uint32_t words,
     trace_sink sink, void *arg)
{
	const uint32_t kind = (uint8_t)w[0], detail = (uint32_t)(w[0] >> 32);
	struct trace_event ev = { .kind = kind, .tid = tid };

	if (kind == TRACE_STACK) {
		tell_stack(&ev, w, words, detail);
		sink(arg, &ev);
		return true;
	}
	if (detail >= TRACE_FUNCTIONS)
		return false;
	ev.function = detail;
	ev.time_ns = tracing_time(tr, w[1]);
	if (kind == TRACE_WAIT)
		tell_wait(tr, &ev, w);
	else if (kind == TRACE_CALL)
		tell_call(tr, &ev, w, words);
	else
		tell_memory(tr, &ev, w);
	sink(arg, &ev);
	return true;
}

enum chunk_end { MORE_MAY_COME, AT_ITS_END };

/* What is complete by now. The words are copied: they may change. */
static enum chunk_end
read_chunk(struct tracing *tr, size_t i, pid_t tid, trace_sink sink, void *arg)
{
	uint32_t at = tr->chunks[i].at;
	uint64_t copy[WORDS_MAX];

	while (at < TRACE_ROOM) {
		const uint64_t *from = (const uint64_t *)(data_of(tr, i) + at);
		const uint64_t head = __atomic_load_n(from, __ATOMIC_ACQUIRE);
		const uint32_t kind = (uint8_t)head;
		const uint32_t words = (uint16_t)(head >> 8);

		if (!head || kind == TRACE_REST) {
			tr->chunks[i].at = at;
			return head ? AT_ITS_END : MORE_MAY_COME;
		}
		if (!kind || kind >= TRACE_KINDS || words < least[kind] ||
		    words > (TRACE_ROOM - at) / WORD) {
			tr->spoiled++;
			return AT_ITS_END;
		}
		memcpy(copy, from, words * WORD);
		copy[0] = head;
		tr->spoiled += !tell(tr, tid, copy, words, sink, arg);
		at += words * WORD;
	}
	tr->chunks[i].at = at;
	return AT_ITS_END;
}

/* ---- chunks -------------------------------------------------------------- */

static void
give_back(struct tracing *tr, size_t i)
{
	memset(data_of(tr, i), 0, TRACE_ROOM);
	__atomic_store_n(&chunk_of(tr, i)->state, 0, __ATOMIC_RELEASE);
	__atomic_fetch_or(&tr->area->free[i / 64], UINT64_C(1) << i % 64,
			  __ATOMIC_ACQ_REL);
	__atomic_fetch_add(&tr->area->freed, 1, __ATOMIC_RELAXED);
}

static bool
close_for(struct trace_chunk *c, uint64_t state)
{
	const uint64_t closed = (state & ~UINT64_C(3)) | TRACE_CLOSED;

	return __atomic_compare_exchange_n(&c->state, &state, closed, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

enum chunk_use { CHUNK_FREE, CHUNK_OPEN, CHUNK_CLOSED };

static enum chunk_use
meet_chunk(struct tracing *tr, size_t i, uint64_t *state)
{
	const struct trace_chunk *c = chunk_of(tr, i);

	*state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
	if ((*state & 3) != TRACE_OPEN && (*state & 3) != TRACE_CLOSED)
		return CHUNK_FREE;
	if (tr->chunks[i].serial != *state >> 2)
		tr->chunks[i] = (struct chunk_state){
			.serial = *state >> 2, .inner = c->tid,
			.met_ns = now_ns(),
		};
	return (*state & 3) == TRACE_OPEN ? CHUNK_OPEN : CHUNK_CLOSED;
}

/* In another namespace threads are looked for once in a round, which tells of
 * all chunks that were met before. */
static void
meet_chunks(struct tracing *tr)
{
	uint64_t state;

	tr->round_ns = now_ns();
	for (size_t i = 0; tr->g->other_namespace && i < tr->layout.chunks; i++)
		(void)meet_chunk(tr, i, &state);
}

static bool
thread_is_known(struct tracing *tr, size_t i)
{
	struct chunk_state *c = &tr->chunks[i];

	if (!c->known)
		c->known = guest_tid_since(tr->g, (pid_t)c->inner, c->met_ns,
					   tr->round_ns, &c->tid);
	return c->known;
}

static void
drain_chunk(struct tracing *tr, size_t i, bool last, trace_sink sink,
	    void *arg)
{
	uint64_t state;
	const enum chunk_use use = meet_chunk(tr, i, &state);
	const struct chunk_state *c = &tr->chunks[i];
	const uint32_t was = c->at;
	enum chunk_end end = AT_ITS_END;
	bool sound;
	pid_t tid;

	if (use == CHUNK_FREE || (!thread_is_known(tr, i) && !last))
		return;
	tid = c->tid ? c->tid : (pid_t)c->inner;
	sound = guest_tid_is_plausible(c->inner);
	tr->spoiled += !sound;
	if (sound)
		end = read_chunk(tr, i, tid, sink, arg);
	if (last)
		return;
	if (!sound || (use == CHUNK_CLOSED && end == AT_ITS_END)) {
		give_back(tr, i);
		return;
	}
	/* A thread that has ended closes nothing; asked where nothing has come
	 * for a round. What it wrote while we looked is read first. */
	if (c->at == was && guest_thread_ended(tr->g, c->tid) &&
	    (use == CHUNK_CLOSED || close_for(chunk_of(tr, i), state))) {
		const uint32_t inner = c->inner;

		(void)read_chunk(tr, i, tid, sink, arg);
		give_back(tr, i);
		guest_forget_tid(tr->g, inner);
	}
}

/* A program that asks the kernel by itself for a filter passes no hook. */
static void
look_for_filters(struct tracing *tr)
{
	enum { EVERY = 10 };	/* rounds, for each thread */
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = tr->area->confined ? 0 :
		target_threads(tr->g->t, &tids, &cap);

	tr->rounds++;
	for (ssize_t i = 0; i < n; i++)
		if ((tr->rounds + (uint64_t)i) % (n < EVERY ? 1 : EVERY) == 0 &&
		    handled(HAZARD_TRACE_CONFINED) &&
		    inject_thread_is_confined(tr->g->t, tids[i]))
			__atomic_store_n(&tr->area->confined, 1,
					 __ATOMIC_RELAXED);
	free(tids);
}

/* The chunk that is next. */
static void
drain_next(struct tracing *tr, trace_sink sink, void *arg)
{
	if (tr->next == 0) {
		tr->read_until_ns = tr->pass_began_ns;
		tr->pass_began_ns = now_ns();
	}
	drain_chunk(tr, tr->next, false, sink, arg);
	tr->next = (tr->next + 1) % tr->layout.chunks;
}

uint64_t
tracing_drain(struct tracing *tr, bool all, trace_sink sink, void *arg)
{
	const uint64_t until = all ? UINT64_MAX : now_ns() + SLICE_NS;

	tracing_calibrate(tr);
	look_for_filters(tr);
	meet_chunks(tr);
	for (size_t n = 0; n < tr->layout.chunks && now_ns() < until; n++) {
		/* a slow disk makes a round long */
		__atomic_fetch_add(&tr->area->beat, 1, __ATOMIC_RELEASE);
		drain_next(tr, sink, arg);
	}
	return tr->read_until_ns;
}

void
trace_drain_last(struct tracing *tr, trace_sink sink, void *arg)
{
	tracing_calibrate(tr);
	meet_chunks(tr);
	for (size_t i = 0; i < tr->layout.chunks; i++)
		drain_chunk(tr, i, true, sink, arg);
}
