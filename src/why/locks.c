/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who holds what a thread waits for. The kernel knows nothing of mutexes: the
 * word is looked at as glibc would (its layouts have been the same since
 * 2.25), and what does not fit is left a word. Which function waits tells the
 * kinds apart; without names only what cannot be anything else is said.
 */
#include "private.h"

#include <linux/futex.h>

/* pthread_mutex_t, of 64 bits. */
struct mutex_layout {
	uint32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
	int32_t kind;
};

/* pthread_rwlock_t, of 64 bits. */
struct rwlock_layout {
	uint32_t readers, writers, phase_word, writers_word, pad3, pad4;
	int32_t writer, shared;
};

enum {
	WRITE_PHASE = 1, WRITE_LOCKED = 2,	/* of readers */
	MUTEX_KIND_MAX = 0x3ff,
	MUTEX_ROBUST = 16, MUTEX_SHARED = 128,	/* bits of the kind */
	USERS_MAX = 1 << 22,
	READER_SHIFT = 3,
};

/* Somebody holds it and somebody waits: so says the word, and the rest is
 * what a mutex can hold. */
static bool
is_mutex(const struct wait *w, const struct mutex_layout *m)
{
	return w->word % 4 == 0 && m->owner > 0 && m->users > 0 &&
		m->users < USERS_MAX &&
		m->kind >= 0 && m->kind <= MUTEX_KIND_MAX &&
		(m->lock == 2 ||
		 (m->lock & FUTEX_TID_MASK) == (uint32_t)m->owner);
}

/* Of the threads that have ended only the first is still listed. */
static bool
is_ended_first(const struct wait *w)
{
	return w->owner == w->owner_pid &&
		thread_state(w->owner, w->owner) == 'Z';
}

/* The thread of that number, of this process or of one that shares the lock. */
static void
find_owner(struct why *y, struct wait *w, pid_t number, bool shared)
{
	w->owner_pid = w->pid;
	w->owner = member_by_inner(members_of(y, w->pid), number);
	if (!w->owner && shared)
		owner_elsewhere(y, w, number);
	if (!w->owner)
		w->owner_pid = 0;
	else if (!w->owner_ended)
		w->owner_ended = is_ended_first(w);
}

static bool
look_at_mutex(struct why *y, struct wait *w, enum lock_kind by_name)
{
	struct mutex_layout m;

	if (memory_then(y, w, w->word, &m, sizeof m) < 0 ||
	    !is_mutex(w, &m))
		return false;

	const bool shared = m.kind & MUTEX_SHARED;

	find_owner(y, w, m.owner, shared);
	/* who waits for a robust one is woken when its owner ends */
	if (!w->owner && by_name == LOCK_MUTEX && !(m.kind & MUTEX_ROBUST) &&
	    (!shared || owner_is_gone(y, w, m.owner))) {
		w->owner = m.owner;
		w->owner_pid = w->pid;
		w->owner_ended = true;
	}
	return w->owner != 0 || w->owner_unseen != 0;
}

static void
look_at_rwlock(struct why *y, struct wait *w)
{
	static const unsigned offsets[] = { 8, 12, 0 };

	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		struct rwlock_layout l;

		if (memory_then(y, w, w->word - offsets[i],
				&l, sizeof l) < 0 || l.writer < 0 ||
		    (l.shared != 0 && l.shared != 1) ||
		    l.readers >> READER_SHIFT > USERS_MAX ||
		    l.writers > USERS_MAX)
			continue;
		w->address = w->word - offsets[i];
		if (l.writer)
			find_owner(y, w, l.writer, l.shared);
		/* in a write phase the count is of those who wait */
		w->readers = l.writer ? 0 : l.readers >> READER_SHIFT;
		if (w->owner || w->readers)
			return;
	}
	w->address = w->word;
}

/* The kernel clears the number of a thread when it ends, and wakes. */
static bool
look_at_join(struct why *y, struct wait *w)
{
	if (!w->value || (uint32_t)w->args[2] != w->value)
		return false;
	find_owner(y, w, (pid_t)w->value, false);
	w->owner_ended = false;		/* or there would be no wait */
	return w->owner != 0;
}

/* No name says that it is one, but all of it does: what nobody uses is zero, a
 * writer has it, and is there. */
static bool
look_at_owned_rwlock(struct why *y, struct wait *w)
{
	struct rwlock_layout l;

	look_at_rwlock(y, w);
	w->readers = 0;
	if (w->owner && memory_then(y, w, w->address, &l, sizeof l) == 0 &&
	    l.readers & WRITE_PHASE && l.readers & WRITE_LOCKED && !l.pad3 &&
	    !l.pad4)
		return true;
	w->address = w->word;
	w->owner = w->owner_pid = w->owner_unseen = 0;
	w->owner_ended = false;
	return false;
}

/* The kernel keeps that word, with the number of the owner. */
void
lock_look_pi(struct why *y, struct wait *w)
{
	w->lock = LOCK_MUTEX;
	find_owner(y, w, (pid_t)(w->value & FUTEX_TID_MASK),
		   !(w->args[1] & FUTEX_PRIVATE_FLAG));
}

void
lock_look(struct why *y, struct wait *w, enum lock_kind by_name, bool guess)
{
	const bool private = w->args[1] & FUTEX_PRIVATE_FLAG;

	w->lock = by_name;
	if (by_name == LOCK_RWLOCK) {
		look_at_rwlock(y, w);
	} else if ((by_name == LOCK_JOIN || by_name == LOCK_UNKNOWN) &&
		   !private && look_at_join(y, w)) {
		w->lock = LOCK_JOIN;
	} else if ((by_name == LOCK_MUTEX || by_name == LOCK_CONDITION ||
		    guess) &&
		   look_at_mutex(y, w, by_name)) {
		/* who was woken from a condition takes its mutex again */
		w->lock = LOCK_MUTEX;
	} else if (guess && look_at_owned_rwlock(y, w)) {
		w->lock = LOCK_RWLOCK;
	} else {
		object_look(y, w);
	}
}
