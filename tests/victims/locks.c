/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * locks [ROUNDS]: at the first mark two threads begin, and go through a script
 * together: one holds something, the other wants it, and gets it a while after
 * it has been seen to wait. Each kind of wait has a function of its own,
 * wait_KIND, and stamps each call itself, so it knows how often it waited and
 * for how long in all. hold_KIND is the holder's own call, which never waits.
 * `done 1` tells that the script is at its end.
 */
#include <semaphore.h>
#include <sys/syscall.h>

#include "crew.h"
#include "locks.h"

enum { HOLD_US = 60000, NEAR_MS = 60, FAR_MS = 20000, LOOK_US = 200 };
enum stage { IDLE, HELD, ASKED, GOT };

static atomic_bool go;
static _Atomic int stage;
static _Atomic pid_t waiter, holder;
static _Atomic uint64_t finished;
static int rounds = 3;

/* ---- the waiter's book --------------------------------------------------- */

static uint64_t began;
static _Atomic uint64_t *book_calls, *book_ns;

void
wait_begins(void)
{
	atomic_store(&stage, ASKED);
	began = victim_clock(CLOCK_MONOTONIC);
}

void
wait_ends(int ok)
{
	const uint64_t now = victim_clock(CLOCK_MONOTONIC);

	if (!ok)
		_exit(98);
	atomic_fetch_add(book_calls, 1);
	atomic_fetch_add(book_ns, now - began);
}

static struct timespec
moment(clockid_t clock, int ms)
{
	const uint64_t end = victim_clock(clock) + ms * UINT64_C(1000000);

	return (struct timespec){ .tv_sec = end / 1000000000,
				  .tv_nsec = end % 1000000000 };
}

/* ---- what there is to wait for ------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t aside = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_t thread;
static sem_t sem;
static bool given;
static atomic_bool may_end;

#define REALTIME moment(CLOCK_REALTIME, FAR_MS)
#define MONOTONIC moment(CLOCK_MONOTONIC, FAR_MS)
#define SOON moment(CLOCK_REALTIME, NEAR_MS)

/* before: what is called before the stamp; call: what waits; after. */
#define WAIT(kind, before, call, result, after) \
NOINLINE static void \
wait_##kind(void) \
{ \
	int r; \
\
	before; \
	wait_begins(); \
	r = call; \
	wait_ends(r == (result)); \
	after; \
	__asm__ volatile(""); \
}

#define DOES(name, call) \
NOINLINE static void \
name(void) \
{ \
	if ((call) != 0) \
		_exit(97); \
	__asm__ volatile(""); \
}

#define END const struct timespec end

DOES(hold_mutex, pthread_mutex_lock(&mutex))
DOES(let_mutex, pthread_mutex_unlock(&mutex))
WAIT(mutex, , pthread_mutex_lock(&mutex), 0, let_mutex())
WAIT(timedlock, END = REALTIME, pthread_mutex_timedlock(&mutex, &end), 0,
     let_mutex())
WAIT(timedlock_late, END = SOON, pthread_mutex_timedlock(&mutex, &end),
     ETIMEDOUT, )
WAIT(clocklock, END = MONOTONIC,
     pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &end), 0, let_mutex())

DOES(hold_rdlock, pthread_rwlock_wrlock(&rwlock))
DOES(hold_wrlock, pthread_rwlock_rdlock(&rwlock))
DOES(let_rwlock, pthread_rwlock_unlock(&rwlock))
WAIT(rdlock, , pthread_rwlock_rdlock(&rwlock), 0, let_rwlock())
WAIT(timedrdlock, END = REALTIME, pthread_rwlock_timedrdlock(&rwlock, &end), 0,
     let_rwlock())
WAIT(clockrdlock, END = MONOTONIC,
     pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &end), 0,
     let_rwlock())
WAIT(wrlock, , pthread_rwlock_wrlock(&rwlock), 0, let_rwlock())
WAIT(timedwrlock, END = REALTIME, pthread_rwlock_timedwrlock(&rwlock, &end), 0,
     let_rwlock())
WAIT(clockwrlock, END = MONOTONIC,
     pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &end), 0,
     let_rwlock())

