/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One event for every (thread x CPU), inherited by the threads that they
 * create. What is kept true: every record is accepted from exactly one event.
 *
 * A thread that is created while its creator's events are being opened has
 * inherited some of them and lacks the rest. Such a thread is opened like any
 * other, and then has two events on some CPUs. So each thread has a root, the
 * opened thread whose events it has, and only records whose event was opened
 * for the root of the thread that wrote them count:
 *
 *	opened by us		its own root
 *	created by thread P	the root of P
 *	first seen by a record	whoever's event wrote that record
 *
 * A creation is told by a FORK record, which the kernel writes a moment after
 * the new thread took its events: only a FORK well after its creator was
 * complete means that the child is.
 *
 * Descriptors stay open when their thread ends: its descendants' events end
 * with them.
 */
#include "perf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	PASSES_MAX = 100,
	INHERIT_MARGIN_NS = 10 * 1000 * 1000,
	LOOK_EVERY_NS = 5 * 1000 * 1000,
};

/* What `seen` knows of a thread. */
enum { SEEN_SERVED = 1, SEEN_REFUSED };

/* ---- while opening: who is inherited already ----------------------------- */

static bool
complete_since(const struct watch *w, pid_t tid, uint64_t time)
{
	uint64_t how, born;

	if (!map_get(&w->seen, (uint64_t)tid, &how) || how != SEEN_SERVED)
		return false;
	if (!map_get(&w->born, (uint64_t)tid, &born))
		return true;	/* itself inherited from a complete one */
	return time >= born + INHERIT_MARGIN_NS;
}

static void
look(void *arg, size_t ring, const unsigned char *record)
{
	struct watch *w = arg;
	struct raw_record raw;
	uint64_t born;

	(void)ring;
	if (!record_parse(record, &raw) || raw.r.pid != w->pid)
		return;
	if (raw.r.kind == CLOCK_FORK &&
	    complete_since(w, raw.r.u.fork.ptid, raw.r.time_ns))
		map_put(&w->seen, (uint64_t)raw.r.tid, SEEN_SERVED);
	if (raw.r.kind == CLOCK_EXIT &&
	    (!map_get(&w->born, (uint64_t)raw.r.tid, &born) ||
	     born <= raw.r.time_ns))
		(void)map_remove(&w->seen, (uint64_t)raw.r.tid);
}

static void
keep_up(struct watch *w, uint64_t *last)
{
	const uint64_t now = now_ns();

	if (now - *last < LOOK_EVERY_NS)
		return;
	*last = now;
	rings_peek(w->rings, look, w);
	rings_keep(w->rings);
}

/* ---- opening ------------------------------------------------------------- */

static void
forget_from(struct watch *w, size_t len)
{
	while (w->len > len)
		(void)close(w->fds[--w->len]);
}

static int
add_event(struct watch *w, int fd, const struct ring *ring, pid_t tid)
{
	uint64_t id;

	w->fds = xgrow(w->fds, &w->cap, w->len + 1, sizeof *w->fds);
	w->fds[w->len++] = fd;
	if (descriptor_is_reserve(fd + w->spare * (int)(w->threads + 1))) {
		errno = EMFILE;
		return -1;
	}
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		return -1;
	map_put(&w->owner, id, (uint64_t)tid);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd);
}

/* All CPUs or none. */
static int
open_thread(struct watch *w, pid_t tid)
{
	const size_t before = w->len;

	for (size_t i = 0; i < w->rings->len; i++) {
		const struct ring *ring = &w->rings->ring[i];
		const int fd = ring->page ? perf_open(w->kernel, &w->attr, tid,
						      ring->cpu) : -1;

		if (!ring->page || (fd < 0 && errno == ENODEV))
			continue;
		if (fd < 0 || add_event(w, fd, ring, tid) < 0) {
			const int error = errno;

			forget_from(w, before);
			errno = error;
			return -1;
		}
	}
	return 0;
}

static void
note_opened(struct watch *w, pid_t tid)
{
	const uint64_t now = now_ns();

	map_put(&w->seen, (uint64_t)tid, SEEN_SERVED);
	map_put(&w->born, (uint64_t)tid, now);
	map_put(&w->root, (uint64_t)tid, (uint64_t)tid);
	w->threads++;
	if (w->met)
		w->met(w->arg, tid, now);
}

