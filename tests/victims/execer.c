/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * execer: blocks SIGURG, burns CPU from its first word on, and becomes another
 * program (itself, told so). That one burns for a while and must then find no
 * SIGURG waiting; it is a victim as any other.
 */
#include <sys/syscall.h>

#include "burn.h"
#include "victim.h"

NOINLINE static uint64_t
blocked_work(uint64_t x, uint64_t ns)
{
	const uint64_t end = victim_clock(CLOCK_MONOTONIC) + ns;

	while (victim_clock(CLOCK_MONOTONIC) < end)
		x = burn(x, 10000);
	return x;
}

static void
set_sigurg(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigprocmask(how, &set, NULL);
}

int
main(int argc, char **argv)
{
	sigset_t waiting;
	char c;

	(void)argv;
	if (argc == 1) {
		victim_init();
		victim_ready();
		while (read(0, &c, 1) == 1 && c != '\n')
			;
		set_sigurg(SIG_BLOCK);
		if (blocked_work(1, 300000000))
			execl("/proc/self/exe", "execer", "other",
			      (char *)NULL);
		return 99;
	}
	/* as long as a visitor may need to hear of the exec */
	if (!blocked_work(1, 1000000000))
		return 99;
	/* (libc's own is an import, for which ticks of timers are refused) */
	sigemptyset(&waiting);
	if (syscall(SYS_rt_sigpending, &waiting, 8) < 0 || sigismember(&waiting, SIGURG))
		return 98;
	set_sigurg(SIG_UNBLOCK);
	victim_init();
	printf("unblocked\n");
	victim_serve(NULL);
	return victim_end(true);
}
