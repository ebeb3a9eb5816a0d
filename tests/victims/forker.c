/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * forker: forks children one after the other; each burns 2 ms in child_work
 * and must exit with what the parent foretold. The parent burns in
 * parent_work meanwhile.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "burn.h"
#include "crew.h"

static _Atomic uint64_t children, wrong, eintr, parent_ns;

NOINLINE static uint64_t
child_work(uint64_t x)
{
	return burn(x, 1000000);
}

NOINLINE static uint64_t
parent_work(uint64_t x)
{
	return burn(x, 1000000);
}

static void *
work(void *arg)
{
	const int expected = leap(1, 1000000) % 100;

	(void)arg;
	while (!atomic_load(&victim_over)) {
		const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
		const pid_t pid = fork();
		int status;

		if (pid < 0)
			exit(99);
		if (pid == 0)
			_exit(child_work(1) % 100);
		if (parent_work(1) % 100 != (uint64_t)expected)
			atomic_fetch_add(&wrong, 1);
		while (waitpid(pid, &status, 0) < 0)
			atomic_fetch_add(errno == EINTR ? &eintr : &wrong, 1);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&children, 1);
		atomic_fetch_add(&parent_ns, victim_clock(
				 CLOCK_THREAD_CPUTIME_ID) - start);
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("children", atomic_load(&children));
	victim_say("parent_ns", atomic_load(&parent_ns));
	victim_say("eintr", atomic_load(&eintr));
}

int
main(void)
{
	victim_init();
	crew_serve(1, work, mark);
	return victim_end(wrong == 0 && eintr == 0);
}
