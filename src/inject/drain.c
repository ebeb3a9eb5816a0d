/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Our side of the record memory: take records out. The target can write
 * everything in there, so nothing read from it is trusted: a record that does
 * not fit its ring costs that ring's contents, no more.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"
#include "record.h"

enum { FILLER_MIN = 8 };

/* ---- thread ids ---------------------------------------------------------- */

pid_t
thread_inner_tid(struct target *t, pid_t tid)
{
	char path[64], *text, *at, *last;
	pid_t inner = tid;

	snprintf(path, sizeof path, "task/%d/status", tid);
	text = file_read_at(target_proc(t), path, NULL);
	at = text ? strstr(text, "\nNSpid:") : NULL;
	if (at) {
		at[1 + strcspn(at + 1, "\n")] = 0;
		last = strrchr(at, '\t');
		inner = last ? (pid_t)strtol(last, NULL, 10) : tid;
	}
	free(text);
	return inner;
}

pid_t
guest_inner_tid(struct guest *g, pid_t tid)
{
	return g->other_namespace ? thread_inner_tid(g->t, tid) : tid;
}

static void
learn_tids(struct guest *g)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(g->t, &tids, &cap);
	ssize_t i;

	for (i = 0; i < n; i++)
		map_put(&g->tids, (uint64_t)thread_inner_tid(g->t, tids[i]),
			(uint64_t)tids[i]);
	free(tids);
}

static bool
thread_exists(struct target *t, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "task/%d", tid);
	return faccessat(target_proc(t), path, F_OK, 0) == 0;
}

pid_t
guest_outer_tid(struct guest *g, pid_t tid)
{
	uint64_t outer = (uint64_t)tid;

	if (g->other_namespace && !map_get(&g->tids, (uint64_t)tid, &outer)) {
		if (!g->tids_known)
			learn_tids(g);
		if (!map_get(&g->tids, (uint64_t)tid, &outer))
			return 0;
	}
	return (pid_t)outer;
}

pid_t
guest_known_tid(struct guest *g, pid_t tid)
{
	enum { AGAIN_NS = 20 * 1000 * 1000 };
	uint64_t outer = (uint64_t)tid;

	if (!g->other_namespace || map_get(&g->tids, (uint64_t)tid, &outer))
		return (pid_t)outer;
	if (now_ns() - g->learnt_ns < AGAIN_NS)
		return 0;
	tid = guest_outer_tid(g, tid);
	g->learnt_ns = now_ns();
	return tid;
}

/* ---- draining ------------------------------------------------------------ */

static bool
record_is_sound(const struct record *r, uint64_t left)
{
	if (left < FILLER_MIN || r->size < FILLER_MIN || r->size % 8 ||
	    r->size > left)
		return false;
	if (r->kind == RECORD_FILLER)
		return true;
	return r->kind == RECORD_SAMPLE && r->size >= sizeof *r &&
	       r->depth > 0 && r->depth <= RECORD_DEPTH_MAX &&
	       r->end < RECORD_ENDS &&
	       r->size == sizeof *r + r->depth * sizeof r->pcs[0];
}

/* The largest record, as words. */
enum { RECORD_WORDS = sizeof(struct record) / 8 + RECORD_DEPTH_MAX };

static size_t
drain_window(struct guest *g, struct record_window *w, uint64_t *taken,
	     unsigned char *ring,
	     void (*visit)(void *, const struct record *), void *arg)
{
	const uint64_t size = g->layout.window_bytes;
	const uint64_t head = __atomic_load_n(&w->head, __ATOMIC_ACQUIRE);
	uint64_t tail = *taken;
	/* A copy: what was checked must stay what was checked. */
	uint64_t copy[RECORD_WORDS];
	struct record *rec = (struct record *)copy;
	size_t n = 0;

	if (head - tail > g->crowded)
		g->crowded = head - tail;
	/* What was never written for want of room is not looked for: it could
	 * be without end. */
	while (tail != head && head - tail <= size) {
		const uint64_t at = tail % size;
		uint64_t left = size - at, head_bytes;

		left = head - tail < left ? head - tail : left;
		head_bytes = left < sizeof *rec ? left : sizeof *rec;
		memcpy(copy, ring + at, head_bytes);
		if (!record_is_sound(rec, left))
			break;
		if (rec->kind == RECORD_SAMPLE) {
			const pid_t tid = guest_outer_tid(g,
						(pid_t)rec->tid);

			memcpy(rec->pcs, ring + at + sizeof *rec,
			       rec->size - sizeof *rec);
			rec->tid = tid ? (uint32_t)tid : rec->tid;
			visit(arg, rec);
			n++;
		}
		tail += rec->size;
	}
	if (tail != head)
		g->spoiled++;
	__atomic_store_n(taken, head, __ATOMIC_RELEASE);
	return n;
}

bool
guest_tid_ended(struct guest *g, uint32_t tid)
{
	const pid_t outer = guest_outer_tid(g, (pid_t)tid);

	if (outer && thread_exists(g->t, outer))
		return false;
	(void)map_remove(&g->tids, tid);
	return true;
}

size_t
guest_drain(struct guest *g,
	    void (*visit)(void *arg, const struct record *r), void *arg)
{
	unsigned char *base = (unsigned char *)g->area;
	struct record_window *w = (struct record_window *)
		(base + g->layout.windows_at);
	unsigned char *rings = base + g->layout.rings_at;
	size_t n = 0;
	uint32_t i;

	g->crowded = 0;
	for (i = 0; i < g->layout.windows; i++) {
		const uint32_t tid = __atomic_load_n(&w[i].tid,
						     __ATOMIC_ACQUIRE);
		bool ended;
		size_t k;

		if (!tid)
			continue;
		/* First: who ended before has written all it ever will. */
		ended = guest_tid_ended(g, tid);
		k = drain_window(g, &w[i], g->taken ? &g->taken[i] : &w[i].tail,
				 rings + (uint64_t)i * g->layout.window_bytes,
				 visit, arg);
		n += k;
		if (ended)
			__atomic_store_n(&w[i].tid, 0, __ATOMIC_RELEASE);
	}
	return n;
}

unsigned
guest_crowding(const struct guest *g)
{
	const uint64_t size = g->layout.window_bytes;

	return g->crowded < size ? (unsigned)(g->crowded * 100 / size) : 100;
}

/* ---- for those who come after us ----------------------------------------- */

void
guest_keep(struct guest *g, const struct record_keep *keep)
{
	const struct record_window *w = (const struct record_window *)
		((unsigned char *)g->area + g->layout.windows_at);
	uint32_t i;

	if (!g->taken)
		g->taken = xcalloc(g->layout.windows, sizeof *g->taken);
	for (i = 0; i < g->layout.windows; i++)
		g->taken[i] = w[i].tail;
	g->area->keep = *keep;
}

/* In this order: killed between, what is behind `kept` in the file is known
 * to be in the rings still. */
void
guest_settle(struct guest *g, uint64_t bytes,
	     const uint64_t told[RECORD_LOSSES])
{
	struct record_area *a = g->area;
	struct record_window *w = (struct record_window *)
		((unsigned char *)a + g->layout.windows_at);
	uint32_t i;

	if (!g->taken)
		return;
	for (i = 0; i < RECORD_LOSSES; i++)
		a->keep.told[i] = told[i];
	__atomic_store_n(&a->keep.kept, bytes, __ATOMIC_SEQ_CST);
	for (i = 0; i < g->layout.windows; i++)
		if (w[i].tail != g->taken[i])
			__atomic_store_n(&w[i].tail, g->taken[i],
					 __ATOMIC_RELEASE);
}
