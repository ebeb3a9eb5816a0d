/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * levels [calls]: idle; SIGUSR1 makes it busy on one processor, or idle again;
 * SIGUSR2 makes it touch 64 MB more. Ends when its standard input does. With
 * `calls`: twenty calls of work, of which two last longer than 50 ms.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t busy, grow;

static void
on_signal(int sig)
{
	if (sig == SIGUSR1)
		busy = !busy;
	else
		grow = 1;
}

__attribute__((noinline)) int
work(int ms)
{
	const struct timespec t = { 0, ms * 1000000L };

	if (ms)
		nanosleep(&t, NULL);
	return ms + 1;
}

static int
calls(void)
{
	int sum = 0;

	for (int i = 0; i < 20; i++)
		sum += work(i == 7 ? 80 : i == 15 ? 120 : 0);
	printf("sum %d\n", sum);
	return sum == 220 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	volatile unsigned long burnt = 0;

	if (argc > 1 && strcmp(argv[1], "calls") == 0)
		return calls();
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		if (poll(&in, 1, busy ? 0 : 20) > 0 &&
		    in.revents & (POLLHUP | POLLIN))
			return 0;
		for (int i = 0; busy && i < 1000000; i++)
			burnt++;
		if (grow) {
			memset(malloc(64 << 20), 1, 64 << 20);
			grow = 0;
		}
	}
}
