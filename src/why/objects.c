/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of libc that a word is somewhere within: conditions and barriers,
 * whose waiters wait at an inner word, and the locks of streams. Each is what
 * glibc's layout of it says, or it is left a word.
 */
#include "private.h"

/* pthread_cond_t: until 2.40 with counts of references, then without. */
struct condition_layout {
	uint64_t sequence, start;
	uint32_t references[2];
	uint32_t sizes[2], first_size, waiters, signals[2];
};

struct condition_layout_241 {
	uint64_t sequence, start;
	uint32_t sizes[2], first_size, waiters, signals[2], unused[2];
};

/* pthread_barrier_t */
struct barrier_layout {
	uint32_t in, round, count, shared, out;
};

/* _IO_lock_t */
struct stream_lock {
	int32_t lock, count;
	uint64_t owner;
};

enum {
	WAITERS_SHIFT = 3,	/* flags below */
	WAITERS_MAX = 1 << 22,
	/* Of FILE, and of what fopen(3) makes: lock behind file and table. */
	STREAM_LOCK_AT = 0x88, STREAM_LOCK_FAR = 0xe0,
	THREAD_NUMBER_AT = 0x2d0,	/* of struct pthread, on x86-64 */
};

/* ---- conditions and barriers --------------------------------------------- */

static bool
plausible(uint64_t sequence, uint64_t start, uint32_t waiters)
{
	return waiters >> WAITERS_SHIFT > 0 &&
		waiters >> WAITERS_SHIFT < WAITERS_MAX &&
		sequence >> 1 >= start >> 1 &&
		(sequence >> 1) - (start >> 1) < WAITERS_MAX;
}

/* Where a condition begins that has `word` in its signals; 0: it is none. */
static uint64_t
old_condition(struct why *y, const struct wait *w)
{
	const size_t group = w->word / 4 % 2;
	const uint64_t at = w->word - group * 4 -
		offsetof(struct condition_layout, signals);
	struct condition_layout c;

	/* each who waits in a group has two of its references */
	return memory_then(y, w, at, &c, sizeof c) == 0 &&
		plausible(c.sequence, c.start, c.waiters) &&
		c.references[group] >= 2 &&
		c.references[group] < WAITERS_MAX ? at : 0;
}

static uint64_t
new_condition(struct why *y, const struct wait *w)
{
	const uint64_t at = w->word - w->word / 4 % 2 * 4 -
		offsetof(struct condition_layout_241, signals);
	struct condition_layout_241 c;

	return memory_then(y, w, at, &c, sizeof c) == 0 &&
		plausible(c.sequence, c.start, c.waiters) &&
		!c.unused[0] && !c.unused[1] ? at : 0;
}

static void
look_at_condition(struct why *y, struct wait *w)
{
	const uint64_t old = old_condition(y, w), new = new_condition(y, w);

	/* both: it could be either */
	if (!old != !new)
		w->address = old ? old : new;
}

static void
look_at_barrier(struct why *y, struct wait *w)
{
	const uint64_t at = w->word - offsetof(struct barrier_layout, round);
	struct barrier_layout b;

	if (memory_then(y, w, at, &b, sizeof b) == 0 && b.count &&
	    b.count < WAITERS_MAX && b.in > b.round &&
	    b.in - b.round <= WAITERS_MAX)
		w->address = at;
}

/* ---- streams ------------------------------------------------------------- */

/* Its owner is an address, where the thread has its own data (its thread
 * pointer): the address stands there twice, and the number a little behind. */
static pid_t
thread_at(struct why *y, const struct wait *w, uint64_t at)
{
	struct {
		uint64_t tcb, dtv, self;
	} head;
	int32_t number;

	if (memory_read(w->tid, at, &head, sizeof head) < 0 ||
	    head.tcb != at || head.self != at ||
	    memory_read(w->tid, at + THREAD_NUMBER_AT, &number,
			sizeof number) < 0 || number <= 0)
		return 0;
	return member_by_inner(members_of(y, w->pid), number);
}

/* A stream of fopen(3) has its lock behind it; stdin and the like have not. */
static uint64_t
stream_of(const struct wait *w)
{
	const uint64_t at = w->word - STREAM_LOCK_FAR;
	uint64_t lock;

	return memory_read(w->tid, at + STREAM_LOCK_AT, &lock,
			   sizeof lock) == 0 && lock == w->word ? at : w->word;
}

static void
look_at_stream(struct why *y, struct wait *w)
{
	struct stream_lock l;

	if (memory_then(y, w, w->word, &l, sizeof l) < 0 || l.lock != 2 ||
	    l.count < 1 || !l.owner)
		return;
	w->owner = thread_at(y, w, l.owner);
	if (!w->owner)
		return;
	w->owner_pid = w->pid;
	w->lock = LOCK_STREAM;
	w->address = stream_of(w);
}

void
object_look(struct why *y, struct wait *w)
{
	if (w->lock == LOCK_CONDITION)
		look_at_condition(y, w);
	else if (w->lock == LOCK_BARRIER)
		look_at_barrier(y, w);
	else if (w->lock == LOCK_INTERNAL)
		look_at_stream(y, w);
}
