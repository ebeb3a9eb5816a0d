/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hitter THREADS CALLS [serve|gate]: threads call three functions as fast as
 * they can, CALLS times each in all, and count what they have called. "serve":
 * they do so each time that the truth is asked for; "gate": and before it they
 * do not sleep, but look whether `gate` is open, which whoever debugs them can
 * do for them. They never end before the end.
 */
#include <pthread.h>

#include "victim.h"

enum { THREADS_MAX = 64 };

static pthread_barrier_t begin, end;
static struct tally {
	volatile uint64_t calls, sum;
	char padding[112];
} tallies[THREADS_MAX];
static unsigned threads, calls;
static volatile bool ends, gated;
static volatile unsigned gate;		/* open: so many rounds */

/* Its first instructions are those of any function. */
VICTIM_OWN static void
plain(unsigned i, struct tally *mine)
{
	volatile unsigned kept = i;

	mine->sum += kept;
}

/* Its first instruction changes memory. */
void rough(unsigned i, volatile uint64_t *count);
__asm__(".text\n.globl rough\n.type rough, @function\nrough:\n"
#if defined __x86_64__
	"	addq $1, (%rsi)\n	ret\n"
#else
	"	ldr x2, [x1]\n	add x2, x2, #1\n	str x2, [x1]\n	ret\n"
#endif
	".size rough, . - rough\n");

/* All threads have done what they were to do. */
VICTIM_OWN static void
over(void)
{
	__asm__ volatile("" ::: "memory");
}

static void
hit(struct tally *mine, unsigned number)
{
	const unsigned mine_of = calls / threads +
		(number < calls % threads);

	for (unsigned i = 0; i < mine_of; i++) {
		plain(i, mine);
		rough(i, &mine->calls);
	}
}

static void
wait_to_begin(unsigned round)
{
	if (!gated)
		pthread_barrier_wait(&begin);
	while (gated && gate <= round && !ends)
		;
}

static void *
work(void *arg)
{
	const unsigned number = (unsigned)(uintptr_t)arg;

	for (unsigned round = 0;; round++) {
		wait_to_begin(round);
		if (ends)
			return NULL;
		hit(&tallies[number], number);
		pthread_barrier_wait(&end);
	}
}

static uint64_t
counted(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < threads; i++)
		n += tallies[i].calls;
	return n;
}

static void
mark(void)
{
	const uint64_t since = victim_clock(CLOCK_MONOTONIC);
	static unsigned rounds;

	if (gated)
		gate = ++rounds;
	else
		pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	victim_say("ns", victim_clock(CLOCK_MONOTONIC) - since);
	victim_say("calls", counted());
	over();
}

int
main(int argc, char **argv)
{
	pthread_t t[THREADS_MAX];
	uint64_t rounds;

	victim_init();
	threads = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	calls = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	gated = argc > 3 && strcmp(argv[3], "gate") == 0;
	if (threads < 1 || threads > THREADS_MAX)
		return 99;
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_barrier_init(&end, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work,
				   (void *)(uintptr_t)i) != 0)
			return 99;
	if (argc > 3) {
		victim_ready();
		victim_serve(mark);
	} else {
		mark();
	}
	ends = true;
	if (!gated)
		pthread_barrier_wait(&begin);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	rounds = calls ? counted() / calls : 0;
	printf("checksum %s\n", counted() == rounds * calls ? "ok" : "wrong");
	return counted() != rounds * calls;
}
