/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of BPF, put together instruction by instruction.
 */
#ifndef CONTROL_BPF_CODE_H
#define CONTROL_BPF_CODE_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

struct code {
	struct bpf_insn *items;
	size_t len, cap;
};

static inline void
emit(struct code *c, struct bpf_insn insn)
{
	c->items = xgrow(c->items, &c->cap, c->len + 1, sizeof *c->items);
	c->items[c->len++] = insn;
}

static inline void
move(struct code *c, int to, int from)
{
	emit(c, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
				   .dst_reg = to & 15, .src_reg = from & 15 });
}

static inline void
with(struct code *c, int operation, int to, int number)
{
	emit(c, (struct bpf_insn){
		.code = (uint8_t)(BPF_ALU64 | operation | BPF_K),
		.dst_reg = to & 15, .imm = number });
}

/* A constant of 64 bits takes two instructions. */
static inline void
set_64(struct code *c, int to, uint64_t number)
{
	emit(c, (struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,
				   .dst_reg = to & 15,
				   .imm = (int)(uint32_t)number });
	emit(c, (struct bpf_insn){ .imm = (int)(uint32_t)(number >> 32) });
}

static inline void
with_reg(struct code *c, int operation, int to, int from)
{
	emit(c, (struct bpf_insn){
		.code = (uint8_t)(BPF_ALU64 | operation | BPF_X),
		.dst_reg = to & 15, .src_reg = from & 15 });
}

static inline void
load(struct code *c, int size, int to, int from, size_t at)
{
	emit(c, (struct bpf_insn){ .code = (uint8_t)(BPF_LDX | BPF_MEM | size),
				   .dst_reg = to & 15, .src_reg = from & 15,
				   .off = (int16_t)at });
}

static inline void
store(struct code *c, int size, int to, int at, int from)
{
	emit(c, (struct bpf_insn){ .code = (uint8_t)(BPF_STX | BPF_MEM | size),
				   .dst_reg = to & 15, .src_reg = from & 15,
				   .off = (int16_t)at });
}

static inline void
call(struct code *c, int function)
{
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
				   .imm = function });
}

/* To a place that jump_here tells. */
static inline size_t
jump_if(struct code *c, int condition, int reg, int number)
{
	emit(c, (struct bpf_insn){
		.code = (uint8_t)(BPF_JMP | condition | BPF_K),
		.dst_reg = reg & 15, .imm = number });
	return c->len - 1;
}

static inline size_t
jump_if_regs(struct code *c, int condition, int reg, int other)
{
	emit(c, (struct bpf_insn){
		.code = (uint8_t)(BPF_JMP | condition | BPF_X),
		.dst_reg = reg & 15, .src_reg = other & 15 });
	return c->len - 1;
}

static inline size_t
jump(struct code *c)
{
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_JA });
	return c->len - 1;
}

static inline void
jump_here(struct code *c, size_t from)
{
	c->items[from].off = (int16_t)(c->len - from - 1);
}

/* The map itself, for a call. */
static inline void
load_map(struct code *c, int to, int map)
{
	emit(c, (struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,
				   .dst_reg = to & 15,
				   .src_reg = BPF_PSEUDO_MAP_FD, .imm = map });
	emit(c, (struct bpf_insn){ 0 });	/* its upper half */
}

#endif
