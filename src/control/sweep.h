/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep.c, sweep_code.c: all threads that sleep, in one reading.
 */
#ifndef CONTROL_SWEEP_H
#define CONTROL_SWEEP_H

#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>
#include <sys/types.h>

enum {
	SWEEP_PAGES = 16,	/* of a stack; who has more is peeked at */
	SWEEP_PAGE = 4096,
	SWEEP_REGS = 32,	/* words */
	SWEEP_SLOTS = 16,	/* threads of one read(2), a power of two */
};

/* What the program writes of a thread. */
struct sweep_slot {
	uint32_t tid, state;
	uint64_t runs, cpu_ns, wait_ns;		/* before the stack was read */
	uint64_t runs_after, cpu_ns_after;	/* ... and after it */
	uint64_t stack_len;	/* bytes at stack, from sp's page on; 0: it
				 * does not sleep */
	char name[16];
	uint64_t regs[SWEEP_REGS];	/* as user_regs_struct begins */
	uint64_t unused[SWEEP_PAGE / 8 - 9 - SWEEP_REGS];
	unsigned char stack[SWEEP_PAGES][SWEEP_PAGE];
};
_Static_assert(sizeof(struct sweep_slot) == (1 + SWEEP_PAGES) * SWEEP_PAGE,
	       "whole pages");
_Static_assert(offsetof(struct sweep_slot, stack) == SWEEP_PAGE, "one page");

/* Where the kernel keeps that: bytes into its struct task_struct. */
struct sweep_places {
	uint32_t tid, state, on_cpu, name, runs, cpu_ns, wait_ns;
	uint32_t iterator;	/* the number of its function */
};

/* The program, for a map of SWEEP_SLOTS slots; words and sp: as
 * machine_entry_words. Its length; the caller frees *code. */
size_t sweep_code(const struct sweep_places *at, int map, size_t words,
		  size_t sp, struct bpf_insn **code);

/* sweep.c: of a process; never NULL, but perhaps of no use. */
struct sweep *sweep_new(pid_t pid);
void sweep_free(struct sweep *s);

#endif
