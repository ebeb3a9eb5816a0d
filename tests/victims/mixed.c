/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mixed one|early|with|after: a program that does something of every kind, and
 * knows how much: it computes 3:1 in three_parts and one_part, reads /dev/zero
 * (system time), naps, takes and keeps blocks of memory. Its work is done by
 *
 *	one	the main thread alone
 *	early	threads that end after a few rounds, one behind the other
 *	with	two threads that still work when the process ends
 *	after	two threads that are made at the second mark
 *
 * From the second mark on the main thread opens a phase now and then: it calls phase_begin, waits, and
 * calls phase_end. What was done in phases is counted apart: between the two
 * calls (in_KEY) and with the calls themselves (by_KEY).
 */
#include <fcntl.h>
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { WORKERS = 2, UNIT = 150000, CHUNK = 4 << 20, ROUNDS = 12,
       BLOCKS = 5, BLOCK = 160, PHASE_MS = 120, REST_MS = 60 };

/* What was done so far, by all threads. */
enum { THREE, ONE, READ, NAP, LIFE, BLOCKS_TAKEN, BLOCKS_KEPT, BYTES_READ, CPU,
       NKEYS };
static const char *const keys[NKEYS] = {
	"three_ns", "one_ns", "read_ns", "nap_ns", "life_ns", "taken", "kept",
	"bytes", "clock_ns"
};
static _Atomic uint64_t done_[NKEYS];
static uint64_t in_phase[NKEYS], by_phase[NKEYS];
static int marks;
static bool wrong;
static uint64_t main_counted_at;	/* the main thread's life, until then */

struct worker {
	uint64_t sum, expected;
	uint32_t seed;
	char *chunk;
	uint64_t counted_at;	/* its life is counted until then */
};

static void
add(int key, uint64_t n)
{
	atomic_fetch_add(&done_[key], n);
}

NOINLINE static uint64_t
three_parts(uint64_t x, uint32_t n)
{
	return burn(x, 3 * (uint64_t)n);
}

NOINLINE static uint64_t
one_part(uint64_t x, uint32_t n)
{
	return burn(x, n);
}

NOINLINE static void
read_zeros(struct worker *w)
{
	const int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	const ssize_t n = read(fd, w->chunk, CHUNK);

	wrong |= n <= 0;	/* a stop may cut it short */
	add(BYTES_READ, n);
	close(fd);
}

NOINLINE static void
nap(void)
{
	const struct timespec t = { .tv_nsec = 1000000 };
	const uint64_t start = victim_clock(CLOCK_MONOTONIC);

	nanosleep(&t, NULL);
	add(NAP, victim_clock(CLOCK_MONOTONIC) - start);
}

/* All but the last one are given back. */
NOINLINE static void
take_blocks(void)
{
	void *volatile block;

	for (int i = 0; i < BLOCKS; i++) {
		block = malloc(BLOCK);
		wrong |= !block;
		if (i < BLOCKS - 1)
			free(block);
	}
	add(BLOCKS_TAKEN, BLOCKS);
	add(BLOCKS_KEPT, 1);
}

static void
count_life(uint64_t *counted_at)
{
	const uint64_t now = victim_clock(CLOCK_MONOTONIC);

	if (*counted_at)
		add(LIFE, now - *counted_at);
	*counted_at = now;
}

NOINLINE static void
work_round(struct worker *w)
{
	const uint32_t n = UNIT + victim_random(&w->seed) % UNIT;
	uint64_t t[4];

	t[0] = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	w->sum = three_parts(w->sum, n);
	t[1] = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	w->sum = one_part(w->sum, n);
	t[2] = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	read_zeros(w);
	t[3] = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	add(THREE, t[1] - t[0]);
	add(ONE, t[2] - t[1]);
	add(READ, t[3] - t[2]);
	w->expected = leap(w->expected, 4 * (uint64_t)n);
	take_blocks();
	nap();
	if (w->counted_at)
		count_life(&w->counted_at);
}

static void *
work(void *arg)
{
	const int rounds = arg ? ROUNDS : 0;
	struct worker w = { .seed = 0x9e3779b9u ^ (uint32_t)(uintptr_t)&w };

	w.chunk = malloc(CHUNK);
	count_life(&w.counted_at);
	for (int i = 0; !atomic_load(&victim_over) && (!rounds || i < rounds);
	     i++)
		work_round(&w);
	wrong |= w.sum != w.expected;
	free(w.chunk);
	return NULL;
}

