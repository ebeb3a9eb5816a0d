/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records that a killed visit did not take. They are still in its record
 * memory, which is mapped in the target: we copy what is in use and read the
 * copy. The target may have written anything there, and goes on doing so:
 * every number of the header is checked once, in the copy, and what does not
 * fit costs what it belongs to.
 *
 * The owner has ended, so the words of the tracer in there are ours now: the
 * flag that handlers ask goes off, so that nothing comes behind what is read;
 * the tails move on when all of it is kept, so that nobody takes it twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "private.h"
#include "record.h"

enum {
	WINDOWS_MOST = 1 << 16,
	RINGS_MOST = 512 << 20,		/* bytes; twice what we ever make */
	QUIET_MS = 50, 			/* a handler is under way for so long */
};

struct salvage {
	struct guest g;		/* the copy, read as if it were ours */
	uint64_t at;		/* the area, in the target */
	int lock;		/* no other visit meanwhile; -1: none */
};

static bool
area_is_sound(const struct record_area *a, uint64_t size)
{
	return a->magic == RECORD_MAGIC && a->version == RECORD_VERSION &&
	       a->header_bytes == RECORD_HEADER_BYTES && a->size == size &&
	       a->windows > 0 && a->windows <= WINDOWS_MOST &&
	       a->window_bytes >= RECORD_WINDOW_MIN &&
	       a->window_bytes % 8 == 0 &&
	       a->windows_at >= RECORD_HEADER_BYTES &&
	       a->windows_at % 8 == 0 && a->rings_at % 8 == 0 &&
	       a->rings_at <= size &&
	       a->windows_at <= a->rings_at &&
	       (uint64_t)a->windows * sizeof(struct record_window) <=
	       a->rings_at - a->windows_at &&
	       (uint64_t)a->windows * a->window_bytes <= RINGS_MOST &&
	       (uint64_t)a->windows * a->window_bytes <= size - a->rings_at;
}

static struct record_window *
windows_of(const struct salvage *s)
{
	return (struct record_window *)((char *)s->g.area +
					s->g.layout.windows_at);
}

static int
read_windows(struct salvage *s)
{
	return target_read(s->g.t, s->at + s->g.layout.windows_at,
			   windows_of(s), (size_t)s->g.layout.windows *
			   sizeof(struct record_window));
}

static bool
anyone_writes(const struct salvage *s)
{
	const struct record_window *w = windows_of(s);
	uint32_t i;

	for (i = 0; i < s->g.layout.windows; i++)
		if (w[i].busy)
			return true;
	return false;
}

/* No record comes any more: those under way are waited for. */
static int
make_quiet(struct salvage *s)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	const uint32_t off = 0;
	int i;

	if (target_write(s->g.t, s->at + offsetof(struct record_area, on),
			 &off, sizeof off) < 0)
		return -1;
	for (i = 0; i < QUIET_MS; i++) {
		if (read_windows(s) < 0)
			return -1;
		if (!anyone_writes(s))
			break;
		(void)nanosleep(&ms, NULL);
	}
	return 0;
}

/* A copy of what is in use; the rest of ours is empty pages. */
static int
copy_rings(struct salvage *s)
{
	const struct record_area *a = &s->g.layout;
	struct record_window *w = windows_of(s);
	uint32_t i;

	for (i = 0; i < a->windows; i++) {
		const uint64_t ring = a->rings_at +
			(uint64_t)i * a->window_bytes;

		w[i].tracer_pad[0] = w[i].head != w[i].tail;
		if (!w[i].tracer_pad[0])
			continue;
		if (!w[i].tid)		/* its thread has ended: */
			w[i].tid = 1;	/* guest_drain asks for one */
		if (target_read(s->g.t, s->at + ring,
				(char *)s->g.area + ring, a->window_bytes) < 0)
			return -1;
	}
	return 0;
}

static int
copy_area(struct salvage *s, uint64_t size)
{
	struct guest *g = &s->g;
	void *copy;

	if (target_read(g->t, s->at, &g->layout, sizeof g->layout) < 0)
		return -1;
	if (!area_is_sound(&g->layout, size))
		return fail(FAIL_UNSUITABLE, "its record memory makes no "
			    "sense");
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return fail_errno("copy the record memory");
	g->area = copy;
	g->size = size;
	if (make_quiet(s) < 0 || copy_rings(s) < 0 ||
	    target_read(g->t, s->at, &g->layout, sizeof g->layout) < 0)
		return -1;
	if (!area_is_sound(&g->layout, size))
		return fail(FAIL_UNSUITABLE, "its record memory changes");
	g->layout.keep.path[RECORD_PATH - 1] = 0;
	return 0;
}

struct salvage *
salvage_open(struct target *t, uint64_t at, uint64_t size)
{
	struct salvage *s = xcalloc(1, sizeof *s);

	s->g.t = t;
	s->g.fd = -1;
	s->at = at;
	s->lock = owner_try_lock(t);
	s->g.other_namespace = thread_inner_tid(t, target_pid(t)) !=
		target_pid(t);
	(void)guest_outer_tid(&s->g, 1);	/* learns all there are */
	s->g.tids_known = true;
	if (s->lock >= 0 && copy_area(s, size) == 0)
		return s;
	salvage_close(s);
	return NULL;
}

void
salvage_close(struct salvage *s)
{
	if (!s)
		return;
	if (s->g.size)
		(void)munmap(s->g.area, s->g.size);
	map_fini(&s->g.tids);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}

const struct record_area *
salvage_area(const struct salvage *s)
{
	return &s->g.layout;
}

bool
salvage_pending(const struct salvage *s)
{
	const struct record_window *w = windows_of(s);
	uint32_t i;

	for (i = 0; i < s->g.layout.windows; i++)
		if (w[i].head != w[i].tail)
			return true;
	return false;
}

size_t
salvage_each(struct salvage *s,
	     void (*visit)(void *arg, const struct record *r), void *arg)
{
	return guest_drain(&s->g, visit, arg);
}

unsigned
salvage_spoiled(const struct salvage *s)
{
	return (unsigned)s->g.spoiled;
}

/* The bytes first, as guest_settle does. */
int
salvage_settle(struct salvage *s, uint64_t bytes)
{
	const uint64_t keep = s->at + offsetof(struct record_area, keep);
	const struct record_window *w = windows_of(s);
	uint32_t i;

	if (target_write(s->g.t, keep + offsetof(struct record_keep, told),
			 s->g.layout.lost, sizeof s->g.layout.lost) < 0 ||
	    target_write(s->g.t, keep + offsetof(struct record_keep, kept),
			 &bytes, sizeof bytes) < 0)
		return -1;
	for (i = 0; i < s->g.layout.windows; i++)
		if (w[i].tracer_pad[0] && target_write(s->g.t, s->at +
				s->g.layout.windows_at + i * sizeof *w +
				offsetof(struct record_window, tail),
				&w[i].tail, sizeof w[i].tail) < 0)
			return -1;
	return 0;
}
