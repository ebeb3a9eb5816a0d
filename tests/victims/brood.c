/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * brood: forks a child at every mark and says `child PID`. A child burns CPU
 * as long as its parent lives, takes SIGPROF as its default asks, and at its
 * end runs /bin/true in its place, by which its parent knows that it was well.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "burn.h"
#include "victim.h"

enum { CHILDREN_MAX = 64 };

static pid_t children[CHILDREN_MAX];
static size_t born;
static int lifeline[2];

NOINLINE static uint64_t
child_work(uint64_t x)
{
	return burn(x, 1000000);
}

/* Not the same code, or the compiler would make one function of both. */
NOINLINE static uint64_t
parent_work(uint64_t x)
{
	return burn(x, 1000003);
}

static void __attribute__((noreturn))
be_a_child(void)
{
	struct pollfd life = { .fd = lifeline[0], .events = POLLIN };
	uint64_t x = 1;

	close(lifeline[1]);
	while (poll(&life, 1, 0) == 0)
		x = child_work(x);
	if (x)
		execl("/bin/true", "true", (char *)NULL);
	_exit(97);
}

static void
mark(void)
{
	if (born == CHILDREN_MAX)
		exit(99);

	const pid_t pid = fork();

	if (pid < 0)
		exit(99);
	if (pid == 0)
		be_a_child();
	children[born++] = pid;
	victim_say("child", (uint64_t)pid);
}

static void *
work(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (!atomic_load(&victim_over))
		x = parent_work(x);
	return x ? NULL : arg;
}

int
main(void)
{
	pthread_t thread;
	bool well = true;

	victim_init();
	if (pipe(lifeline) < 0 ||
	    pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, NULL);
	close(lifeline[1]);
	for (size_t i = 0; i < born; i++) {
		int status;

		while (waitpid(children[i], &status, 0) < 0)
			if (errno != EINTR)
				return 99;
		well &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return victim_end(well);
}
