/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is published as a thread's stack has a guard of its own below. The
 * scratch has one in its middle while we work, and what the kernel puts right
 * above the scratch is one mapping with its upper part: that guard goes with
 * the scratch, and holes may come above it.
 * HAZARD_STRAY_STACK
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/inject/private.h"

enum {
	ONE = 4096, SCRATCH = 8 * ONE, GUARD = 3 * ONE,
	STACK = 16 * ONE, HALF = 1 << 20, BOTH = SCRATCH + STACK,
};

static int failures;

static void
expect(bool right, const char *what)
{
	if (right)
		return;
	failures++;
	printf("FAIL: %s\n", what);
}

/* A reserve with nobody's memory around it: [guard][BOTH][guard]. */
static char *
reserve(void)
{
	char *at = mmap(NULL, BOTH + 2 * ONE, PROT_NONE, MAP_PRIVATE |
			MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(99);
	return at + ONE;
}

static void
make_writable(char *at, size_t n)
{
	if (mprotect(at, n, PROT_READ | PROT_WRITE) < 0)
		exit(99);
}

static bool
is_published(const struct guest *g, const void *address)
{
	const uint64_t at = (uint64_t)address;
	const struct record_tables *t = (const struct record_tables *)
		((const char *)g->area + g->area->tables_at[g->area->tables]);
	const struct record_stack *s = (const struct record_stack *)
		((const char *)t + t->stacks_at);

	for (uint32_t i = 0; i < t->stacks; i++)
		if (at >= s[i].start && at < s[i].end)
			return true;
	return false;
}

static void
publish(struct guest *g, const char *scratch)
{
	const struct step_tables none = { 0 };

	g->passing = (uint64_t)scratch;
	g->passing_end = scratch ? g->passing + SCRATCH : 0;
	if (guest_publish(g, &none) < 0) {
		printf("%s\n", fail_last()->reason);
		exit(99);
	}
}

/* In a child, which has the same mappings and stands still. */
static void
look(struct guest *g, char *above, char *below)
{
	publish(g, NULL);
	expect(is_published(g, above + SCRATCH), "a guarded stack");
	expect(is_published(g, below), "a guarded stack below the scratch");
	publish(g, above);
	expect(!is_published(g, above), "the scratch is a stack");
	expect(!is_published(g, above + GUARD + ONE),
	       "the scratch is a stack, above its guard");
	expect(!is_published(g, above + SCRATCH),
	       "its stack has no guard but the scratch's");
	publish(g, below + STACK);
	expect(is_published(g, below), "a stack that the scratch continues");
	expect(!is_published(g, below + STACK), "the scratch is its stack");
}

int
main(void)
{
	struct record_area *area = calloc(1, RECORD_HEADER_BYTES + 2 * HALF);
	char *above = reserve(), *below = reserve();
	struct guest g = { .area = area };
	int gate[2];
	pid_t pid;
	char byte;

	/* scratch, its guard, the rest of it, a stack */
	make_writable(above, GUARD);
	make_writable(above + GUARD + ONE, BOTH - GUARD - ONE);
	/* guard, a stack, scratch */
	make_writable(below, BOTH);
	if (!area || pipe(gate) < 0)
		return 99;
	area->tables = RECORD_HALF_NONE;
	for (int i = 0; i < 2; i++)
		g.layout.tables_at[i] = area->tables_at[i] =
			(uint64_t)(RECORD_HEADER_BYTES + i * HALF);
	g.layout.table_bytes = HALF;
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	g.t = pid > 0 ? target_open(pid) : NULL;
	if (!g.t)
		return 99;
	look(&g, above, below);
	target_close(g.t);
	close(gate[0]);
	close(gate[1]);
	(void)waitpid(pid, NULL, 0);
	free(area);
	return failures > 0;
}
