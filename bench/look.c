/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a look at a blocked thread costs without a stop, as `sonde dump` does
 * it: its stack copied and unwound.
 *
 *     look PID
 *
 * Prints `threads N`, `whole N` (complete stacks) and `ns N` a thread; the
 * best of five looks at all of them.
 */
#include <sys/wait.h>

#include "../tests/unit/unwind-help.h"
#include "control.h"

enum { LOOKS = 5, STACK_MAX = 8 << 20, FRAMES_MAX = 20000 };

static struct help_space h;
static size_t whole;

static void
look(struct target *t, pid_t tid, struct unwind_trace *trace)
{
	struct snapshot_thread th;

	if (peek_thread(t, tid, STACK_MAX, &th) < 0)
		return;

	const struct step_stack stack = { th.stack, th.stack_base,
					  th.stack_size, 0 };

	unwind_walk(h.space, &th.regs, &stack, NULL, NULL, FRAMES_MAX, trace);
	whole += trace->end == UNWIND_COMPLETE;
	free(th.stack);
}

int
main(int argc, char **argv)
{
	const pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	struct target *t = pid > 0 ? target_open(pid) : NULL;
	struct unwind_trace trace = { 0 };
	uint64_t best = UINT64_MAX;
	pid_t *tids = NULL;
	size_t cap = 0;

	if (!t) {
		fprintf(stderr, "look: %s\n", pid > 0 ? fail_last()->reason :
			"usage: look PID");
		return 99;
	}
	help_space_open(&h, pid, 0, NULL);

	const ssize_t n = target_threads(t, &tids, &cap);

	for (int i = 0; i < LOOKS && n > 0; i++) {
		const uint64_t from = now_ns();

		whole = 0;
		for (ssize_t k = 0; k < n; k++)
			look(t, tids[k], &trace);

		const uint64_t ns = now_ns() - from;

		best = ns < best ? ns : best;
	}
	printf("threads %zd\nwhole %zu\nns %llu\n", n, whole,
	       (unsigned long long)(n > 0 ? best / (uint64_t)n : 0));
	free(tids);
	unwind_trace_fini(&trace);
	help_space_close(&h);
	target_close(t);
	return 0;
}
