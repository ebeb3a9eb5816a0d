/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions of BPF, one a macro.
 */
#ifndef SONDE_CLOCK_BPF_H
#define SONDE_CLOCK_BPF_H

#include <linux/bpf.h>
#include <stddef.h>

#define CALL(f)		{ .code = BPF_JMP | BPF_CALL, .imm = (f) }
#define MOVE(d, s)	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, \
			  .dst_reg = (d), .src_reg = (s) }
#define SET(d, n)	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define ADD(d, n)	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define SHIFT(d, n)	{ .code = BPF_ALU64 | BPF_RSH | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define SKIP_UNLESS(d, n, to)	{ .code = BPF_JMP | BPF_JNE | BPF_K, \
				  .dst_reg = (d), .off = (to), .imm = (n) }
/* a 64-bit constant takes two instructions */
#define SET64(d, n)	{ .code = BPF_LD | BPF_DW | BPF_IMM, \
			  .dst_reg = (d), .imm = (int)(uint32_t)(n) }, \
			{ .imm = (int)(uint32_t)((uint64_t)(n) >> 32) }
#define LOAD32(d, s, at)	{ .code = BPF_LDX | BPF_W | BPF_MEM, \
				  .dst_reg = (d), .src_reg = (s), .off = (at) }
#define END		{ .code = BPF_JMP | BPF_EXIT }
#define LOAD64(d, s, at)	{ .code = BPF_LDX | BPF_DW | BPF_MEM, \
				  .dst_reg = (d), .src_reg = (s), .off = (at) }
#define STORE32(d, at, s)	{ .code = BPF_STX | BPF_W | BPF_MEM, \
				  .dst_reg = (d), .src_reg = (s), .off = (at) }
#define STORE64(d, at, s)	{ .code = BPF_STX | BPF_DW | BPF_MEM, \
				  .dst_reg = (d), .src_reg = (s), .off = (at) }
#define ADD_LOCKED(d, s)	{ .code = BPF_STX | BPF_DW | BPF_ATOMIC, \
				  .dst_reg = (d), .src_reg = (s), \
				  .imm = BPF_ADD }
#define AND(d, s)		{ .code = BPF_ALU64 | BPF_AND | BPF_X, \
				  .dst_reg = (d), .src_reg = (s) }
#define SKIP_IF(d, n, to)	{ .code = BPF_JMP | BPF_JEQ | BPF_K, \
				  .dst_reg = (d), .off = (to), .imm = (n) }
#define MAP(d, fd)		{ .code = BPF_LD | BPF_DW | BPF_IMM, \
				  .dst_reg = (d), \
				  .src_reg = BPF_PSEUDO_MAP_FD, .imm = (fd) }, \
				{ .imm = 0 }

/* A program for events of perf. -1 with errno. */
int bpf_load(const struct bpf_insn *code, size_t n);

#endif
