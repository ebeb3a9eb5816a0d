/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the functions that wait for another thread. Time is taken only
 * where there is something to wait for: a lock that is free is had by its
 * try-function, which asks no clock and leaves no record. While a thread waits
 * it is in nothing of ours: it may be cancelled there, or jump out, and then
 * leaves no record either.
 *
 * What a try-function says of a lock is what the lock would say, but for
 * `busy`, which is asked again of the real one. Functions with a time limit
 * look at it first, and are always asked themselves. So are mutexes that are
 * robust, or of a protocol: there it is not what the lock would do.
 */
#include "hazard.h"
#include "hooks.h"

#include <errno.h>

/* All arguments there are, as they came. */
#define ARGUMENTS uint64_t a, uint64_t b, uint64_t c, uint64_t d
typedef int try_function(uint64_t a);
typedef void testcancel_function(void);
typedef int *errno_function(void);

enum { THRD_BUSY = 1 };			/* of C11, as glibc has it */
/* in glibc's mutex and rwlock */
enum { OWNER_AT = 8, KIND_AT = 16, WRITER_AT = 24 };

/* Of the recording that began last. */
static uint32_t all;		/* locks that are free are recorded, too */
static int32_t tid_at;		/* in what a pthread_t points to; 0: unknown */

void
hot_sync_begin(const struct trace_area *a)
{
	__atomic_store_n(&all, a->sync_all, __ATOMIC_RELAXED);
	__atomic_store_n(&tid_at, a->own_threads ? a->tid_offset : 0,
			 __ATOMIC_RELAXED);
}

/* ---- a wait -------------------------------------------------------------- */

/* On the stack, right below the hook's return address. */
struct waiting {
	uint64_t object, function, owner, since;
	int64_t result;
	uint64_t fp;		/* the caller's */
	uint64_t pad;
};
_Static_assert(sizeof(struct waiting) == 56, "as hot_wait has it");

/* Calls the original with the first four, as they came. */
int hot_wait(ARGUMENTS, uint64_t function, uint64_t owner);
void hot_wait_over(const struct waiting *w);

/*
 * Who looks at a thread that waits knows its stack pointer, not its frame
 * pointer: this frame is found without, and leaves that as the caller had it.
 */
__asm__(
"	.pushsection .text\n"
"	.hidden hot_wait\n"
"	.globl hot_wait\n"
"	.type hot_wait, @function\n"
"hot_wait:\n"
"	.cfi_startproc\n"
"	subq $56, %rsp\n"
"	.cfi_adjust_cfa_offset 56\n"
"	movq %rdi, (%rsp)\n"
"	movq %r8, 8(%rsp)\n"
"	movq %r9, 16(%rsp)\n"
"	movq %rbp, 40(%rsp)\n"
"	movq %rdx, %r10\n"
"	xorl %eax, %eax\n"
"	cmpl $0, hot_clock(%rip)\n"
"	je 1f\n"
"	rdtsc\n"
"	shlq $32, %rdx\n"
"	orq %rdx, %rax\n"
"1:	movq %rax, 24(%rsp)\n"
"	movq %r10, %rdx\n"
"	leaq hot_originals(%rip), %rax\n"
"	call *(%rax,%r8,8)\n"
"	movl %eax, 32(%rsp)\n"
"	movq %rsp, %rdi\n"
"	call hot_wait_over\n"
"	movl 32(%rsp), %eax\n"
"	addq $56, %rsp\n"
"	.cfi_adjust_cfa_offset -56\n"
"	ret\n"
"	.cfi_endproc\n"
"	.size hot_wait, . - hot_wait\n"
"	.popsection\n"
);

void
hot_wait_over(const struct waiting *w)
{
	const uint64_t now = hot_trace_now();
	const uint64_t *const back = (const uint64_t *)(w + 1);
	const struct trace_caller caller = {
		.pc = *back, .sp = (uint64_t)(back + 1), .fp = w->fp,
	};
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_SYNC, now))
		return;
	if (!w->since) {
		/* it began when nothing was traced */
	} else if (now - w->since < turn.area->sync_ticks) {
		__atomic_fetch_add(&turn.area->short_waits, 1,
				   __ATOMIC_RELAXED);
	} else {
		const uint64_t words[] = {
			now, hot_trace_stack(&turn, &caller), w->since,
			w->object, w->owner,
		};

		hot_trace_write(&turn, TRACE_WAIT,
				(enum trace_function)w->function, words, 5);
	}
	hot_trace_end(&turn);
}

