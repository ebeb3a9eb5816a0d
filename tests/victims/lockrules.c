/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lockrules: what each lock says in the cases that are not the usual one. It
 * goes through them once by itself, before `ready`; afterwards two threads do
 * so again and again, and each answer has to be the one of the first time.
 * Two more threads count under a mutex, and hand a ball to each other. At its
 * end a slot of its own has to be as it was.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <threads.h>

#include "crew.h"
#include "lockrules.h"

enum { CREW = 4 };

static _Atomic uint64_t passes, wrong, counted, throws;
static int truth[ANSWERS], ntruth;
static int (*volatile const by_table)(pthread_mutex_t *) = pthread_mutex_lock;

void
say(struct answers *a, int value)
{
	if (a->n < ANSWERS)
		a->values[a->n++] = value;
}

static struct timespec
in_ms(clockid_t clock, int ms)
{
	const int64_t end = (int64_t)victim_clock(clock) + ms * INT64_C(1000000);

	return (struct timespec){ .tv_sec = end / 1000000000,
				  .tv_nsec = end % 1000000000 };
}

void *
run(void *(*work)(void *), void *arg)
{
	pthread_t t;
	void *result;

	if (pthread_create(&t, NULL, work, arg) != 0 ||
	    pthread_join(t, &result) != 0)
		_exit(99);
	return result;
}

/* ---- mutexes ------------------------------------------------------------- */

static void
make(pthread_mutex_t *m, int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	if (pthread_mutexattr_init(&a) != 0 ||
	    pthread_mutexattr_settype(&a, type) != 0 ||
	    pthread_mutexattr_setrobust(&a, robust) != 0 ||
	    pthread_mutexattr_setprotocol(&a, protocol) != 0 ||
	    pthread_mutex_init(m, &a) != 0)
		_exit(99);
}

static void *
lock_and_end(void *m)
{
	(void)pthread_mutex_lock(m);
	return NULL;
}

static void *
lock_and_say(void *m)
{
	return (void *)(intptr_t)pthread_mutex_lock(m);
}

static void *
late_and_wrong(void *arg)
{
	pthread_mutex_t *m = arg;
	const struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	const struct timespec bad = { .tv_nsec = -5 };

	return (void *)(intptr_t)(pthread_mutex_timedlock(m, &past) * 1000 +
				  pthread_mutex_timedlock(m, &bad));
}

static void
one_mutex(struct answers *a, int type, int robust, int protocol)
{
	const struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	const struct timespec bad = { .tv_nsec = -5 };
	const struct timespec soon = in_ms(CLOCK_MONOTONIC, 1000);
	pthread_mutex_t m;

	make(&m, type, robust, protocol);
	say(a, pthread_mutex_timedlock(&m, &past));
	say(a, pthread_mutex_unlock(&m));
	say(a, pthread_mutex_timedlock(&m, &bad));
	say(a, pthread_mutex_unlock(&m));
	say(a, pthread_mutex_clocklock(&m, 77, &soon));
	say(a, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon));
	(void)pthread_mutex_unlock(&m);
	(void)pthread_mutex_lock(&m);
	if (type != PTHREAD_MUTEX_NORMAL) {
		say(a, pthread_mutex_lock(&m));
		if (type == PTHREAD_MUTEX_RECURSIVE)
			(void)pthread_mutex_unlock(&m);
	}
	say(a, (int)(intptr_t)run(late_and_wrong, &m));
	say(a, pthread_mutex_unlock(&m));
	if (robust == PTHREAD_MUTEX_ROBUST) {
		(void)run(lock_and_end, &m);
		say(a, pthread_mutex_lock(&m));
		say(a, pthread_mutex_consistent(&m));
		(void)pthread_mutex_unlock(&m);
		(void)run(lock_and_end, &m);
		say(a, pthread_mutex_lock(&m));
		(void)pthread_mutex_unlock(&m);
		say(a, pthread_mutex_lock(&m));
		say(a, (int)(intptr_t)run(lock_and_say, &m));
	}
	(void)pthread_mutex_destroy(&m);
}

static void
mutexes(struct answers *a)
{
	enum { NORMAL = PTHREAD_MUTEX_NORMAL, CHECK = PTHREAD_MUTEX_ERRORCHECK,
	       AGAIN = PTHREAD_MUTEX_RECURSIVE,
	       STALLS = PTHREAD_MUTEX_STALLED, ROBUST = PTHREAD_MUTEX_ROBUST };

	one_mutex(a, NORMAL, STALLS, PTHREAD_PRIO_NONE);
	one_mutex(a, CHECK, STALLS, PTHREAD_PRIO_INHERIT);
	one_mutex(a, AGAIN, ROBUST, PTHREAD_PRIO_NONE);
	one_mutex(a, CHECK, ROBUST, PTHREAD_PRIO_INHERIT);
}

/* ---- the others ---------------------------------------------------------- */