DOES(take_aside, pthread_mutex_lock(&aside))
DOES(put_aside, pthread_mutex_unlock(&aside))

/* A condition may come true for nobody: then it is waited for again. */
#define WAIT_FOR(kind, deadline, call) \
NOINLINE static void \
wait_##kind(void) \
{ \
	deadline; \
\
	take_aside(); \
	while (!given) { \
		wait_begins(); \
		wait_ends(call == 0); \
	} \
	put_aside(); \
	__asm__ volatile(""); \
}

static void
ready_cond(void)
{
	given = false;
}

static void
let_cond(void)
{
	take_aside();
	given = true;
	pthread_cond_signal(&cond);
	put_aside();
}

WAIT_FOR(cond, , pthread_cond_wait(&cond, &aside))
WAIT_FOR(cond_timed, END = REALTIME,
	 pthread_cond_timedwait(&cond, &aside, &end))
WAIT_FOR(cond_clock, END = MONOTONIC,
	 pthread_cond_clockwait(&cond, &aside, CLOCK_MONOTONIC, &end))
WAIT(cond_late, END = SOON; take_aside(),
     pthread_cond_timedwait(&cond, &aside, &end), ETIMEDOUT, put_aside())

DOES(let_sem, sem_post(&sem))
WAIT(sem, , sem_wait(&sem), 0, )
WAIT(sem_timed, END = REALTIME, sem_timedwait(&sem, &end), 0, )
WAIT(sem_clock, END = MONOTONIC,
     sem_clockwait(&sem, CLOCK_MONOTONIC, &end), 0, )
WAIT(sem_late, END = SOON, sem_timedwait(&sem, &end), -1, )

static int
at_barrier(void)
{
	const int r = pthread_barrier_wait(&barrier);

	return r == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : r;
}

DOES(let_barrier, at_barrier())
WAIT(barrier, , at_barrier(), 0, )

DOES(hold_spin, pthread_spin_lock(&spin))
DOES(let_spin, pthread_spin_unlock(&spin))
WAIT(spin, , pthread_spin_lock(&spin), 0, let_spin())

static void *
until_told(void *none)
{
	while (!atomic_load(&may_end))
		usleep(LOOK_US);
	return none;
}

static void
let_join(void)
{
	atomic_store(&may_end, true);
}

static void
hold_join(void)
{
	atomic_store(&may_end, false);
	if (pthread_create(&thread, NULL, until_told, NULL) != 0)
		_exit(97);
}

WAIT(join, , pthread_join(thread, NULL), 0, )
WAIT(join_timed, END = REALTIME, pthread_timedjoin_np(thread, NULL, &end), 0, )
WAIT(join_clock, END = MONOTONIC,
     pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end), 0, )

/* ---- the script ---------------------------------------------------------- */

enum ends { BY_HOLDER, BY_TIME };

