/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a look at a blocked thread costs without a stop, as `sonde dump` does
 * it: its stack copied and unwound.
 *
 *     look PID
 *
 * Prints `threads N`, `whole N` (complete stacks), `ns N` a thread, and
 * `kernel N`, the ns of the same calls with nothing done with what they give;
 * the best of five looks at all of them.
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

	printf("threads %zd\nwhole %zu\nns %llu\nkernel %llu\n", n, whole,
	       (unsigned long long)ns, (unsigned long long)kernel);
	free(tids);
	help_space_close(&h);
	target_close(t);
	return 0;
}
