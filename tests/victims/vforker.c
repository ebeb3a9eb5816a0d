/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vforker: at each mark it makes a child by vfork, which sleeps and ends; so
 * long the parent waits in that call. It says how many there were and how many
 * ended otherwise than they should.
 */
#include <sys/wait.h>
#include <time.h>

#include "victim.h"

enum { ANSWER = 7, SLEEP_NS = 700 * 1000 * 1000 };

static uint64_t children, wrong;

static void
mark(void)
{
	const struct timespec t = { .tv_nsec = SLEEP_NS };
	int status = -1;
	const pid_t pid = vfork();

	if (pid == 0) {
		(void)nanosleep(&t, NULL);
		_exit(ANSWER);
	}
	children++;
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFEXITED(status) || WEXITSTATUS(status) != ANSWER)
		wrong++;
	victim_say("children", children);
	victim_say("wrong", wrong);
}

int
main(void)
{
	victim_init();
	victim_ready();
	victim_serve(mark);
	return victim_end(wrong == 0);
}
