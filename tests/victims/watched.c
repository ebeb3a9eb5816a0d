/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * watched: at each mark the first thread adds 3 to count and writes it once
 * more as it is; a thread that is born then adds 2; one that was there before,
 * and blocks all signals, adds 1; and read(2) writes to filled. A local of
 * local_sum takes the values 1, 3, 6, 10.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "victim.h"

volatile long count;
volatile short narrow;
volatile struct { int a; long b; } pair;
char filled[8], large[64];
static volatile int turn;

enum { SEEN_US = 700000 };	/* who blocks signals is seen late */

static void *
newborn(void *arg)
{
	(void)arg;
	count++;
	count++;
	return NULL;
}

static void *
deaf(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (turn >= 0) {
		if (turn == 1) {
			count++;
			turn = 0;
		}
		usleep(500);
	}
	return NULL;
}

__attribute__((noinline)) static long
local_sum(int n)
{
	volatile long total = 0;

	for (int i = 1; i <= n; i++)
		total += i;
	return total;
}

__attribute__((noinline)) static void
mark(void)
{
	const int fd = open("/dev/zero", O_RDONLY);
	pthread_t th;

	for (int i = 0; i < 3; i++)
		count++;
	count = *(volatile long *)&count;
	pthread_create(&th, NULL, newborn, NULL);
	pthread_join(th, NULL);
	turn = 1;
	while (turn)
		usleep(500);
	usleep(SEEN_US);
	narrow++;
	pair.b++;
	filled[0] = 'f';
	if (read(fd, filled, sizeof filled) != (ssize_t)sizeof filled)
		exit(99);
	close(fd);
	filled[1] = 'g';
	victim_say("sum", (uint64_t)local_sum(turn + 4));
	victim_say("count", (uint64_t)count);
}

int
main(void)
{
	pthread_t th;

	victim_init();
	pthread_create(&th, NULL, deaf, NULL);
	victim_ready();
	victim_serve(mark);
	turn = -1;
	pthread_join(th, NULL);
	return victim_end(count % 6 == 0 && large[0] == 0);
}