/* ---- who has it ---------------------------------------------------------- */

static uint32_t
word_at(uint64_t address)
{
	return __atomic_load_n((const uint32_t *)address, __ATOMIC_RELAXED);
}

/* In what is not libc's own, the numbers of threads are not where it has
 * them. */
static uint64_t
mutex_owner(uint64_t mutex)
{
	return hot_originals[TRACE_MUTEX_TRYLOCK] ? word_at(mutex + OWNER_AT) :
		0;
}

static uint64_t
mtx_owner(uint64_t mtx)
{
	return hot_originals[TRACE_MTX_TRYLOCK] ? word_at(mtx + OWNER_AT) : 0;
}

static uint64_t
writer(uint64_t rwlock)
{
	return hot_originals[TRACE_RWLOCK_TRYWRLOCK] ?
		word_at(rwlock + WRITER_AT) : 0;
}

static uint64_t
joined(uint64_t thread)
{
	const int32_t at = __atomic_load_n(&tid_at, __ATOMIC_RELAXED);

	return at ? word_at(thread + (uint64_t)(int64_t)at) : 0;
}

static uint64_t
nobody(uint64_t object)
{
	(void)object;
	return 0;
}

/* Each hook goes over into hot_wait, and leaves no frame of its own. */

/* ---- what always waits, or looks at the clock ---------------------------- */

#define WAITS(name, function, owner) \
static int \
name(ARGUMENTS) \
{ \
	return hot_wait(a, b, c, d, function, owner(a)); \
}

WAITS(hook_mutex_timedlock, TRACE_MUTEX_TIMEDLOCK, mutex_owner)
WAITS(hook_mutex_clocklock, TRACE_MUTEX_CLOCKLOCK, mutex_owner)
WAITS(hook_rwlock_timedrdlock, TRACE_RWLOCK_TIMEDRDLOCK, writer)
WAITS(hook_rwlock_clockrdlock, TRACE_RWLOCK_CLOCKRDLOCK, writer)
WAITS(hook_rwlock_timedwrlock, TRACE_RWLOCK_TIMEDWRLOCK, writer)
WAITS(hook_rwlock_clockwrlock, TRACE_RWLOCK_CLOCKWRLOCK, writer)
WAITS(hook_cond_wait, TRACE_COND_WAIT, nobody)
WAITS(hook_cond_timedwait, TRACE_COND_TIMEDWAIT, nobody)
WAITS(hook_cond_clockwait, TRACE_COND_CLOCKWAIT, nobody)
WAITS(hook_sem_timedwait, TRACE_SEM_TIMEDWAIT, nobody)
WAITS(hook_sem_clockwait, TRACE_SEM_CLOCKWAIT, nobody)
WAITS(hook_barrier_wait, TRACE_BARRIER_WAIT, nobody)
WAITS(hook_join, TRACE_JOIN, joined)
WAITS(hook_timedjoin, TRACE_TIMEDJOIN, joined)
WAITS(hook_clockjoin, TRACE_CLOCKJOIN, joined)
WAITS(hook_mtx_timedlock, TRACE_MTX_TIMEDLOCK, mtx_owner)
WAITS(hook_cnd_wait, TRACE_CND_WAIT, nobody)
WAITS(hook_cnd_timedwait, TRACE_CND_TIMEDWAIT, nobody)
WAITS(hook_thrd_join, TRACE_THRD_JOIN, joined)

/* ---- what may be free ---------------------------------------------------- */

/* The function to try by; NULL: wait, and take the time. */
static inline try_function *
trying(enum trace_function by)
{
	return __atomic_load_n(&all, __ATOMIC_RELAXED) ? NULL :
		(try_function *)hot_originals[by];
}

static inline bool
is_busy(int r)
{
	return r == EBUSY || r == EAGAIN;
}

/*
 * glibc's pthread_mutex_trylock (since 2.4; to see again: lockrules) leaves a
 * robust mutex locked that it says is not recoverable. Those with a priority
 * of their own may change the thread's for one that they do not get.
 */
static inline bool
is_plain(uint64_t mutex)
{
	enum { ROBUST = 16, INHERITS = 32, PROTECTS = 64 };

	return !(word_at(mutex + KIND_AT) & (ROBUST | INHERITS | PROTECTS)) ||
		!handled(HAZARD_LOCK_ROBUST);
}

