/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64: where the registers stand in what perf and ptrace deliver, and how
 * long the call before a return address is (always one word).
 *
 * DWARF numbers x0-x30 and sp (31); the pc has no number, we give it 32.
 */
#include "arch.h"

#include <elf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/user.h>

#include <asm/perf_regs.h>

enum { FP = 29, LINK = 30, SP = 31, PC = 32, REG_COUNT };
_Static_assert((int)PERF_REG_ARM64_LR == LINK &&
	       (int)PERF_REG_ARM64_SP == SP &&
	       (int)PERF_REG_ARM64_PC == PC, "perf's order is DWARF's");
_Static_assert((int)REG_COUNT == (int)ARCH_REGS_MAX, "every register fits");

static void
regs_from_perf(const uint64_t *dump, struct arch_regs *out)
{
	memcpy(out->reg, dump, sizeof out->reg);
}

static void
regs_from_ptrace(const struct user_regs_struct *user, struct arch_regs *out)
{
	for (int i = 0; i < SP; i++)
		out->reg[i] = user->regs[i];
	out->reg[SP] = user->sp;
	out->reg[PC] = user->pc;
}

/* BL imm26, BLR Xn and its pointer-authenticating forms. */
static int
call_length(const unsigned char *before, size_t n)
{
	uint32_t word;

	if (n < sizeof word)
		return 0;
	memcpy(&word, before + n - sizeof word, sizeof word);
	if ((word & 0xfc000000) == 0x94000000 ||
	    (word & 0xfefff800) == 0xd63f0800 ||
	    (word & 0xfffffc1f) == 0xd63f0000)
		return sizeof word;
	return 0;
}

static uint64_t
call_target(const unsigned char *insn, size_t n, uint64_t ret)
{
	uint32_t word;

	if (n != sizeof word)
		return 0;
	memcpy(&word, insn, sizeof word);
	if ((word & 0xfc000000) != 0x94000000)
		return 0;
	/* 26 bits with a sign, in words, from the call itself */
	return ret - 4 + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
}

/* bti c, perhaps; ldr x0, [x0, #OFFSET]; ret */
static int
getter_offset(const unsigned char *code, size_t n)
{
	uint32_t word[3] = { 0 };
	const uint32_t *at = word;

	memcpy(word, code, n < sizeof word ? n : sizeof word);
	if (*at == 0xd503245f)
		at++;
	if ((at[0] & 0xffc003ff) != 0xf9400000 || at[1] != 0xd65f03c0)
		return -1;
	return (int)(at[0] >> 10 & 0xfff) * 8;
}

const struct arch arch = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.reg_count = REG_COUNT,
	.reg_pc = PC,
	.reg_sp = SP,
	.reg_fp = FP,
	.reg_link = LINK,
	.perf_regs = (1ull << REG_COUNT) - 1,
	.perf_reg_count = REG_COUNT,
	.from_perf = regs_from_perf,
	.from_ptrace = regs_from_ptrace,
	.call_length = call_length,
	.call_target = call_target,
	.getter_offset = getter_offset,
	.reg_args = { 0, 1 },
	.jmp_buf = { .pc = 88, .sp = 104 },
	.ucontext = { .pc = 440, .sp = 432 },
};

struct step_regs
arch_step_regs(const struct arch_regs *regs)
{
	return (struct step_regs){
		.pc = regs->reg[PC],
		.sp = regs->reg[SP],
		.fp = regs->reg[FP],
		.link = regs->reg[LINK],
		.exact = 1,
	};
}

bool
arch_breakpoints_are_safe(void)
{
	return false;		/* nothing was tried */
}
