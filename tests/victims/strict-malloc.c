/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strict-malloc: its allocator knows only threads that the program has begun,
 * as the runtimes of sanitizers do, and crashes in all others. What it gives it
 * does not take back, so it takes little.
 */
#include <pthread.h>

#include "victim.h"

enum { ROOM = 16 << 20, HEAD = 16 };

struct state {
	uint64_t calls;
};

static char room[ROOM] __attribute__((aligned(HEAD)));
static _Atomic size_t used;
static struct state first, second;
static __thread struct state *mine;

static struct state *
own_state(void)
{
	if (!mine && atomic_load(&used) == 0)
		mine = &first;
	return mine;
}

void *
malloc(size_t n)
{
	const size_t whole = (n + 2 * HEAD - 1) / HEAD * HEAD;
	volatile struct state *s = own_state();
	size_t at;

	s->calls++;
	at = atomic_fetch_add(&used, whole);
	if (at + whole > ROOM)
		abort();
	*(size_t *)(room + at) = n;
	return room + at + HEAD;
}

void
free(void *p)
{
	if (p)
		own_state()->calls++;
}

void *
calloc(size_t n, size_t size)
{
	return malloc(n * size);	/* static memory is zero */
}

void *
realloc(void *p, size_t n)
{
	const size_t had = p ? *(size_t *)((char *)p - HEAD) : 0;
	void *q = malloc(n);

	if (p)
		memcpy(q, p, had < n ? had : n);
	return q;
}

static void *
work(void *arg)
{
	volatile uint64_t x = 0;

	mine = &second;
	while (!atomic_load(&victim_over))
		x = x * 3 + 1;
	return arg;
}

int
main(void)
{
	pthread_t thread;

	victim_init();
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_join(thread, NULL);
	puts("checksum ok");
	return 0;
}
