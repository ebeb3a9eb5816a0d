/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sharer HOW: another process uses its memory.
 *
 *	child	it has made one that stays (CLONE_VM)
 *	orphan	the same, but whoever made that has ended
 *	vfork	it waits in vfork for one that stays, in a second thread
 *	storm	one vforked child after the other, each ends at once
 *
 * Both go through `called` all the time, and each call counts: a trap in it
 * would end the one that nobody looks after. `sharer PID` names it.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "burn.h"
#include "victim.h"

enum { CALL_UNIT = 50, STACK_BYTES = 64 * 1024 };

static _Atomic uint64_t theirs, children, wrong;
static atomic_bool other_over;
static _Atomic pid_t other;
static char stacks[2][STACK_BYTES] __attribute__((aligned(16)));

NOINLINE static uint64_t
called(uint64_t x)
{
	return burn(x, CALL_UNIT);
}

static void
call_once(_Atomic uint64_t *count)
{
	if (called(1) != leap(1, CALL_UNIT))
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(count, 1);
}

static int
share(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)arg;
	atomic_store(&other, getpid());
	while (!atomic_load(&other_over)) {
		call_once(&theirs);
		(void)nanosleep(&pause, NULL);
	}
	_exit(7);
}

static int
end_at_once(void *arg)
{
	(void)arg;
	call_once(&theirs);
	_exit(7);
}

/* What is made by it stays when it ends. */
static int
make_one(void *arg)
{
	(void)arg;
	_exit(clone(share, stacks[1] + STACK_BYTES, CLONE_VM | SIGCHLD,
		    NULL) > 0 ? 7 : 8);
}

static void
reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&children, 1);
}

static void *
vforks(void *arg)
{
	const bool storm = arg != NULL;

	do {
		const pid_t pid = clone(storm ? end_at_once : share,
					stacks[0] + STACK_BYTES, CLONE_VM |
					CLONE_VFORK | SIGCHLD, NULL);

		if (pid < 0)
			exit(99);
		reap(pid);
	} while (storm && !atomic_load(&victim_over));
	return NULL;
}

static void
mark(void)
{
	victim_say("theirs", atomic_load(&theirs));
	victim_say("children", atomic_load(&children));
	victim_say("wrong", atomic_load(&wrong));
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "child";
	const bool storm = strcmp(how, "storm") == 0;
	const bool vfork = strcmp(how, "vfork") == 0 || storm;
	const bool orphan = strcmp(how, "orphan") == 0;
	pthread_t th;
	pid_t child = 0;

	victim_init();
	if (vfork && pthread_create(&th, NULL, vforks, storm ? &th : NULL))
		return 99;
	if (!vfork)
		child = clone(orphan ? make_one : share,
			      stacks[0] + STACK_BYTES, CLONE_VM | SIGCHLD,
			      NULL);
	if (orphan)
		reap(child);
	while (!storm && !atomic_load(&other))
		sched_yield();
	victim_say("sharer", (uint64_t)atomic_load(&other));
	victim_ready();
	victim_serve(mark);
	atomic_store(&other_over, true);
	if (vfork)
		pthread_join(th, NULL);
	else if (!orphan)
		reap(child);
	mark();
	return victim_end(!atomic_load(&wrong));
}