#define SCENE(kind, hold, let, ends) \
	{ #kind, hold, wait_##kind, let, ends, 0, 0 }

static struct scene {
	const char *kind;
	void (*hold)(void), (*wait)(void), (*let)(void);
	enum ends ends;
	_Atomic uint64_t calls, ns;
} scenes[] = {
	SCENE(mutex, hold_mutex, let_mutex, BY_HOLDER),
	SCENE(timedlock, hold_mutex, let_mutex, BY_HOLDER),
	SCENE(timedlock_late, hold_mutex, let_mutex, BY_TIME),
	SCENE(clocklock, hold_mutex, let_mutex, BY_HOLDER),
	SCENE(rdlock, hold_rdlock, let_rwlock, BY_HOLDER),
	SCENE(timedrdlock, hold_rdlock, let_rwlock, BY_HOLDER),
	SCENE(clockrdlock, hold_rdlock, let_rwlock, BY_HOLDER),
	SCENE(wrlock, hold_wrlock, let_rwlock, BY_HOLDER),
	SCENE(timedwrlock, hold_wrlock, let_rwlock, BY_HOLDER),
	SCENE(clockwrlock, hold_wrlock, let_rwlock, BY_HOLDER),
	SCENE(cond, ready_cond, let_cond, BY_HOLDER),
	SCENE(cond_timed, ready_cond, let_cond, BY_HOLDER),
	SCENE(cond_clock, ready_cond, let_cond, BY_HOLDER),
	SCENE(cond_late, NULL, NULL, BY_TIME),
	SCENE(sem, NULL, let_sem, BY_HOLDER),
	SCENE(sem_timed, NULL, let_sem, BY_HOLDER),
	SCENE(sem_clock, NULL, let_sem, BY_HOLDER),
	SCENE(sem_late, NULL, NULL, BY_TIME),
	SCENE(barrier, NULL, let_barrier, BY_HOLDER),
	SCENE(spin, hold_spin, let_spin, BY_HOLDER),
	SCENE(join, hold_join, let_join, BY_HOLDER),
	SCENE(join_timed, hold_join, let_join, BY_HOLDER),
	SCENE(join_clock, hold_join, let_join, BY_HOLDER),
	SCENE(thrd_join, hold_thrd_join, let_thrd_join, BY_HOLDER),
	SCENE(mtx, hold_mtx, let_mtx, BY_HOLDER),
	SCENE(mtx_timed, hold_mtx, let_mtx, BY_HOLDER),
	SCENE(cnd, ready_cnd, let_cnd, BY_HOLDER),
	SCENE(cnd_late, NULL, NULL, BY_TIME),
	SCENE(cxx_mutex, hold_cxx_mutex, let_cxx_mutex, BY_HOLDER),
	SCENE(cxx_cond, ready_cxx_cond, let_cxx_cond, BY_HOLDER),
	SCENE(cxx_cond_for, NULL, NULL, BY_TIME),
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

static void
come_to(int wanted)
{
	while (atomic_load(&stage) != wanted && !atomic_load(&victim_over))
		usleep(LOOK_US);
}

/* It sleeps in the call. */
static bool
waits(void)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat",
		 (int)atomic_load(&waiter));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		_exit(96);
	fclose(f);
	return state == 'S';
}

static void
hold_through(struct scene *s)
{
	if (s->hold)
		s->hold();
	atomic_store(&stage, HELD);
	while (atomic_load(&stage) == HELD && !atomic_load(&victim_over))
		usleep(LOOK_US);
	while (atomic_load(&stage) == ASKED && s->wait != wait_spin && !waits())
		usleep(LOOK_US);
	usleep(HOLD_US);
	if (s->ends == BY_TIME)
		come_to(GOT);
	if (s->let)
		s->let();
	come_to(GOT);
	atomic_store(&stage, IDLE);
}

static void
wait_through(struct scene *s)
{
	book_calls = &s->calls;
	book_ns = &s->ns;
	come_to(HELD);
	s->wait();
	atomic_store(&stage, GOT);
	while (atomic_load(&stage) == GOT && !atomic_load(&victim_over))
		usleep(LOOK_US);
}

static void *
work(void *number)
{
	const bool waiting = number == (void *)1;

	atomic_store(waiting ? &waiter : &holder, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&go) && !atomic_load(&victim_over))
		usleep(1000);
	for (int i = 0; i < SCENES; i++)
		for (int k = 0; k < rounds && !atomic_load(&victim_over); k++)
			(waiting ? wait_through : hold_through)(&scenes[i]);
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void
mark(void)
{
	atomic_store(&go, true);
	for (int i = 0; i < SCENES; i++)
		printf("wait_%s %llu %llu\n", scenes[i].kind,
		       (unsigned long long)scenes[i].calls,
		       (unsigned long long)scenes[i].ns);
	victim_say("holder", (uint64_t)holder);
	victim_say("rounds", (uint64_t)rounds);
	victim_say("mutex_at", (uintptr_t)&mutex);
	victim_say("done", atomic_load(&finished) == 2);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	victim_init();
	if (pthread_barrier_init(&barrier, NULL, 2) != 0 ||
	    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) != 0 ||
	    sem_init(&sem, 0, 0) != 0 || !c11_init())
		return 99;
	crew_serve(2, work, mark);
	return victim_end(true);
}
