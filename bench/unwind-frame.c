/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ns per frame of both engines over a stack, of our own recursion, 20, 50 and
 * 200 deep; of the first also with the copy of that stack from another process
 * (a child of ours, which has the same), and of that copy alone; and the time
 * to compile the objects that are named.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../tests/unit/unwind-help.h"

enum { ROUNDS = 2000, FRAMES_MAX = 4096, FRAME_BYTES = 352 };

typedef void (*walker)(struct unwind_space *, const struct arch_regs *,
		       const struct step_stack *, unwind_memory, void *,
		       size_t, struct unwind_trace *);

static struct help_space h;

/* The best of five: the machine is not ours alone. */
static double
measure(walker walk, const struct arch_regs *regs,
	const struct step_stack *stack, struct unwind_trace *t)
{
	double best = 1e9;

	walk(h.space, regs, stack, NULL, NULL, FRAMES_MAX, t);
	for (int run = 0; run < 5; run++) {
		const uint64_t from = now_ns();

		for (int i = 0; i < ROUNDS; i++)
			walk(h.space, regs, stack, NULL, NULL, FRAMES_MAX, t);

		const double ns = (double)(now_ns() - from) / ROUNDS;

		if (ns < best)
			best = ns;
	}
	return best;
}

/* What one thread costs a dump of a process that stands; regs NULL: the copy
 * alone, which is the kernel's. */
static double
measure_copied(const struct arch_regs *regs, const struct step_stack *stack,
	       struct unwind_trace *t)
{
	unsigned char *copy = xmalloc(stack->size);
	const struct step_stack copied = { copy, stack->base, stack->size, 0 };
	const pid_t child = fork();
	double best = 1e9;

	if (child == 0)
		for (;;)
			pause();
	for (int run = 0; run < 5; run++) {
		const uint64_t from = now_ns();

		for (int i = 0; i < ROUNDS; i++) {
			if (help_read((void *)(intptr_t)child, stack->base,
				      copy, stack->size) < 0)
				abort();
			if (!regs)
				continue;
			unwind_walk(h.space, regs, &copied, NULL, NULL,
				    FRAMES_MAX, t);
		}

		const double ns = (double)(now_ns() - from) / ROUNDS;

		if (ns < best)
			best = ns;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	free(copy);
	return best;
}

static void
report(const struct arch_regs *regs, const struct step_stack *stack)
{
	struct unwind_trace t = { 0 };
	const double table = measure(unwind_walk, regs, stack, &t);
	const size_t n = t.len;
	const double copied = measure_copied(regs, stack, &t);
	const double copy = measure_copied(NULL, stack, &t);
	const double full = measure(unwind_walk_full, regs, stack, &t);

	printf("%zu frames of %zu bytes: table %.0f ns, %.1f ns a frame; "
	       "second engine %.1f ns a frame; with the copy %.1f ns a frame; "
	       "the copy alone %.1f ns a frame\n",
	       n, stack->size / n, table, table / n, full / t.len, copied / n,
	       copy / n);
	unwind_trace_fini(&t);
}

/* Deepest: what is below it is no frame of the recursion. */
__attribute__((noinline)) static void
leaf(void)
{
	static ucontext_t uc;
	static uint64_t end;
	struct arch_regs regs = { 0 };

	getcontext(&uc);
	regs.reg[arch.reg_pc] = (uint64_t)uc.uc_mcontext.gregs[REG_RIP];
	regs.reg[arch.reg_sp] = (uint64_t)uc.uc_mcontext.gregs[REG_RSP];
	regs.reg[arch.reg_fp] = (uint64_t)uc.uc_mcontext.gregs[REG_RBP];
	help_space_open(&h, getpid(), regs.reg[arch.reg_sp], &end);

	const uint64_t sp = regs.reg[arch.reg_sp];

	report(&regs, &(struct step_stack){
		(const unsigned char *)(uintptr_t)sp, sp, end - sp, 0 });
	help_space_close(&h);
}

/* Frames as large as those of python3, 390 bytes each on average; each of its
 * calls is one (no tail call, no inlining into itself). */
__attribute__((noinline, optimize("no-inline", "no-ipa-cp"))) static int
recurse(int n)
{
	volatile unsigned char locals[FRAME_BYTES];

	locals[n % FRAME_BYTES] = (unsigned char)n;
	if (n > 0)
		return recurse(n - 1) + locals[n % FRAME_BYTES];
	leaf();
	return locals[0];
}

static void
compile(const char *path)
{
	struct unwind_object *obj =
		unwind_object_open(open(path, O_RDONLY | O_CLOEXEC), path);
	const uint64_t from = now_ns();
	uint32_t rows;

	if (!obj)
		return;
	(void)unwind_object_rows(obj, &rows);
	printf("%s: %u rows in %.1f ms\n", path, rows,
	       (double)(now_ns() - from) / 1e6);
	unwind_object_free(obj);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		compile(argv[i]);
	recurse(14);
	recurse(44);
	recurse(194);
	return 0;
}