/* Returns whether the thread is new to us; *error says why it was refused. */
static bool
serve(struct watch *w, pid_t tid, int *error)
{
	uint64_t how;

	if (map_get(&w->seen, (uint64_t)tid, &how))
		return false;
	if (open_thread(w, tid) == 0) {
		note_opened(w, tid);
		return true;
	}
	if (errno == ESRCH)
		return false;		/* it ended since the listing */
	*error = w->refusal = errno;
	map_put(&w->seen, (uint64_t)tid, SEEN_REFUSED);
	w->not_sampled++;
	if (w->met)
		w->met(w->arg, tid, now_ns());
	return true;
}

/* A refusal of the first thread is one of all: let the caller choose. */
static bool
refused(const struct watch *w, int error)
{
	return w->threads == 0 && error != 0 && error != EMFILE;
}

static ssize_t
one_pass(struct watch *w, pid_t **tids, size_t *cap, int *error)
{
	const ssize_t n = threads_list(w->pid, tids, cap);
	uint64_t last = 0;
	ssize_t new = 0;

	if (n < 0)
		return -1;
	if (!descriptors_suffice((size_t)n * w->rings->len))
		threads_sort_busiest(w->pid, *tids, (size_t)n);
	for (ssize_t i = 0; i < n && !refused(w, *error); i++) {
		keep_up(w, &last);
		new += serve(w, (*tids)[i], error);
	}
	return new;
}

int
watch_open(struct watch *w)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	ssize_t new = 1;
	int error = 0;

	for (int pass = 0; pass < PASSES_MAX && new > 0; pass++) {
		new = one_pass(w, &tids, &cap, &error);
		if (refused(w, error))
			break;
	}
	free(tids);
	map_fini(&w->seen);
	if (w->threads > 0)
		return 0;
	errno = error ? error : ESRCH;
	return -1;
}

void
watch_close(struct watch *w)
{
	forget_from(w, 0);
	free(w->fds);
	map_fini(&w->owner);
	map_fini(&w->root);
	map_fini(&w->born);
	map_fini(&w->seen);
	w->fds = NULL;
	w->cap = w->threads = w->not_sampled = 0;
}

/* ---- following ----------------------------------------------------------- */

static void
follow_fork(struct watch *w, const struct clock_record *r)
{
	uint64_t born, root;

	/* the record of a thread that we have opened itself: it comes before
	 * that, or a moment after when we were quicker than its creator */
	if (map_get(&w->born, (uint64_t)r->tid, &born)) {
		if (r->time_ns < born + INHERIT_MARGIN_NS)
			return;
		(void)map_remove(&w->born, (uint64_t)r->tid);
	}
	if (map_get(&w->root, (uint64_t)r->u.fork.ptid, &root))
		map_put(&w->root, (uint64_t)r->tid, root);
	else
		(void)map_remove(&w->root, (uint64_t)r->tid);
}

static void
follow_exit(struct watch *w, const struct clock_record *r)
{
	uint64_t born;

	/* an earlier thread of the same number */
	if (map_get(&w->born, (uint64_t)r->tid, &born) && r->time_ns < born)
		return;
	(void)map_remove(&w->born, (uint64_t)r->tid);
	(void)map_remove(&w->root, (uint64_t)r->tid);
}

static bool
from_its_root(struct watch *w, const struct raw_record *raw, uint64_t owner)
{
	uint64_t root, born;

	if (!map_get(&w->root, (uint64_t)raw->by_tid, &root)) {
		map_put(&w->root, (uint64_t)raw->by_tid, owner);
		return true;
	}
	/* before we opened it, what it had inherited was all there was */
	return root == owner ||
		(map_get(&w->born, (uint64_t)raw->by_tid, &born) &&
		 raw->r.time_ns < born);
}

bool
watch_accept(struct watch *w, const struct raw_record *raw)
{
	uint64_t owner;

	if (!map_get(&w->owner, raw->id, &owner))
		return false;
	if (raw->r.kind == CLOCK_LOST)
		return true;
	if (raw->by_pid != w->pid)
		return false;	/* without inherit_thread: a child process */
	if (!from_its_root(w, raw, owner))
		return false;
	if (raw->r.kind == CLOCK_FORK && raw->r.pid == w->pid)
		follow_fork(w, &raw->r);
	if (raw->r.kind == CLOCK_EXIT)
		follow_exit(w, &raw->r);
	return true;
}
