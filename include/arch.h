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
	/* Length of the call instruction that ends just before a return
	 * address, given the n bytes before it (the last byte is before[n-1]);
	 * 0 where that is ambiguous or no call. */
	int (*call_length)(const unsigned char *before, size_t n);
	/* Where the call instruction of n bytes before ret goes; 0: by way of
	 * a register or a pointer. */
	uint64_t (*call_target)(const unsigned char *insn, size_t n,
				uint64_t ret);
};

extern const struct arch arch;

/* May a breakpoint that the processor keeps be trusted with a thread that
 * nobody traces? Not below a hypervisor: some lose the reason of the trap on
 * the way (KVM before Linux 6.14: DR6 reads as 0), and then the kernel takes
 * it for the program's own and kills that with SIGTRAP. */
bool arch_breakpoints_are_safe(void);

/* The part that a table step needs; the pc is taken as exact. */
struct step_regs arch_step_regs(const struct arch_regs *regs);

#endif
