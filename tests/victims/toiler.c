/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * toiler: two threads do a little of all that can be traced, time and again,
 * and mostly sleep: blocks of memory, a lock that both want, bytes through a
 * pipe. Each result is checked. It says how often, and how many import slots
 * lead into a library of sonde's.
 */
#include "crew.h"
#include "led.h"

enum { THREADS = 2, BLOCKS = 8, PAUSE_NS = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t locked;		/* by it */
static int pipes[THREADS][2];
static _Atomic uint64_t rounds, wrong;

static bool
memory(uint32_t *state)
{
	unsigned char *blocks[BLOCKS];
	bool right = true;

	for (int i = 0; i < BLOCKS; i++) {
		const size_t n = 1 + victim_random(state) % 4000;

		blocks[i] = i % 2 ? malloc(n) : calloc(1, n);
		if (!blocks[i])
			return false;
		memset(blocks[i], i + 1, n);
		blocks[i] = realloc(blocks[i], 2 * n);
		right &= blocks[i] && blocks[i][n - 1] == i + 1;
	}
	for (int i = 0; i < BLOCKS; i++) {
		right &= blocks[i][0] == i + 1;
		free(blocks[i]);
	}
	return right;
}

static bool
bytes(const int *fds, uint32_t *state)
{
	char out[256], in[sizeof out];
	const size_t n = 1 + victim_random(state) % sizeof out;

	memset(out, (int)n, n);
	return write(fds[1], out, n) == (ssize_t)n &&
		read(fds[0], in, sizeof in) == (ssize_t)n &&
		memcmp(in, out, n) == 0;
}

static void *
work(void *number)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const int *fds = pipes[(uintptr_t)number - 1];
	uint32_t state = (uint32_t)(uintptr_t)number * 7919;

	while (!atomic_load(&victim_over)) {
		if (!memory(&state) || !bytes(fds, &state))
			atomic_fetch_add(&wrong, 1);
		if (pthread_mutex_lock(&lock) != 0)
			atomic_fetch_add(&wrong, 1);
		locked++;
		(void)nanosleep(&pause, NULL);
		pthread_mutex_unlock(&lock);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("rounds", atomic_load(&rounds));
	victim_say("led", led());
}

int
main(void)
{
	victim_init();
	for (int i = 0; i < THREADS; i++)
		if (pipe(pipes[i]) < 0)
			exit(99);
	crew_serve(THREADS, work, mark);
	return victim_end(atomic_load(&wrong) == 0 &&
			  locked == atomic_load(&rounds));
}
