/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a look at a blocked thread costs without a stop, as `sonde dump` does
 * it: its stack copied and unwound.
 *
 *     look PID
 *
 * Prints `threads N`, `whole N` (complete stacks), `ns N` a thread, and
 * `kernel N`, the ns of the same calls with nothing done with what they give;
 * `swept N` and `sweep N`, the same of all in one reading; the best of five
 * looks at all of them. `first N`: ns of the first such reading.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../tests/unit/unwind-help.h"
#include "control.h"

enum { LOOKS = 5, STACK_MAX = 8 << 20, FIRST = 60 << 10, FRAMES_MAX = 20000 };

static struct help_space h;
static size_t whole;

static void
walk(const struct snapshot_thread *th, struct unwind_trace *trace)
{
	const struct step_stack stack = { th->stack, th->stack_base,
					  th->stack_size, 0 };

	unwind_walk(h.space, &th->regs, &stack, NULL, NULL, FRAMES_MAX, trace);
	whole += trace->end == UNWIND_COMPLETE;
}

static void
look(struct target *t, pid_t tid, struct unwind_trace *trace)
{
	struct snapshot_thread th;

	if (peek_thread(t, tid, STACK_MAX, &th) < 0)
		return;
	walk(&th, trace);
	snapshot_thread_fini(&th);
}

static void
walk_one(void *arg, struct snapshot_thread *th)
{
	walk(th, arg);
}

/* ns for each of n; *first: all of the first time, setting up included. */
static uint64_t
best_sweep(struct target *t, ssize_t n, uint64_t *first)
{
	struct unwind_trace trace = { 0 };
	uint64_t best = UINT64_MAX;

	for (int i = 0; i <= LOOKS && n > 0; i++) {
		const uint64_t from = now_ns();

		whole = 0;
		if (snapshot_sleeping(t, STACK_MAX, walk_one, &trace) < 0) {
			fprintf(stderr, "look: %s\n", fail_last()->reason);
			return 0;
		}

		const uint64_t ns = now_ns() - from;

		if (i == 0)
			*first = ns;
		else
			best = ns < best ? ns : best;
	}
	unwind_trace_fini(&trace);
	return n > 0 ? best / (uint64_t)n : 0;
}

/* The calls of peek_thread. */
static void
ask_kernel(struct target *t, pid_t tid, struct unwind_trace *unused)
{
	static const char *const names[] = { "schedstat", "stat", "syscall" };
	static unsigned char stack[FIRST];
	const struct iovec to = { stack, sizeof stack };
	char path[64], text[1024];
	uint64_t sp = 0;
	int fds[3];

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "task/%d/%s", tid, names[i]);
		fds[i] = openat(target_proc(t), path, O_RDONLY | O_CLOEXEC);

		const ssize_t n = pread(fds[i], text, sizeof text - 1, 0);

		text[n > 0 ? n : 0] = '\0';
	}
	/* "202 ARGUMENT... SP PC" */
	for (char *end = strrchr(text, ' '); end && !sp;) {
		*end = '\0';
		end = strrchr(text, ' ');
		sp = end ? strtoull(end, NULL, 16) : 1;
	}

	const struct iovec from = { (void *)(uintptr_t)sp, sizeof stack };

	whole += process_vm_readv(tid, &to, 1, &from, 1, 0) > 0;
	(void)!pread(fds[0], text, sizeof text - 1, 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		close(fds[i]);
}

typedef void look_fn(struct target *t, pid_t tid, struct unwind_trace *trace);

/* ns a thread */
static uint64_t
best_of_all(look_fn *fn, struct target *t, const pid_t *tids, ssize_t n)
{
	struct unwind_trace trace = { 0 };
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < LOOKS && n > 0; i++) {
		const uint64_t from = now_ns();

		whole = 0;
		for (ssize_t k = 0; k < n; k++)
			fn(t, tids[k], &trace);

		const uint64_t ns = now_ns() - from;

		best = ns < best ? ns : best;
	}
	unwind_trace_fini(&trace);
	return n > 0 ? best / (uint64_t)n : 0;
}

int
main(int argc, char **argv)
{
	const pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	struct target *t = pid > 0 ? target_open(pid) : NULL;
	pid_t *tids = NULL;
	size_t cap = 0;

	if (!t) {
		fprintf(stderr, "look: %s\n", pid > 0 ? fail_last()->reason :
			"usage: look PID");
		return 99;
	}
	help_space_open(&h, pid, 0, NULL);

	const ssize_t n = target_threads(t, &tids, &cap);

	const uint64_t kernel = best_of_all(ask_kernel, t, tids, n);
	const uint64_t ns = best_of_all(look, t, tids, n);
	const size_t peeked = whole;
	uint64_t first = 0;
	const uint64_t sweep = best_sweep(t, n, &first);

	printf("threads %zd\nwhole %zu\nns %llu\nkernel %llu\n"
	       "swept %zu\nsweep %llu\nfirst %llu\n", n, peeked,
	       (unsigned long long)ns, (unsigned long long)kernel, whole,
	       (unsigned long long)sweep, (unsigned long long)first);
	free(tids);
	help_space_close(&h);
	target_close(t);
	return 0;
}
