/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Write a synthetic experiment over the functions of given ELF files, for
 * other readers to agree about: a tool of the script tests, not a test.
 *
 *     view-write OUT.er SEED FILE...
 *
 * The seed decides the stacks. They recurse, end cut or failed, are found in
 * code that nothing describes, come from several threads and in every state,
 * and their weights are few, so that there are ties.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "experiment.h"
#include "symbol.h"

enum { FUNCTIONS_MAX = 64, STACKS = 300, DEPTH_MAX = 12 };
#define FIRST_BASE UINT64_C(0x100000000)
#define MS UINT64_C(1000000)

struct function {
	uint64_t pc, size;	/* at run time */
};

static struct function functions[FUNCTIONS_MAX];
static size_t function_count;
static uint64_t seed;

static uint64_t
pick(uint64_t n)
{
	seed = hash_word(seed + 0x9e3779b97f4a7c15ull);
	return seed % n;
}

struct loaded {
	uint64_t bias;
};

/* Functions with a name of ours: letters and blanks only, no start code. */
static bool
take(void *arg, const struct symbol *sym)
{
	const struct loaded *at = arg;

	if (str_starts(sym->name, "work_") && function_count < FUNCTIONS_MAX)
		functions[function_count++] = (struct function){
			at->bias + sym->start, sym->size };
	return true;
}

static void
stop(const char *what)
{
	fprintf(stderr, "view-write: %s\n", what);
	exit(99);
}

static void
load(struct experiment *exp, uint64_t t0, const char *path, uint64_t base)
{
	char *data = file_read(path, NULL);
	char *shown = realpath(path, NULL);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)data;
	struct symfile *sf = symfile_open(path, path, "");

	if (!data || !shown)
		stop(path);

	const Elf64_Phdr *ph = (const Elf64_Phdr *)(data + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++) {
		const uint64_t page = ph[i].p_vaddr & 0xfff;

		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X))
			continue;

		struct loaded at = { base - ph[i].p_vaddr + page };

		experiment_map(exp, t0, base, ph[i].p_memsz + page,
			       ph[i].p_offset - page, 5, shown, NULL);
		symfile_each(sf, take, &at);
	}
	symfile_free(sf);
	free(shown);
	free(data);
}

static uint64_t
any_pc(void)
{
	const struct function *fn = &functions[pick(function_count)];

	if (pick(40) == 0)
		return 0x7000 + pick(3) * 0x10;	/* nobody's */
	return fn->pc + pick(fn->size);
}

static void
add_stack(struct experiment *exp, uint64_t time_ns)
{
	static const enum stack_end ends[] = {
		STACK_COMPLETE, STACK_COMPLETE, STACK_COMPLETE, STACK_COMPLETE,
		STACK_COMPLETE, STACK_COMPLETE, STACK_TRUNCATED, STACK_FAILED,
	};
	uint64_t pcs[DEPTH_MAX];
	const size_t depth = 1 + pick(DEPTH_MAX);

	for (size_t i = 0; i < depth; i++)
		pcs[i] = any_pc();
	experiment_clock(exp, time_ns, 1000 + (pid_t)pick(5), (int)pick(2),
			 (enum mstate)pick(MSTATE_LINUX_CPU + 1),
			 (1 + pick(4)) * 2500 * 1000,
			 experiment_stack(exp, pcs, depth,
					  ends[pick(ARRAY_LEN(ends))]));
}

int
main(int argc, char **argv)
{
	if (argc < 4)
		stop("usage: view-write OUT.er SEED FILE...");
	seed = strtoull(argv[2], NULL, 10);

	const uint64_t t0 = now_ns();
	const struct experiment_info info = {
		.path = argv[1], .pid = getpid(), .ppid = 1, .pgrp = 1,
		.sid = 1, .cwd = "/", .command = argv[3],
		.interval_ns = 10 * MS, .engine = "none", .engine_why = "",
		.start_ns = t0, .owner = (uid_t)-1, .group = (gid_t)-1,
	};
	struct experiment *exp = experiment_create(&info);

	if (!exp)
		stop(fail_last()->reason);
	for (int i = 3; i < argc; i++)
		load(exp, t0, argv[i], (uint64_t)(i - 2) * FIRST_BASE);
	if (!function_count)
		stop("no function is called work_*");
	for (uint64_t i = 0; i < STACKS; i++)
		add_stack(exp, t0 + (i + 1) * MS);
	if (experiment_close(exp, t0 + (STACKS + 1) * MS, "") < 0)
		stop(fail_last()->reason);
	return 0;
}
