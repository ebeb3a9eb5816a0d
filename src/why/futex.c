/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies around a word that a thread waits at. The kernel knows nothing of
 * mutexes: the word is looked at as glibc would (its layouts have been the
 * same since 2.25), and what does not fit is left a word. Which function
 * waits tells the kinds apart; without names only what cannot be anything
 * else is said.
 */
#include "private.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef FUTEX_LOCK_PI2			/* since Linux 5.14 */
#define FUTEX_LOCK_PI2 13
#endif

/* struct futex_waitv, since Linux 5.16. */
struct waiter_layout {
	uint64_t value, address;
	uint32_t flags, reserved;
};

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
	MUTEX_KIND_MAX = 0x3ff,
	USERS_MAX = 1 << 22,
	READER_SHIFT = 3,
	WORDS_MAX = 128,	/* that the kernel takes */
};

static const struct {
	const char *part;	/* of the name of a function */
	enum lock_kind lock;
} kinds[] = {
	{ "pthread_mutex", LOCK_MUTEX },
	{ "pthread_rwlock", LOCK_RWLOCK },
	{ "pthread_cond_", LOCK_CONDITION },
	{ "pthread_barrier_wait", LOCK_BARRIER },
	{ "pthread_once", LOCK_ONCE },
	{ "pthread_join", LOCK_JOIN },
	{ "pthread_timedjoin", LOCK_JOIN },
	{ "pthread_clockjoin", LOCK_JOIN },
	{ "sem_wait", LOCK_SEMAPHORE },
	{ "sem_timedwait", LOCK_SEMAPHORE },
	{ "sem_clockwait", LOCK_SEMAPHORE },
	{ "new_sem_wait", LOCK_SEMAPHORE },
	{ "cnd_wait", LOCK_CONDITION },
	{ "cnd_timedwait", LOCK_CONDITION },
	{ "mtx_lock", LOCK_MUTEX },
	{ "thrd_join", LOCK_JOIN },
	{ "lll_lock_wait_private", LOCK_INTERNAL },
};

const char *
lock_kind_name(enum lock_kind kind)
{
	static const char *const words[] = {
		[LOCK_UNKNOWN] = "futex", [LOCK_MUTEX] = "mutex",
		[LOCK_RWLOCK] = "rwlock", [LOCK_JOIN] = "join",
		[LOCK_CONDITION] = "condition", [LOCK_SEMAPHORE] = "semaphore",
		[LOCK_BARRIER] = "barrier", [LOCK_ONCE] = "once",
		[LOCK_INTERNAL] = "internal",
	};

	return words[kind];
}

static enum lock_kind
kind_by_names(const char *const *functions)
{
	for (; functions && *functions; functions++)
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (strstr(*functions, kinds[i].part))
				return kinds[i].lock;
	return LOCK_UNKNOWN;
}

/* Do they tell anything? Not those of a stripped program. */
static bool
has_names(const char *const *functions)
{
	for (; functions && *functions; functions++)
		if (**functions && **functions != '<')
			return true;
	return false;
}

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
	return w->owner == w->pid && thread_state(w->pid, w->pid) == 'Z';
}

static bool
look_at_mutex(struct why *y, struct wait *w, enum lock_kind by_name)
{
	struct mutex_layout m;

	if (memory_then(y, w->tid, w->word, &m, sizeof m) < 0 ||
	    !is_mutex(w, &m))
		return false;
	w->owner = member_by_inner(members_of(y, w->pid), m.owner);
	if (w->owner == 0) {
		/* of another process that shares it, or gone */
		w->owner_ended = by_name == LOCK_MUTEX && !(m.kind & 128);
		w->owner = w->owner_ended ? m.owner : 0;
	} else {
		w->owner_ended = is_ended_first(w);
	}
	return w->owner != 0;
}

