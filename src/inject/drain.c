/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Our side of the record memory: publish tables into the half that nobody
 * reads, take records out. The target can write everything in there, so
 * nothing read from it is trusted: a record that does not fit its ring costs
 * that ring's contents, no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"
#include "record.h"
#include "step.h"

enum { READERS_WAIT_MS = 500, FILLER_MIN = 8 };

/* ---- thread ids --------------------------------------------------------------- */

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

/* ---- publishing ----------------------------------------------------------------- */

size_t
guest_publish_need(const struct step_tables *tables)
{
	size_t need = 1 << 20, i;	/* ranges and stacks of most programs */

	for (i = 0; i < tables->count; i++)
		need += sizeof *tables->ranges +
			tables->ranges[i].count * sizeof(struct step_row);
	return need;
}

static int
await_readers(struct record_area *a, uint32_t half)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < READERS_WAIT_MS; i++) {
		if (__atomic_load_n(&a->readers[half], __ATOMIC_SEQ_CST) == 0)
			return 0;
		(void)nanosleep(&ms, NULL);
	}
	return fail(FAIL_PARTIAL, "a thread stands in the tables to be "
		    "replaced");
}

struct half {
	unsigned char *at;
	uint64_t used, size;
	struct map rows;	/* the tracer's pointer -> offset */
};

/* Offset of n bytes; 0: no room (the header stands at 0). */
static uint64_t
take(struct half *h, uint64_t n)
{
	const uint64_t at = h->used;

	if (n > h->size - h->used)
		return 0;
	h->used += (n + 15) / 16 * 16;
	if (h->used > h->size)
		h->used = h->size;
	return at;
}

/* Mappings of one object share its rows. */
static void
put_range(struct half *h, struct step_range *to, const struct step_range *r)
{
	const uint64_t bytes = (uint64_t)r->count * sizeof(struct step_row);
	uint64_t at = 0;

	*to = *r;
	to->rows = 0;
	to->count = 0;
	if (!r->count)
		return;
	if (!map_get(&h->rows, r->rows, &at)) {
		at = take(h, bytes);
		if (at)
			memcpy(h->at + at, (const void *)r->rows, bytes);
		map_put(&h->rows, r->rows, at);
	}
	/* What has no room is walked by frame pointers. */
	if (at) {
		to->rows = at;
		to->count = r->count;
	}
}

static void
put_stack(struct record_tables *head, struct record_stack *to, uint64_t start,
	  uint64_t end)
{
	if (start < end)
		to[head->stacks++] = (struct record_stack){ start, end };
}

/* Something below that nobody can touch: what a stack of libc's has. Without,
 * stacks of the program's own may be in one mapping with a thread's, and come
 * and go between it and its descriptor. */
static bool
is_guarded(const struct modules *mods, size_t i)
{
	const struct module *below = i > 0 ? &mods->items[i - 1] : NULL;

	return !handled(HAZARD_STRAY_STACK) ||
		(below && below->end == mods->items[i].start &&
		 !(below->prot & (MODULE_READ | MODULE_WRITE | MODULE_EXEC)));
}

static int
put_stacks(struct guest *g, struct half *h, struct record_tables *head)
{
	struct modules mods = {0};
	struct record_stack *to;
	char *text = target_maps(g->t);
	size_t i;
	int r = text ? modules_parse(&mods, text) : -1;

	free(text);
	if (r < 0)
		return -1;
	/* one may be cut in two */
	head->stacks_at = take(h, (mods.len + 1) * sizeof *to);
	to = (struct record_stack *)(h->at + head->stacks_at);
	for (i = 0; head->stacks_at && i < mods.len; i++) {
		const struct module *m = &mods.items[i];

		if (m->inode != 0 || !(m->prot & MODULE_WRITE) ||
		    !(m->prot & MODULE_READ) || !is_guarded(&mods, i))
			continue;
		if (g->passing_end <= m->start || g->passing >= m->end) {
			put_stack(head, to, m->start, m->end);
			continue;
		}
		put_stack(head, to, m->start, g->passing);
		put_stack(head, to, g->passing_end, m->end);
	}
	modules_fini(&mods);
	return 0;
}

static int
fill_half(struct guest *g, struct half *h, const struct step_tables *tables)
{
	struct record_tables head = {0};
	struct step_range *to;
	uint32_t i;

	(void)take(h, sizeof head);
	head.ranges_at = take(h, tables->count * sizeof *to);
	if (!head.ranges_at)
		return fail(FAIL_PARTIAL, "%u mappings do not fit into the "
			    "record memory", tables->count);
	if (put_stacks(g, h, &head) < 0)
		return -1;
	to = (struct step_range *)(h->at + head.ranges_at);
	for (i = 0; i < tables->count; i++)
		put_range(h, &to[i], &tables->ranges[i]);
	head.ranges = tables->count;
	head.used = h->used;
	memcpy(h->at, &head, sizeof head);
	return 0;
}

int
guest_publish(struct guest *g, const struct step_tables *tables)
{
	struct record_area *a = g->area;
	const uint32_t half = a->tables == RECORD_HALF_0 ? RECORD_HALF_1
							 : RECORD_HALF_0;
	struct half h = {
		.at = (unsigned char *)a + g->layout.tables_at[half],
		.size = g->layout.table_bytes,
	};
	int r;

	if (await_readers(a, half) < 0)
		return -1;
	r = fill_half(g, &h, tables);
	map_fini(&h.rows);
	if (r == 0)
		__atomic_store_n(&a->tables, half, __ATOMIC_SEQ_CST);
	return r;
}

/* ---- draining ---------------------------------------------------------------------- */

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
		uint64_t left = size - at, bytes;

		left = head - tail < left ? head - tail : left;
		bytes = left < sizeof copy ? left : sizeof copy;
		memcpy(copy, ring + at, bytes);
		if (!record_is_sound(rec, left))
			break;
		if (rec->kind == RECORD_SAMPLE) {
			const pid_t tid = guest_outer_tid(g,
						(pid_t)rec->tid);

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

static bool
owner_ended(struct guest *g, uint32_t tid)
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
		ended = owner_ended(g, tid);
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

/* ---- for those who come after us ------------------------------------------------------ */

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