/* ---- phases -------------------------------------------------------------- */

NOINLINE void
phase_begin(void)
{
	__asm__ volatile("nop");
}

NOINLINE void
phase_end(void)
{
	__asm__ volatile("nop");
}

static void
read_keys(uint64_t *now)
{
	for (int i = 0; i < CPU; i++)
		now[i] = atomic_load(&done_[i]);
	now[CPU] = victim_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static void
add_phase(uint64_t *sum, const uint64_t *from, const uint64_t *to)
{
	for (int i = 0; i < NKEYS; i++)
		sum[i] += to[i] - from[i];
}

static uint64_t
now_ms(void)
{
	return victim_clock(CLOCK_MONOTONIC) / 1000000;
}

/* Called all the time by the main thread: is it time to open, to close? */
static void
turn_phase(bool last)
{
	static uint64_t outer[NKEYS], inner[NKEYS], next;
	static bool open;
	uint64_t now[NKEYS];

	count_life(&main_counted_at);
	if (last ? !open : marks < 2 || now_ms() < next)
		return;
	read_keys(now);
	if (!open) {
		memcpy(outer, now, sizeof now);
		phase_begin();
		read_keys(inner);
	} else {
		phase_end();
		add_phase(in_phase, inner, now);
		read_keys(now);
		add_phase(by_phase, outer, now);
	}
	open = !open;
	next = now_ms() + (open ? PHASE_MS : REST_MS);
}

/* ---- the main thread ----------------------------------------------------- */

static void
mark(void)
{
	uint64_t now[NKEYS];

	count_life(&main_counted_at);
	read_keys(now);
	for (int i = 0; i < NKEYS; i++) {
		char key[32];

		victim_say(keys[i], now[i]);
		snprintf(key, sizeof key, "in_%s", keys[i]);
		victim_say(key, in_phase[i]);
		snprintf(key, sizeof key, "by_%s", keys[i]);
		victim_say(key, by_phase[i]);
	}
	printf("marked\n");
}

/* false at the end; waits at most so long for a word */
static bool
serve(int ms)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char word[8];

	if (poll(&in, 1, ms) <= 0)
		return true;
	/* a reader waits for each answer: words do not come together */
	if (read(0, word, sizeof word) < 4 || strncmp(word, "mark", 4) != 0)
		return false;
	mark();
	marks++;
	return true;
}

static void
start(pthread_t *thread, bool brief)
{
	wrong |= pthread_create(thread, NULL, work, brief ? &wrong : NULL) != 0;
}

/* one behind the other, while words are served */
static void
run_early(void)
{
	pthread_t thread;

	do {
		start(&thread, true);
		while (pthread_tryjoin_np(thread, NULL) != 0) {
			if (!serve(2))
				atomic_store(&victim_over, true);
			turn_phase(false);
		}
	} while (!atomic_load(&victim_over));
}

static void
run_alone(void)
{
	static char chunk[CHUNK];
	struct worker w = { .seed = 7, .chunk = chunk };

	do {
		work_round(&w);
		turn_phase(false);
	} while (serve(0) && !atomic_load(&victim_over));
	wrong |= w.sum != w.expected;
}

/* after: at the second mark, when who records has begun */
static void
run_crew(bool after)
{
	pthread_t threads[WORKERS];
	bool there = false;

	do {
		if (!there && (!after || marks >= 2)) {
			for (int i = 0; i < WORKERS; i++)
				start(&threads[i], false);
			there = true;
		}
		turn_phase(false);
	} while (serve(2) && !atomic_load(&victim_over));
	if (!there || !after)
		return;
	atomic_store(&victim_over, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	victim_init();
	count_life(&main_counted_at);
	victim_ready();
	if (strcmp(how, "one") == 0)
		run_alone();
	else if (strcmp(how, "early") == 0)
		run_early();
	else if (strcmp(how, "with") == 0 || strcmp(how, "after") == 0)
		run_crew(how[0] == 'a');
	else
		return 99;
	turn_phase(true);
	mark();
	victim_end(!wrong);
	fflush(stdout);
	/* those that still work end with the process */
	_exit(wrong ? 1 : 0);
}
