/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * phases CPU_MS: a thread that goes from function to function and reads its
 * CPU clock at each change, so that it knows what each of them used, however
 * often another process had its processor. One function works for long at a
 * time and rarely, others shortly and often, one in the kernel; no two phases
 * of a function are equal, so that nothing that keeps time is in step with
 * them. It begins at the word `mark`, works for so much CPU time, and ends;
 * then `done 1` is said.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "burn.h"
#include "victim.h"

enum { MS = 1000 * 1000, BYTES = 256 << 10, MIDDLES = 4, ROUNDS = 10 };

static uint64_t work_ns, long_ns, middle_ns, short_ns, brief_ns, kernel_ns;
static uint64_t last, steps, product;
/* what makes them different functions for the compiler, too */
static uint64_t longs, middles, shorts, briefs;
static uint32_t seed = 20061123;
static _Atomic bool done;

/* What this thread used since the last change. */
static void
change(uint64_t *sum)
{
	const uint64_t now = victim_clock(CLOCK_THREAD_CPUTIME_ID);

	*sum += now - last;
	last = now;
}

/* From a half of it to one and a half. */
static uint64_t
about(uint32_t n)
{
	const uint32_t some = n / 2 + victim_random(&seed) % n;

	steps += some;
	return some;
}

NOINLINE static void
long_phase(uint64_t n)
{
	longs++;
	product = burn(product, n);
}

NOINLINE static void
middle_phase(uint64_t n)
{
	middles++;
	product = burn(product, n);
}

NOINLINE static void
short_phase(uint64_t n)
{
	shorts++;
	product = burn(product, n);
}

NOINLINE static void
brief_phase(uint64_t n)
{
	briefs++;
	product = burn(product, n);
}

/* Pages that the kernel fills, and takes back. */
NOINLINE static void
kernel_phase(void)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED || munmap(p, BYTES) < 0)
		exit(97);
}

NOINLINE static void
cycle(void)
{
	uint64_t ignored = 0;

	change(&ignored);
	long_phase(about(16000000));
	change(&long_ns);
	for (int m = 0; m < MIDDLES; m++) {
		middle_phase(about(2000000));
		change(&middle_ns);
		for (int r = 0; r < ROUNDS; r++) {
			short_phase(about(200000));
			change(&short_ns);
			kernel_phase();
			change(&kernel_ns);
			brief_phase(about(40000));
			change(&brief_ns);
		}
	}
}

static void *
work(void *arg)
{
	while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < work_ns &&
	       !atomic_load(&victim_over))
		cycle();
	atomic_store(&done, true);
	return arg;
}

static void
mark(void)
{
	static pthread_t thread;

	if (!thread && pthread_create(&thread, NULL, work, NULL) != 0)
		exit(99);
	if (atomic_load(&done)) {
		victim_say("long_ns", long_ns);
		victim_say("middle_ns", middle_ns);
		victim_say("short_ns", short_ns);
		victim_say("brief_ns", brief_ns);
		victim_say("kernel_ns", kernel_ns);
		victim_say("longs", longs);
		victim_say("middles", middles);
		victim_say("shorts", shorts);
		victim_say("briefs", briefs);
	}
	victim_say("done", atomic_load(&done));
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	work_ns = strtoull(argv[1], NULL, 10) * MS;
	victim_init();
	victim_ready();
	victim_serve(mark);
	return victim_end(product == leap(0, steps));
}
