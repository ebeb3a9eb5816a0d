/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a gate that looks at the thread: its signals, and whether its
 * handler could return.
 */
#include "gate.h"

enum {
	WORK_DISPATCH = 1 << 5,	/* SYSCALL_WORK_SYSCALL_USER_DISPATCH */
	MODE_FILTER = 2,	/* strict mode permits rt_sigreturn */
};

/* The mask is always looked at: a signal that is blocked is pending. */
void
gate_check_mask(struct code *c, const struct places *at, int signo, int map)
{
	size_t open;

	gate_read_task(c, sizeof(uint64_t), at->blocked);
	with(c, BPF_RSH, BPF_REG_1, signo - 1);
	with(c, BPF_AND, BPF_REG_1, 1);
	open = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_BLOCKED);
	jump_here(c, open);
}

void
gate_check_dispatch(struct code *c, const struct places *at, int map)
{
	size_t free_of_it;

	gate_read_task(c, sizeof(uint64_t), at->work);
	with(c, BPF_AND, BPF_REG_1, WORK_DISPATCH);
	free_of_it = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_DISPATCHED);
	jump_here(c, free_of_it);
}

void
gate_check_filters(struct code *c, const struct places *at, int map)
{
	size_t none, not_known, asked;

	gate_read_task(c, sizeof(uint32_t), at->mode);
	none = jump_if(c, BPF_JNE, BPF_REG_1, MODE_FILTER);
	gate_read_task(c, sizeof(uint32_t), at->filters);
	not_known = jump_if(c, BPF_JEQ, ENTRY, 0);
	load(c, BPF_W, BPF_REG_2, ENTRY, offsetof(struct entry, filters));
	asked = jump_if_regs(c, BPF_JLE, BPF_REG_1, BPF_REG_2);
	gate_read_task(c, sizeof(uint64_t), at->filter);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.filter), BPF_REG_1);
	jump_here(c, not_known);
	gate_hold_back(c, map, GATE_CONFINED);
	jump_here(c, asked);
	jump_here(c, none);
}

/*
 * Of the signals that are a thread's own the kernel takes those with lower
 * numbers first, and writes a frame for each before any handler runs: ours
 * would come below another's, and there is room for one. Those of the process
 * come later.
 */
void
gate_check_due(struct code *c, const struct places *at, int signo, int map)
{
	size_t none, blocked;

	gate_read_task(c, sizeof(uint64_t), at->pending);
	with(c, BPF_AND, BPF_REG_1, (1 << (signo - 1)) - 1);
	none = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	store(c, BPF_DW, BPF_REG_10, SIZE_AT, BPF_REG_1);
	gate_read_task(c, sizeof(uint64_t), at->blocked);
	with(c, BPF_XOR, BPF_REG_1, -1);
	load(c, BPF_DW, BPF_REG_2, BPF_REG_10, (size_t)SIZE_AT);
	with_reg(c, BPF_AND, BPF_REG_1, BPF_REG_2);
	blocked = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_BESIDE);
	jump_here(c, none);
	jump_here(c, blocked);
}

/* The kernel's own struct, of the ABI: handler, flags, restorer, mask. */
void
gate_check_handler(struct code *c, const struct places *at, int signo, int map)
{
	enum { ACTION = 32 };
	size_t any, same, none;

	with(c, BPF_MOV, BPF_REG_1, GATE_ALL);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
	gate_look_up(c, map, BOUNDS);
	none = jump_if(c, BPF_JEQ, BOUNDS, 0);
	load(c, BPF_DW, BPF_REG_1, BOUNDS, offsetof(struct entry, handler));
	any = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_read_task(c, sizeof(uint64_t), at->actions);
	move(c, BPF_REG_3, BPF_REG_1);
	with(c, BPF_ADD, BPF_REG_3, (int)at->action + (signo - 1) * ACTION);
	move(c, BPF_REG_1, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_1, WORD_AT);
	with(c, BPF_MOV, BPF_REG_2, sizeof(uint64_t));
	call(c, BPF_FUNC_probe_read_kernel);
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)WORD_AT);
	load(c, BPF_DW, BPF_REG_2, BOUNDS, offsetof(struct entry, handler));
	same = jump_if_regs(c, BPF_JEQ, BPF_REG_1, BPF_REG_2);
	gate_hold_back(c, map, GATE_TAKEN);
	jump_here(c, none);
	jump_here(c, any);
	jump_here(c, same);
}