static inline bool
is_any(uint64_t object)
{
	(void)object;
	return true;
}

#define TRIES(name, function, by, may_try, is_busy, owner) \
static int \
name(uint64_t a) \
{ \
	try_function *const try_it = trying(by); \
\
	if (try_it && may_try(a)) { \
		const int r = try_it(a); \
\
		if (!is_busy(r)) \
			return r; \
	} \
	return hot_wait(a, 0, 0, 0, function, owner(a)); \
}

#define IS_THRD_BUSY(r) ((r) == THRD_BUSY)

TRIES(hook_mutex_lock, TRACE_MUTEX_LOCK, TRACE_MUTEX_TRYLOCK, is_plain, is_busy,
      mutex_owner)
TRIES(hook_rwlock_rdlock, TRACE_RWLOCK_RDLOCK, TRACE_RWLOCK_TRYRDLOCK, is_any,
      is_busy, writer)
TRIES(hook_rwlock_wrlock, TRACE_RWLOCK_WRLOCK, TRACE_RWLOCK_TRYWRLOCK, is_any,
      is_busy, writer)
TRIES(hook_spin_lock, TRACE_SPIN_LOCK, TRACE_SPIN_TRYLOCK, is_any, is_busy,
      nobody)
TRIES(hook_mtx_lock, TRACE_MTX_LOCK, TRACE_MTX_TRYLOCK, is_any, IS_THRD_BUSY,
      mtx_owner)

/* A point of cancellation, even where it is free; and who is told in vain
 * that it is not must not find that in errno. */
static int
hook_sem_wait(uint64_t a)
{
	try_function *const try_it = trying(TRACE_SEM_TRYWAIT);

	if (try_it) {
		if (handled(HAZARD_LOCK_CANCEL))
			((testcancel_function *)
			 hot_originals[TRACE_TESTCANCEL])();

		int *const e = ((errno_function *)
				hot_originals[TRACE_ERRNO])();
		const int before = *e;

		if (try_it(a) == 0)
			return 0;
		if (handled(HAZARD_LOCK_ERRNO))
			*e = before;
	}
	return hot_wait(a, 0, 0, 0, TRACE_SEM_WAIT, 0);
}

/* ---- by number ----------------------------------------------------------- */

/* No table of addresses: it would have to be relocated. */
void *
hot_sync_hook(enum trace_function function)
{
	switch (function) {
	case TRACE_MUTEX_LOCK: return hook_mutex_lock;
	case TRACE_MUTEX_TIMEDLOCK: return hook_mutex_timedlock;
	case TRACE_MUTEX_CLOCKLOCK: return hook_mutex_clocklock;
	case TRACE_RWLOCK_RDLOCK: return hook_rwlock_rdlock;
	case TRACE_RWLOCK_TIMEDRDLOCK: return hook_rwlock_timedrdlock;
	case TRACE_RWLOCK_CLOCKRDLOCK: return hook_rwlock_clockrdlock;
	case TRACE_RWLOCK_WRLOCK: return hook_rwlock_wrlock;
	case TRACE_RWLOCK_TIMEDWRLOCK: return hook_rwlock_timedwrlock;
	case TRACE_RWLOCK_CLOCKWRLOCK: return hook_rwlock_clockwrlock;
	case TRACE_COND_WAIT: return hook_cond_wait;
	case TRACE_COND_TIMEDWAIT: return hook_cond_timedwait;
	case TRACE_COND_CLOCKWAIT: return hook_cond_clockwait;
	case TRACE_SEM_WAIT: return hook_sem_wait;
	case TRACE_SEM_TIMEDWAIT: return hook_sem_timedwait;
	case TRACE_SEM_CLOCKWAIT: return hook_sem_clockwait;
	case TRACE_BARRIER_WAIT: return hook_barrier_wait;
	case TRACE_SPIN_LOCK: return hook_spin_lock;
	case TRACE_JOIN: return hook_join;
	case TRACE_TIMEDJOIN: return hook_timedjoin;
	case TRACE_CLOCKJOIN: return hook_clockjoin;
	case TRACE_MTX_LOCK: return hook_mtx_lock;
	case TRACE_MTX_TIMEDLOCK: return hook_mtx_timedlock;
	case TRACE_CND_WAIT: return hook_cnd_wait;
	case TRACE_CND_TIMEDWAIT: return hook_cnd_timedwait;
	case TRACE_THRD_JOIN: return hook_thrd_join;
	default: break;
	}
	return NULL;
}
