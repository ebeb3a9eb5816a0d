/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * orphans: at each mark a child makes a child and ends at once; that one, whose
 * parent is gone, works for half a second of CPU time, says so, and lives until
 * its grandparent ends. orphans_ns is what all of them used by then.
 */
#include <sys/wait.h>

#include "burn.h"
#include "victim.h"

enum { WORK_NS = 500 * 1000 * 1000 };

static int lifeline[2], told[2];
static uint64_t orphans_ns;

static void __attribute__((noreturn))
be_an_orphan(void)
{
	uint64_t x = 1, used;
	char none;

	close(lifeline[1]);
	while ((used = victim_clock(CLOCK_PROCESS_CPUTIME_ID)) < WORK_NS)
		x = burn(x, 1000000);
	if (write(told[1], &used, sizeof used) != sizeof used)
		_exit(97);
	(void)!read(lifeline[0], &none, 1);
	_exit(x == 0);
}

static void
mark(void)
{
	uint64_t used;
	const pid_t pid = fork();

	if (pid < 0)
		exit(99);
	if (pid == 0) {
		const pid_t orphan = fork();

		if (orphan == 0)
			be_an_orphan();
		_exit(orphan < 0);
	}
	if (waitpid(pid, NULL, 0) != pid ||
	    read(told[0], &used, sizeof used) != sizeof used)
		exit(99);
	orphans_ns += used;
	victim_say("orphans_ns", orphans_ns);
}

int
main(void)
{
	victim_init();
	if (pipe(lifeline) < 0 || pipe(told) < 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
