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
	ssize_t i, n;

	g->learnt_ns = now_ns();
	n = target_threads(g->t, &tids, &cap);
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

bool
guest_tid_is_plausible(uint32_t tid)
{
	enum { NUMBERS = 1 << 22 };	/* the kernel has no more */

	return tid > 0 && tid <= NUMBERS;
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
	return guest_outer_tid(g, tid);
}

bool
guest_tid_since(struct guest *g, pid_t tid, uint64_t met_ns,
		uint64_t round_ns, pid_t *outer)
{
	uint64_t at = (uint64_t)tid;

	if (g->other_namespace && !map_get(&g->tids, (uint64_t)tid, &at)) {
		if (g->learnt_ns < round_ns)
			learn_tids(g);
		if (!map_get(&g->tids, (uint64_t)tid, &at))
			at = 0;
	}
	*outer = (pid_t)at;
	return at || g->learnt_ns > met_ns;
}

bool
guest_thread_ended(const struct guest *g, pid_t outer)
{
	return !outer || !thread_exists(g->t, outer);
}

void
guest_forget_tid(struct guest *g, uint32_t tid)
{
	const struct record_window *w = (const struct record_window *)
		((unsigned char *)g->area + g->layout.windows_at);

	for (uint32_t i = 0; g->other_namespace && i < g->layout.windows; i++)
		if (__atomic_load_n(&w[i].tid, __ATOMIC_ACQUIRE) == tid)
			return;		/* its last samples are to be read */
	(void)map_remove(&g->tids, tid);
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

struct sink {
	void (*visit)(void *, const struct record *);
	void *arg;
};

/* A window has one thread at a time, and is free again only when we have taken
 * all of that one's: a record of another is made up. The rings of a visit that
 * was killed may have those of threads before it. */
static bool
is_of_owner(const struct guest *g, const struct record *r, uint32_t owner)
{
	return g->tids_known ? guest_tid_is_plausible(r->tid) :
		r->tid == owner;
}

static void
hand_on(struct guest *g, struct record *r, const struct sink *to)
{
	uint64_t outer;

	/* who is not there any more keeps the number he gave himself */
	if (g->other_namespace && map_get(&g->tids, r->tid, &outer))
		r->tid = (uint32_t)outer;
	to->visit(to->arg, r);
}

/* No more than the ring holds, however much is written meanwhile. */
static size_t
drain_window(struct guest *g, uint32_t i, uint32_t owner,
	     const struct sink *to)
{
	unsigned char *base = (unsigned char *)g->area;
	struct record_window *w = (struct record_window *)
		(base + g->layout.windows_at) + i;
	const unsigned char *ring = base + g->layout.rings_at +
		(uint64_t)i * g->layout.window_bytes;
	uint64_t *taken = g->taken ? &g->taken[i] : &w->tail;
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
		tail += rec->size;
		if (rec->kind != RECORD_SAMPLE)
			continue;
		if (!is_of_owner(g, rec, owner)) {
			g->forged++;
			continue;
		}
		memcpy(rec->pcs, ring + at + sizeof *rec,
		       rec->size - sizeof *rec);
		hand_on(g, rec, to);
		n++;
	}
	if (tail != head)
		g->spoiled++;
	__atomic_store_n(taken, head, __ATOMIC_RELEASE);
	return n;
}

/* Whose the windows are; what is taken later is read in the next round. */
static uint32_t *
owners_of(struct guest *g)
{
	const struct record_window *w = (const struct record_window *)
		((unsigned char *)g->area + g->layout.windows_at);
	uint32_t *owners = xcalloc(g->layout.windows, sizeof *owners);
	bool unknown = false;
	uint64_t outer;

	for (uint32_t i = 0; i < g->layout.windows; i++) {
		owners[i] = __atomic_load_n(&w[i].tid, __ATOMIC_ACQUIRE);
		unknown |= owners[i] && g->other_namespace &&
			!map_get(&g->tids, owners[i], &outer);
	}
	/* once for all: whom it does not find has ended */
	if (unknown && !g->tids_known)
		learn_tids(g);
	return owners;
}

static bool
owner_ended(struct guest *g, uint32_t tid)
{
	uint64_t outer = tid;

	if (!guest_tid_is_plausible(tid) ||
	    (g->other_namespace && !map_get(&g->tids, tid, &outer)))
		outer = 0;
	return guest_thread_ended(g, (pid_t)outer);
}

size_t
guest_drain(struct guest *g,
	    void (*visit)(void *arg, const struct record *r), void *arg)
{
	struct record_window *w = (struct record_window *)
		((unsigned char *)g->area + g->layout.windows_at);
	const struct sink to = { visit, arg };
	uint32_t *owners = owners_of(g);
	size_t n = 0;

	g->crowded = 0;
	for (uint32_t i = 0; i < g->layout.windows; i++) {
		bool ended;

		if (!owners[i])
			continue;
		/* First: who ended before has written all it ever will. */
		ended = owner_ended(g, owners[i]);
		n += drain_window(g, i, owners[i], &to);
		if (!ended)
			continue;
		__atomic_store_n(&w[i].tid, 0, __ATOMIC_RELEASE);
		guest_forget_tid(g, owners[i]);
	}
	free(owners);
	return n;
}

uint64_t
guest_forged(const struct guest *g)
{
	return g->forged;
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
