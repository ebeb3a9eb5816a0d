/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ns per stack inside a signal handler, 10, 50 and 200 calls deep: the guest's
 * own walk (src/collector/hot_stack.c, compiled in here), libunwind and libc.
 * Each is the best of five runs, in a handler that interrupted the recursion.
 *
 * Lines: `ours|unw_step|unw_backtrace|backtrace FRAMES NS`
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../src/collector/private.h"
#include "../tests/unit/unwind-help.h"

enum {
	ROUNDS = 500, FRAMES_MAX = 1000, BEST_OF = 5,
	TABLES_AT = RECORD_HEADER_BYTES +
		STEP_MEMO * sizeof(struct step_memo),
};

struct guest_state guest;	/* hot_stack.c asks it for the first thread */

static struct help_space space;
static struct record_area *area;
static struct record *rec;
static volatile int calls;	/* raise is no way back here, says libc */
/* libunwind has one of this name, too: libc's is asked for by its file. */
static int (*libc_backtrace)(void **, int);

/* As the tracer publishes them; the rows stay where they are. */
static void
publish(void)
{
	const struct step_tables *from;
	struct record_tables *t;
	struct step_range *ranges;
	uint64_t end = 0;

	help_space_open(&space, getpid(), (uint64_t)(uintptr_t)&end, &end);
	from = unwind_space_tables(space.space);
	area = xcalloc(1, TABLES_AT + sizeof *t +
		       from->count * sizeof *ranges);
	area->memo_at = RECORD_HEADER_BYTES;
	t = (void *)((char *)area + TABLES_AT);
	ranges = (void *)(t + 1);
	memcpy(ranges, from->ranges, from->count * sizeof *ranges);
	for (uint32_t i = 0; i < from->count; i++)
		ranges[i].rows -= (uintptr_t)t;
	t->ranges_at = t->stacks_at = sizeof *t;
	t->ranges = from->count;
	area->tables_at[0] = TABLES_AT;
	area->tables = RECORD_HALF_0;
	area->main_stack_end = end;
	area->main_stack_floor = end - (8 << 20);
	rec = xcalloc(1, sizeof *rec + FRAMES_MAX * sizeof *rec->pcs);
}

static int
ours(const void *context)
{
	hot_stack_walk(area, context, rec, FRAMES_MAX);
	return rec->end == RECORD_COMPLETE ? rec->depth : -1;
}

static int
by_unw_step(const void *context)
{
	unw_cursor_t cursor;
	int n = 1;

	unw_init_local2(&cursor, (unw_context_t *)(uintptr_t)context,
			UNW_INIT_SIGNAL_FRAME);
	while (unw_step(&cursor) > 0)
		n++;
	return n;
}

static int
by_unw_backtrace(const void *context)
{
	void *pcs[FRAMES_MAX];

	(void)context;
	return unw_backtrace(pcs, FRAMES_MAX);
}

static int
by_backtrace(const void *context)
{
	void *pcs[FRAMES_MAX];

	(void)context;
	return libc_backtrace(pcs, FRAMES_MAX);
}

static void
measure(const char *name, int (*walk)(const void *), const void *context)
{
	uint64_t best = UINT64_MAX;
	int n = walk(context);

	for (int run = 0; run < BEST_OF; run++) {
		const uint64_t from = now_ns();

		for (int i = 0; i < ROUNDS; i++)
			n = walk(context);

		const uint64_t ns = now_ns() - from;

		best = ns < best ? ns : best;
	}
	printf("%s %d %.1f\n", name, n, (double)best / ROUNDS);
}

static void
on_signal(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	printf("calls %d\n", calls);
	fflush(stdout);
	measure("ours", ours, context);
	measure("unw_step", by_unw_step, context);
	measure("unw_backtrace", by_unw_backtrace, context);
	measure("backtrace", by_backtrace, context);
}

__attribute__((noinline)) static int
recurse(int n)
{
	volatile int keep = n;

	if (n > 0)
		return recurse(n - 1) + keep;
	raise(SIGUSR1);
	return keep;
}

int
main(void)
{
	static const int depths[] = { 10, 50, 200 };
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };

	libc_backtrace = (int (*)(void **, int))(uintptr_t)
		dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
	if (!libc_backtrace)
		return 99;
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_GLOBAL);
	publish();
	sigaction(SIGUSR1, &sa, NULL);
	for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
		calls = depths[i];
		(void)recurse(calls);
	}
	return 0;
}
