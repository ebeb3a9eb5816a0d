/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * frames [depth [altstack | malloc | asleep]]: CPU time below every kind of
 * frame that an unwinder meets:
 *
 *	by_handler	a signal handler (caller: raises); altstack: on a stack
 *			of its own, far from the interrupted one; malloc: there
 *			too, and what it interrupts is in malloc(3) or free(3);
 *			asleep: as altstack, and it sleeps as well
 *	by_libc		a callback of qsort(3)
 *	by_alloca	a frame of variable, over-aligned size
 *	by_tail_call	a tail call (its caller is gone)
 *	by_context	a coroutine of makecontext(3), outermost: its start
 *	by_depth	a recursion (default 150 deep)
 *
 * Each of them alike, in turn, on two threads.
 */
#include <alloca.h>
#include <pthread.h>
#include <ucontext.h>

#include "burn.h"
#include "victim.h"

enum { STEPS_MIN = 50000, STEPS_MAX = 250000, KINDS = 6, THREADS = 2 };

static const char *const names[KINDS] = {
	"by_handler", "by_libc", "by_alloca", "by_tail_call", "by_context",
	"by_depth",
};
static _Atomic uint64_t spent[KINDS];
static _Atomic uint64_t wrong;
static int depth = 150;
static bool altstack, in_malloc, asleep;

/* Six leaves of one length would make a cycle as long as an interval of
 * sampling, and be seen unevenly by whoever samples. */
static __thread uint32_t lengths;

/* The code that burns, inlined into each leaf so that it has its name. */
__attribute__((always_inline)) static inline void
leaf(int kind)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t steps = STEPS_MIN +
		victim_random(&lengths) % (STEPS_MAX - STEPS_MIN);

	if (burn(1, steps) != leap(1, steps))
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&spent[kind],
			 victim_clock(CLOCK_THREAD_CPUTIME_ID) - start);
}

static __thread volatile bool handled;
static __thread timer_t timer;

NOINLINE static void
by_handler(int signal)
{
	const struct timespec nap = { .tv_nsec = 2000000 };

	(void)signal;
	leaf(0);
	if (asleep)
		nanosleep(&nap, NULL);
	handled = true;
}

/* Until the signal comes. */
static inline void
allocate(void)
{
	enum { BLOCKS = 64, SIZE_MOST = 8000 };
	static __thread uint32_t seed;
	static __thread void *blocks[BLOCKS];
	const struct itimerspec soon = { .it_value.tv_nsec = 20000 };

	handled = false;
	timer_settime(timer, 0, &soon, NULL);
	while (!handled) {
		void **block = &blocks[victim_random(&seed) % BLOCKS];

		free(*block);
		*block = malloc(victim_random(&seed) % SIZE_MOST);
	}
}

NOINLINE static void
raises(void)
{
	if (in_malloc)
		allocate();
	else
		pthread_kill(pthread_self(), SIGUSR1);
	__asm__ volatile("");
}

NOINLINE static int
by_libc(const void *a, const void *b)
{
	leaf(1);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void
sorts(void)
{
	int two[] = { 2, 1 };

	qsort(two, 2, sizeof *two, by_libc);
}

NOINLINE static void
by_alloca(volatile char *room)
{
	room[0] = 1;
	leaf(2);
	__asm__ volatile("");
}

NOINLINE static void
allocates(size_t n)
{
	_Alignas(64) volatile char wide[64];

	wide[0] = 0;
	by_alloca(alloca(n));
	__asm__ volatile("" : : "m"(wide));
}

NOINLINE static void
by_tail_call(int n)
{
	__asm__ volatile("" : : "r"(n));
	leaf(3);
}

NOINLINE static void
passes_on(int n)
{
	by_tail_call(n + 1);
}

NOINLINE static void
by_context(void)
{
	leaf(4);
	__asm__ volatile("");
}

static void
coroutine(void)
{
	by_context();
	__asm__ volatile("");
}

NOINLINE static void
switches(char *stack, size_t size)
{
	ucontext_t here, there;

	if (getcontext(&there) < 0)
		exit(99);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = size;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	if (swapcontext(&here, &there) < 0)
		exit(99);
}

NOINLINE static int
by_depth(int n)
{
	if (n == 0) {
		leaf(5);
		return 0;
	}

	const int below = by_depth(n - 1);

	__asm__ volatile("");	/* or the compiler makes a loop of it */
	return below + 1;
}

static void
make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = SIGUSR1 };

	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		exit(99);
}

static void *
work(void *arg)
{
	enum { SIZE = 64 * 1024 };
	char *stacks = malloc(2 * SIZE);
	const stack_t alternate = { .ss_sp = stacks, .ss_size = SIZE };
	uint32_t seed = (uintptr_t)arg + 1;

	lengths = seed + THREADS;
	if (!stacks || (altstack && sigaltstack(&alternate, NULL) < 0))
		exit(99);
	if (in_malloc)
		make_timer();
	while (!atomic_load(&victim_over)) {
		raises();
		sorts();
		allocates(16 + victim_random(&seed) % 512);
		passes_on(seed);
		switches(stacks + SIZE, SIZE);
		if (by_depth(depth) != depth)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void
mark(void)
{
	for (int i = 0; i < KINDS; i++)
		victim_say(names[i], atomic_load(&spent[i]));
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = by_handler,
				    .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t thread[THREADS];

	if (argc > 1)
		depth = atoi(argv[1]);
	altstack = argc > 2;
	in_malloc = altstack && strcmp(argv[2], "malloc") == 0;
	asleep = altstack && strcmp(argv[2], "asleep") == 0;
	victim_init();
	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return 99;
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 99;
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	mark();
	return victim_end(atomic_load(&wrong) == 0);
}