static void
rwlocks(struct answers *a)
{
	const struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	const struct timespec bad = { .tv_nsec = -5 };
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

	say(a, pthread_rwlock_timedwrlock(&l, &past));
	say(a, pthread_rwlock_wrlock(&l) * 100 + pthread_rwlock_rdlock(&l));
	(void)pthread_rwlock_unlock(&l);
	say(a, pthread_rwlock_timedrdlock(&l, &bad));
	say(a, pthread_rwlock_rdlock(&l) * 100 +
		pthread_rwlock_timedwrlock(&l, &past));
}

static void *
wake(void *thread)
{
	for (;;) {
		usleep(300);
		pthread_testcancel();
		(void)pthread_kill(*(pthread_t *)thread, SIGUSR1);
	}
	return NULL;
}

static __thread sigjmp_buf *volatile far;

static void
on_signal(int signal)
{
	(void)signal;
	if (far)
		siglongjmp(*far, 1);
}

static void *
give(void *s)
{
	usleep(500);
	(void)sem_post(s);
	return NULL;
}

/* Who waits for what comes then finds errno as it was. */
static void
given(struct answers *a, sem_t *s)
{
	pthread_t giver;

	if (pthread_create(&giver, NULL, give, s) != 0)
		_exit(99);
	errno = 123;
	say(a, sem_wait(s) * 1000 + errno);
	(void)pthread_join(giver, NULL);
}

static void
semaphores(struct answers *a)
{
	const struct timespec past = in_ms(CLOCK_REALTIME, -1000);
	const struct timespec bad = { .tv_nsec = -5 };
	pthread_t self = pthread_self(), waker;
	sigjmp_buf back;
	sem_t s;

	if (sem_init(&s, 0, 1) != 0)
		_exit(99);
	errno = 123;
	say(a, sem_wait(&s) * 1000 + errno);
	given(a, &s);
	say(a, sem_timedwait(&s, &past) * 1000 + errno);
	say(a, sem_timedwait(&s, &bad) * 1000 + errno);
	if (pthread_create(&waker, NULL, wake, &self) != 0)
		_exit(99);
	say(a, sem_wait(&s) * 1000 + errno);
	if (sigsetjmp(back, 1) == 0) {
		far = &back;
		(void)sem_wait(&s);
		_exit(97);
	}
	far = NULL;
	(void)pthread_cancel(waker);
	(void)pthread_join(waker, NULL);
}

static void
c11(struct answers *a)
{
	mtx_t m;

	(void)mtx_init(&m, mtx_plain | mtx_recursive);
	say(a, mtx_lock(&m) * 100 + mtx_lock(&m));
	say(a, pthread_join(pthread_self(), NULL));
}

/* ---- load ---------------------------------------------------------------- */

static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ball_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ball_moved = PTHREAD_COND_INITIALIZER;
static uint64_t plain_count, ball;

static void
count(void)
{
	for (int i = 0; i < 1000; i++) {
		(void)pthread_mutex_lock(&count_lock);
		plain_count++;
		(void)pthread_mutex_unlock(&count_lock);
	}
	atomic_fetch_add(&counted, 1000);
}

static void
play(uint64_t side)
{
	(void)pthread_mutex_lock(&ball_lock);
	while (ball % 2 != side && !atomic_load(&victim_over))
		(void)pthread_cond_wait(&ball_moved, &ball_lock);
	ball++;
	(void)pthread_cond_signal(&ball_moved);
	(void)pthread_mutex_unlock(&ball_lock);
	atomic_fetch_add(&throws, 1);
}

/* ---- the door ------------------------------------------------------------ */

static void
pass(struct answers *a)
{
	a->n = 0;
	mutexes(a);
	rwlocks(a);
	semaphores(a);
	c11(a);
	cancellation(a);
	if (cancelled_join() < 0)
		atomic_fetch_add(&wrong, 1);
}

static void *
work(void *arg)
{
	const uintptr_t number = (uintptr_t)arg;

	while (!atomic_load(&victim_over)) {
		if (number > 2) {
			count();
			play(number % 2);
			continue;
		}

		struct answers a;

		pass(&a);
		atomic_fetch_add(&passes, 1);
		for (int i = 0; i < ntruth; i++)
			if (a.n != ntruth || a.values[i] != truth[i]) {
				printf("answer %d: %d, was %d\n", i,
				       a.values[i], truth[i]);
				atomic_fetch_add(&wrong, 1);
			}
	}
	(void)pthread_cond_broadcast(&ball_moved);
	return NULL;
}

static void
mark(void)
{
	victim_say("answers", (uint64_t)ntruth);
	victim_say("passes", atomic_load(&passes));
	victim_say("wrong", atomic_load(&wrong));
	victim_say("throws", atomic_load(&throws));
}

int
main(void)
{
	const uintptr_t slot = (uintptr_t)by_table;
	struct answers a;

	if (sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal },
		      NULL) != 0)
		return 99;
	victim_init();
	pass(&a);
	ntruth = a.n;
	memcpy(truth, a.values, sizeof truth);
	crew_serve(CREW, work, mark);
	return victim_end(atomic_load(&wrong) == 0 && ntruth < ANSWERS &&
			  (uintptr_t)by_table == slot &&
			  plain_count == atomic_load(&counted));
}
