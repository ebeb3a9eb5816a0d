/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that can be traced, by name.
 */
#include <string.h>

#include "slots.h"

#define NAMES(function, class, name, other) \
	[TRACE_##function] = { name, other },

/* By enum trace_function. The first one is looked up; what is bound to the
 * second one, if there is one, is the same function. */
static const char *const names[TRACE_FUNCTIONS][TRACED_NAMES] = {
	[TRACE_MALLOC] = { "malloc" },
	[TRACE_FREE] = { "free", "cfree" },
	[TRACE_CALLOC] = { "calloc" },
	[TRACE_REALLOC] = { "realloc" },
	[TRACE_REALLOCARRAY] = { "reallocarray" },
	[TRACE_MEMALIGN] = { "memalign" },
	[TRACE_ALIGNED_ALLOC] = { "aligned_alloc" },
	[TRACE_POSIX_MEMALIGN] = { "posix_memalign" },
	[TRACE_VALLOC] = { "valloc" },
	[TRACE_PVALLOC] = { "pvalloc" },
	[TRACE_MMAP] = { "mmap", "mmap64" },
	[TRACE_MUNMAP] = { "munmap" },
	[TRACE_MREMAP] = { "mremap", "__mremap" },
	[TRACE_NEW] = { "_Znwm" },
	[TRACE_NEW_ARRAY] = { "_Znam" },
	[TRACE_NEW_NOTHROW] = { "_ZnwmRKSt9nothrow_t" },
	[TRACE_NEW_ARRAY_NOTHROW] = { "_ZnamRKSt9nothrow_t" },
	[TRACE_NEW_ALIGNED] = { "_ZnwmSt11align_val_t" },
	[TRACE_NEW_ARRAY_ALIGNED] = { "_ZnamSt11align_val_t" },
	[TRACE_DELETE] = { "_ZdlPv" },
	[TRACE_DELETE_ARRAY] = { "_ZdaPv" },
	[TRACE_DELETE_SIZED] = { "_ZdlPvm" },
	[TRACE_DELETE_ARRAY_SIZED] = { "_ZdaPvm" },
	[TRACE_DELETE_NOTHROW] = { "_ZdlPvRKSt9nothrow_t" },
	[TRACE_DELETE_ARRAY_NOTHROW] = { "_ZdaPvRKSt9nothrow_t" },
	[TRACE_DELETE_ALIGNED] = { "_ZdlPvSt11align_val_t" },
	[TRACE_DELETE_ARRAY_ALIGNED] = { "_ZdaPvSt11align_val_t" },
	[TRACE_DELETE_SIZED_ALIGNED] = { "_ZdlPvmSt11align_val_t" },
	[TRACE_DELETE_ARRAY_SIZED_ALIGNED] = { "_ZdaPvmSt11align_val_t" },
	[TRACE_MUTEX_LOCK] = { "pthread_mutex_lock", "__pthread_mutex_lock" },
	[TRACE_MUTEX_TIMEDLOCK] = { "pthread_mutex_timedlock" },
	[TRACE_MUTEX_CLOCKLOCK] = { "pthread_mutex_clocklock" },
	[TRACE_RWLOCK_RDLOCK] = { "pthread_rwlock_rdlock",
				  "__pthread_rwlock_rdlock" },
	[TRACE_RWLOCK_TIMEDRDLOCK] = { "pthread_rwlock_timedrdlock" },
	[TRACE_RWLOCK_CLOCKRDLOCK] = { "pthread_rwlock_clockrdlock" },
	[TRACE_RWLOCK_WRLOCK] = { "pthread_rwlock_wrlock",
				  "__pthread_rwlock_wrlock" },
	[TRACE_RWLOCK_TIMEDWRLOCK] = { "pthread_rwlock_timedwrlock" },
	[TRACE_RWLOCK_CLOCKWRLOCK] = { "pthread_rwlock_clockwrlock" },
	[TRACE_COND_WAIT] = { "pthread_cond_wait" },
	[TRACE_COND_TIMEDWAIT] = { "pthread_cond_timedwait" },
	[TRACE_COND_CLOCKWAIT] = { "pthread_cond_clockwait" },
	[TRACE_SEM_WAIT] = { "sem_wait" },
	[TRACE_SEM_TIMEDWAIT] = { "sem_timedwait" },
	[TRACE_SEM_CLOCKWAIT] = { "sem_clockwait" },
	[TRACE_BARRIER_WAIT] = { "pthread_barrier_wait" },
	[TRACE_SPIN_LOCK] = { "pthread_spin_lock" },
	[TRACE_JOIN] = { "pthread_join" },
	[TRACE_TIMEDJOIN] = { "pthread_timedjoin_np" },
	[TRACE_CLOCKJOIN] = { "pthread_clockjoin_np" },
	[TRACE_MTX_LOCK] = { "mtx_lock" },
	[TRACE_MTX_TIMEDLOCK] = { "mtx_timedlock" },
	[TRACE_CND_WAIT] = { "cnd_wait" },
	[TRACE_CND_TIMEDWAIT] = { "cnd_timedwait" },
	[TRACE_THRD_JOIN] = { "thrd_join" },
	TRACE_IO_CALLS(NAMES)
	TRACE_STREAM_CALLS(NAMES)
	TRACE_IO_HELPERS(NAMES)
};

static const struct traced_helper helpers[] = {
#define HELPER(f) [(f) - TRACE_SYNC_HELPERS]
	HELPER(TRACE_MUTEX_TRYLOCK) = { "pthread_mutex_trylock",
					TRACE_MUTEX_LOCK, 0 },
	/* others could wait for ever after an earlier one: sourceware 23844 */
	HELPER(TRACE_RWLOCK_TRYRDLOCK) = { "pthread_rwlock_tryrdlock",
					   TRACE_RWLOCK_RDLOCK, 30 },
	HELPER(TRACE_RWLOCK_TRYWRLOCK) = { "pthread_rwlock_trywrlock",
					   TRACE_RWLOCK_WRLOCK, 30 },
	HELPER(TRACE_SEM_TRYWAIT) = { "sem_trywait", TRACE_SEM_WAIT, 0 },
	HELPER(TRACE_SPIN_TRYLOCK) = { "pthread_spin_trylock",
				       TRACE_SPIN_LOCK, 0 },
	HELPER(TRACE_MTX_TRYLOCK) = { "mtx_trylock", TRACE_MTX_LOCK, 0 },
	HELPER(TRACE_TESTCANCEL) = { "pthread_testcancel", TRACE_SEM_WAIT, 0 },
	HELPER(TRACE_ERRNO) = { "__errno_location", TRACE_SEM_WAIT, 0 },
#undef HELPER
};

const struct traced_helper *
traced_helper(enum trace_function f)
{
	const unsigned i = (unsigned)f - TRACE_SYNC_HELPERS;

	return f >= TRACE_SYNC_HELPERS && i < ARRAY_LEN(helpers) ?
		&helpers[i] : NULL;
}

const char *
traced_name(enum trace_function f)
{
	return names[f][0] ? names[f][0] : "";
}

const char *
traced_name_at(enum trace_function f, int i)
{
	return f < TRACE_IO_CALLED ? names[f][i] : NULL;
}

bool
traced_always(int f)
{
	return f == TRACE_FORK || f == TRACE_PRCTL || f == TRACE_SYSCALL;
}

int
traced_function(const char *name)
{
	for (int f = 0; f < TRACE_IO_CALLED; f++)
		for (int i = 0; i < TRACED_NAMES; i++)
			if (names[f][i] && strcmp(names[f][i], name) == 0)
				return f;
	return TRACE_FUNCTIONS;
}
