/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waiter shared HOW: a thread, and a child process, with locks in memory that
 * both have.
 *
 *	ring	each holds a mutex that the other wants
 *	robust	the same, of robust ones
 *	rwring	the same, of a mutex and a read-write lock
 *	asleep	the child holds the one that the thread wants, and sleeps
 *	rwlock	the same of a read-write lock
 *	gone	the child has ended with it
 */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"
#include "waiter.h"

static struct shared {
	pthread_mutex_t mutexes[2];
	pthread_rwlock_t rwlock;
	pthread_barrier_t both;
} *shared;
static bool ring, rwlock;

static void
wait_shared(struct member *me)
{
	say_word(me, rwlock ? (void *)&shared->rwlock :
		 (void *)&shared->mutexes[1]);
	pthread_mutex_lock(&shared->mutexes[0]);
	pthread_barrier_wait(&shared->both);
	if (rwlock)
		pthread_rwlock_rdlock(&shared->rwlock);
	else
		pthread_mutex_lock(&shared->mutexes[1]);
}

static void
be_child(bool ends)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "other");
	pthread_mutex_lock(&shared->mutexes[1]);
	pthread_rwlock_wrlock(&shared->rwlock);
	pthread_barrier_wait(&shared->both);
	if (ends)
		_exit(0);
	if (ring)
		pthread_mutex_lock(&shared->mutexes[0]);
	for (;;)
		pause();
}

static void
make_shared(bool robust)
{
	pthread_mutexattr_t mutex;
	pthread_rwlockattr_t lock;
	pthread_barrierattr_t barrier;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		exit(99);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	if (robust)
		pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->mutexes[0], &mutex);
	pthread_mutex_init(&shared->mutexes[1], &mutex);
	pthread_rwlockattr_init(&lock);
	pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&shared->rwlock, &lock);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->both, &barrier, 2);
}

void
start_shared(const char *how)
{
	const bool gone = strcmp(how, "gone") == 0;
	const bool robust = strcmp(how, "robust") == 0;

	ring = robust || strcmp(how, "ring") == 0 ||
		strcmp(how, "rwring") == 0;
	rwlock = strcmp(how, "rwlock") == 0 || strcmp(how, "rwring") == 0;
	make_shared(robust);
	child = fork();
	if (child == 0)
		be_child(gone);
	victim_say("child", (uint64_t)child);
	add("wants", SYS_futex, wait_shared);
	if (gone)
		waitpid(child, NULL, 0);
	child = gone ? 0 : child;
}
