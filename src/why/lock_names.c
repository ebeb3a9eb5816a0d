/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the names of functions tell of the kind of a lock.
 */
#include "private.h"

#include <string.h>

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
		[LOCK_INTERNAL] = "internal", [LOCK_STREAM] = "stream",
	};

	return words[kind];
}

enum lock_kind
lock_by_names(const char *const *functions)
{
	for (; functions && *functions; functions++)
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (strstr(*functions, kinds[i].part))
				return kinds[i].lock;
	return LOCK_UNKNOWN;
}

bool
lock_has_names(const char *const *functions)
{
	for (; functions && *functions; functions++)
		if (**functions && **functions != '<')
			return true;
	return false;
}
