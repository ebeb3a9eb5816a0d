/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * arch: registers, call ABI and instruction facts of the machine. One file
 * per architecture fills `const struct arch arch`; the build picks it.
 */
#ifndef SONDE_ARCH_H
#define SONDE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "step.h"

enum { ARCH_REGS_MAX = 33 };

/* General registers in DWARF order (x86-64 psABI figure 3.36: 0 rax, 1 rdx,
 * 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15, 16 return address = pc). */
struct arch_regs {
	uint64_t reg[ARCH_REGS_MAX];
};

struct user_regs_struct;

struct arch {
	const char *name;	/* as uname(2) and log.xml say */
	uint16_t elf_machine;
	int reg_count, reg_pc, reg_sp, reg_fp;
	int reg_link;		/* where a call leaves its return address; -1:
				 * on the stack */
	/* perf_event_attr.sample_regs_user, and how many bits it has set */
	uint64_t perf_regs;
	int perf_reg_count;
	/* From the registers of a PERF_SAMPLE_REGS_USER dump (in mask order) */
	void (*from_perf)(const uint64_t *dump, struct arch_regs *out);
	/* From PTRACE_GETREGSET NT_PRSTATUS */
	void (*from_ptrace)(const struct user_regs_struct *user,
			    struct arch_regs *out);
	/* Has it done nothing in user mode since its system call? NULL: its
	 * registers do not tell. */
	bool (*in_call)(const struct arch_regs *regs);
	/* Length of the call instruction that ends just before a return
	 * address, given the n bytes before it (the last byte is before[n-1]);
	 * 0 where that is ambiguous or no call. */
	int (*call_length)(const unsigned char *before, size_t n);
	/* Where the call instruction of n bytes before ret goes; 0: by way of
	 * a register or a pointer. */
	uint64_t (*call_target)(const unsigned char *insn, size_t n,
				uint64_t ret);
	/* A function of this code returns a word of what its first argument
	 * points to: where in it; -1: it does something else. */
	int (*getter_offset)(const unsigned char *code, size_t n);
	int reg_args[2];	/* of the first two integer arguments */
	struct arch_resume {	/* where they have a pc and an sp: */
		int pc, sp;
	} jmp_buf, ucontext;	/* of glibc and musl alike */
	/* glibc hides both in a jmp_buf: it turns the word, xored with a guard,
	 * to the left by so many bits; the guard is so far behind the thread
	 * pointer, 0: in __pointer_chk_guard. */
	int jmp_buf_turn, jmp_buf_guard;
};

extern const struct arch arch;

/* May a breakpoint that the processor keeps be trusted with a thread that
 * nobody traces? Not below a hypervisor: some lose the reason of the trap on
 * the way (KVM before Linux 6.14: DR6 reads as 0), and then the kernel takes
 * it for the program's own and kills that with SIGTRAP. */
bool arch_breakpoints_are_safe(void);

/* ---- condition.c: an expression as a small program ----
 *
 * Steps work on a stack of words. Jumps go forward only, so each step is done
 * once at most. It may come from hostile debug data: whatever it says, nothing
 * but registers and memory of the program is read. */
enum condition_op {
	CONDITION_WORD,		/* push word */
	CONDITION_REGISTER,	/* push register `number` + word */
	CONDITION_LOAD,		/* size bytes at the top, which is replaced */
	CONDITION_NARROW,	/* the top to size bytes, sign or not */
	CONDITION_ADD, CONDITION_SUBTRACT, CONDITION_MULTIPLY,
	CONDITION_DIVIDE, CONDITION_REMAINDER, CONDITION_AND, CONDITION_OR,
	CONDITION_XOR, CONDITION_EQUAL, CONDITION_LESS,
	CONDITION_NOT,		/* 1 for 0, 0 for all else */
	CONDITION_DROP,
	CONDITION_SKIP_ZERO,	/* so many steps when the top, which stays, */
	CONDITION_SKIP_OTHER,	/* is 0; is not */
};

enum { CONDITION_STEPS = 128, CONDITION_DEPTH = 32 };

struct condition {
	uint64_t len;		/* 0: always true */
	struct condition_step {
		uint8_t op, size;
		uint8_t is_signed;
		uint8_t number;
		uint32_t padding;
		uint64_t word;
	} steps[CONDITION_STEPS];
};

/* read: all n bytes, or -1. 0, or -1: it cannot be told. */
int condition_run(const struct condition *c, const struct arch_regs *regs,
		  int (*read)(void *arg, uint64_t addr, void *buf, size_t n),
		  void *arg, bool *truth);
/* What it comes to; 1 for one that is always true. */
int condition_number(const struct condition *c, const struct arch_regs *regs,
		     int (*read)(void *arg, uint64_t addr, void *buf, size_t n),
		     void *arg, uint64_t *number);

/* The part that a table step needs; the pc is taken as exact. */
struct step_regs arch_step_regs(const struct arch_regs *regs);

#endif
