/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late MODE: calls of one function that last for 80 ms and do not return: the
 * process ends in it ("exit", "killed"), or becomes another ("exec"), its thread
 * does ("thread"), a jump leaves it ("jump"). "early": the jump is at once, and
 * what lasts is behind it; "over": that, and then the end. Another call that is
 * soon over follows where it can.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "burn.h"
#include "victim.h"

enum { LONG_MS = 80 };

static const char *mode;
static jmp_buf back;

static bool
is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static void
rest(int ms)
{
	const struct timespec t = { 0, ms * 1000000L };

	if (ms)
		nanosleep(&t, NULL);
}

NOINLINE static int
work(int ms, bool returns)
{
	rest(ms);
	if (returns)
		return ms + 1;
	if (is("exit"))
		_exit(7);
	if (is("killed"))
		kill(getpid(), SIGKILL);
	if (is("exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (is("thread"))
		pthread_exit(NULL);
	longjmp(back, 1);
}

static void *
in_thread(void *arg)
{
	work(LONG_MS, false);
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	mode = argc > 1 ? argv[1] : "";
	if (work(0, true) != 1)
		return 1;
	if (is("thread")) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (setjmp(back) == 0) {
		work(is("early") || is("over") ? 0 : LONG_MS, false);
	}
	if (is("early") || is("over"))
		rest(2 * LONG_MS);
	return is("over") ? 0 : work(0, true) != 1;
}
