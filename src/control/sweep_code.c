/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program that the kernel's task iterator runs for each thread of a
 * process (BPF; Documentation/bpf/bpf_iterators.rst):
 *
 *	slot = slots[sequence number % SWEEP_SLOTS]
 *	tid, state, counts, name, registers -> slot
 *	does it sleep, and has it left its processor?
 *		stack, page by page from sp's on, until there is no more
 *		counts, again
 *	the slot's number -> the reader
 *
 * A thread has its processor until on_cpu is 0, whatever its state says by
 * then. When it comes back to one, the kernel counts that first: so if the
 * count is what it was before on_cpu was looked at, all of the copy is of one
 * moment. (x86-64, which keeps the order of loads and of stores.)
 */
#include "bpf_code.h"
#include "sweep.h"

#include <stdlib.h>

#include "base.h"

enum {				/* registers that calls leave alone */
	TASK = BPF_REG_6, SLOT = BPF_REG_7, AT = BPF_REG_8, STACK = BPF_REG_9,
};
enum { KEY_AT = -4, FILE_AT = -16 };	/* in the program's own frame */

static void
end(struct code *c)
{
	with(c, BPF_MOV, BPF_REG_0, 0);
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

/* ---- its parts ------------------------------------------------------------ */

static void
end_if_none(struct code *c, int reg)
{
	const size_t there = jump_if(c, BPF_JNE, reg, 0);

	end(c);
	jump_here(c, there);
}

/* struct bpf_iter__task { meta, task }, bpf_iter_meta { seq, session_id,
 * seq_num }: the kernel's ABI for iterators. The last call has no task. */
static void
begin(struct code *c, int map)
{
	load(c, BPF_DW, TASK, BPF_REG_1, 8);
	end_if_none(c, TASK);
	load(c, BPF_DW, BPF_REG_2, BPF_REG_1, 0);
	load(c, BPF_DW, BPF_REG_3, BPF_REG_2, 0);
	store(c, BPF_DW, BPF_REG_10, FILE_AT, BPF_REG_3);
	load(c, BPF_DW, BPF_REG_3, BPF_REG_2, 16);
	with(c, BPF_AND, BPF_REG_3, SWEEP_SLOTS - 1);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_3);
	load_map(c, BPF_REG_1, map);
	move(c, BPF_REG_2, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_2, KEY_AT);
	call(c, BPF_FUNC_map_lookup_elem);
	end_if_none(c, BPF_REG_0);
	move(c, SLOT, BPF_REG_0);
}

static void
keep(struct code *c, int size, uint32_t from, size_t to)
{
	load(c, size, BPF_REG_1, TASK, from);
	store(c, size, SLOT, (int)to, BPF_REG_1);
}

static void
keep_facts(struct code *c, const struct sweep_places *at)
{
	const size_t name = offsetof(struct sweep_slot, name);

	with(c, BPF_MOV, BPF_REG_1, 0);
	store(c, BPF_DW, SLOT, offsetof(struct sweep_slot, stack_len),
	      BPF_REG_1);
	keep(c, BPF_W, at->tid, offsetof(struct sweep_slot, tid));
	keep(c, BPF_DW, at->runs, offsetof(struct sweep_slot, runs));
	keep(c, BPF_DW, at->cpu_ns, offsetof(struct sweep_slot, cpu_ns));
	keep(c, BPF_DW, at->wait_ns, offsetof(struct sweep_slot, wait_ns));
	keep(c, BPF_DW, at->name, name);
	keep(c, BPF_DW, at->name + 8, name + 8);
	keep(c, BPF_W, at->state, offsetof(struct sweep_slot, state));
}

/* Leaves STACK at the page of sp. */
static void
keep_registers(struct code *c, size_t words, size_t sp)
{
	move(c, BPF_REG_1, TASK);
	call(c, BPF_FUNC_task_pt_regs);
	move(c, AT, BPF_REG_0);
	for (size_t i = 0; i < words; i++) {
		load(c, BPF_DW, BPF_REG_1, AT, i * 8);
		store(c, BPF_DW, SLOT,
		      (int)(offsetof(struct sweep_slot, regs) + i * 8),
		      BPF_REG_1);
	}
	load(c, BPF_DW, STACK, AT, sp * 8);
	with(c, BPF_AND, STACK, -SWEEP_PAGE);
}

/* Each page is there as a whole, or is the end. */
static void
keep_stack(struct code *c)
{
	size_t ends[SWEEP_PAGES];

	for (int i = 0; i < SWEEP_PAGES; i++) {
		move(c, BPF_REG_1, SLOT);
		with(c, BPF_ADD, BPF_REG_1, (i + 1) * SWEEP_PAGE);
		with(c, BPF_MOV, BPF_REG_2, SWEEP_PAGE);
		move(c, BPF_REG_3, STACK);
		with(c, BPF_ADD, BPF_REG_3, i * SWEEP_PAGE);
		move(c, BPF_REG_4, TASK);
		with(c, BPF_MOV, BPF_REG_5, 0);
		call(c, BPF_FUNC_copy_from_user_task);
		ends[i] = jump_if(c, BPF_JNE, BPF_REG_0, 0);
		with(c, BPF_MOV, BPF_REG_1, (i + 1) * SWEEP_PAGE);
		store(c, BPF_DW, SLOT, offsetof(struct sweep_slot, stack_len),
		      BPF_REG_1);
	}
	for (size_t i = 0; i < SWEEP_PAGES; i++)
		jump_here(c, ends[i]);
}

static void
tell(struct code *c)
{
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)FILE_AT);
	move(c, BPF_REG_2, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_2, KEY_AT);
	with(c, BPF_MOV, BPF_REG_3, sizeof(uint32_t));
	call(c, BPF_FUNC_seq_write);
	end(c);
}

size_t
sweep_code(const struct sweep_places *at, int map, size_t words, size_t sp,
	   struct bpf_insn **code)
{
	struct code c = { 0 };
	size_t runs, has_cpu;

	begin(&c, map);
	keep_facts(&c, at);
	load(&c, BPF_W, BPF_REG_1, TASK, at->state);
	runs = jump_if(&c, BPF_JEQ, BPF_REG_1, 0);
	load(&c, BPF_W, BPF_REG_1, TASK, at->on_cpu);
	has_cpu = jump_if(&c, BPF_JNE, BPF_REG_1, 0);
	keep_registers(&c, words, sp);
	keep_stack(&c);
	keep(&c, BPF_DW, at->runs, offsetof(struct sweep_slot, runs_after));
	keep(&c, BPF_DW, at->cpu_ns,
	     offsetof(struct sweep_slot, cpu_ns_after));
	jump_here(&c, runs);
	jump_here(&c, has_cpu);
	tell(&c);
	*code = c.items;
	return c.len;
}