static void
look_at_rwlock(struct why *y, struct wait *w)
{
	static const unsigned offsets[] = { 8, 12, 0 };

	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		struct rwlock_layout l;

		if (memory_then(y, w->tid, w->word - offsets[i],
				&l, sizeof l) < 0 || l.writer < 0 ||
		    (l.shared != 0 && l.shared != 1) ||
		    l.readers >> READER_SHIFT > USERS_MAX ||
		    l.writers > USERS_MAX)
			continue;
		w->address = w->word - offsets[i];
		if (l.writer)
			w->owner = member_by_inner(members_of(y, w->pid),
						   l.writer);
		w->owner_ended = is_ended_first(w);
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
	w->owner = member_by_inner(members_of(y, w->pid), (pid_t)w->value);
	return w->owner != 0;
}

/* Until a moment of that clock. */
static void
take_moment(struct wait *w, uint64_t at, clockid_t clock)
{
	struct timespec ts;

	w->timed = at != 0;
	w->timeout_ns = w->timed &&
		memory_read(w->tid, at, &ts, sizeof ts) == 0 ?
		time_left(clock, &ts) : -1;
}

static bool
is_of_several(const struct wait *w)
{
#ifdef SYS_futex_waitv
	return w->call == SYS_futex_waitv;
#else
	(void)w;
	return false;
#endif
}

/* Whichever is woken first. They are words only: glibc's locks have one. */
static void
look_at_several(struct wait *w)
{
	const size_t n = w->args[1] < WORDS_MAX ? w->args[1] : WORDS_MAX;
	struct waiter_layout list[WORDS_MAX];

	take_moment(w, w->args[3], (clockid_t)w->args[4]);
	if (!n || memory_read(w->tid, w->args[0], list, n * sizeof *list) < 0)
		return;
	w->words = xcalloc(n, sizeof *w->words);
	w->word_count = n;
	for (size_t i = 0; i < n; i++) {
		w->words[i].address = list[i].address;
		(void)memory_read(w->tid, list[i].address, &w->words[i].value,
				  sizeof w->words[i].value);
	}
	w->word = w->address = w->words[0].address;
	w->value = w->words[0].value;
}

/* FUTEX_WAIT is told how long, the others until when. */
static void
take_limit(struct wait *w, int command, bool realtime)
{
	struct timespec ts;

	if (command != FUTEX_WAIT) {
		take_moment(w, w->args[3], realtime ||
			    command == FUTEX_LOCK_PI ?
			    CLOCK_REALTIME : CLOCK_MONOTONIC);
		return;
	}
	w->timed = w->args[3] != 0;
	w->timeout_ns = -1;
	if (!w->timed || memory_read(w->tid, w->args[3], &ts, sizeof ts) < 0)
		return;
	if (ts.tv_sec >= 0 && ts.tv_sec < INT32_MAX)
		w->timeout_ns = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void
futex_look(struct why *y, struct wait *w, const char *const *functions)
{
	const uint32_t op = (uint32_t)w->args[1];
	const int command = (int)(op & ~(FUTEX_PRIVATE_FLAG |
					 FUTEX_CLOCK_REALTIME)) & 0x7f;
	const enum lock_kind by_name = kind_by_names(functions);
	/* other languages have locks of their own, with values like these */
	const bool guess = by_name == LOCK_UNKNOWN && !has_names(functions);

	if (is_of_several(w)) {
		look_at_several(w);
		return;
	}
	w->word = w->address = w->args[0];
	take_limit(w, command, op & FUTEX_CLOCK_REALTIME);
	if (memory_then(y, w->tid, w->word, &w->value,
			sizeof w->value) < 0)
		return;
	w->lock = by_name;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		w->lock = LOCK_MUTEX;
		w->owner = member_by_inner(members_of(y, w->pid),
			(pid_t)(w->value & FUTEX_TID_MASK));
	} else if (by_name == LOCK_RWLOCK) {
		look_at_rwlock(y, w);
	} else if ((by_name == LOCK_JOIN || by_name == LOCK_UNKNOWN) &&
		   !(op & FUTEX_PRIVATE_FLAG) && look_at_join(y, w)) {
		w->lock = LOCK_JOIN;
	} else if ((by_name == LOCK_MUTEX || by_name == LOCK_CONDITION ||
		    guess) &&
		   look_at_mutex(y, w, by_name)) {
		/* who was woken from a condition takes its mutex again */
		w->lock = LOCK_MUTEX;
	}
}
