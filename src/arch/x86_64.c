/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: where the registers stand in what perf and ptrace deliver, and how
 * long the call before a return address is.
 *
 * Our order is DWARF's (psABI figure 3.36), so that one number names a
 * register everywhere above this room.
 */
#include "arch.h"

#include <cpuid.h>
#include <elf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/user.h>

#include <asm/perf_regs.h>

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R15 = 15, RIP, REG_COUNT };

/* ax bx cx dx si di bp sp ip, then r8-r15: 17 of perf's registers. */
#define PERF_MASK (((1ull << (PERF_REG_X86_IP + 1)) - 1) | \
		   (0xffull << PERF_REG_X86_R8))
enum { PERF_COUNT = 17 };
_Static_assert(PERF_REG_X86_IP == 8 && PERF_REG_X86_R8 == 16 &&
	       PERF_REG_X86_R15 == 23, "perf's order of registers");

static void
regs_from_perf(const uint64_t *dump, struct arch_regs *out)
{
	static const uint8_t order[PERF_COUNT] = {
		RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, RIP,
		8, 9, 10, 11, 12, 13, 14, 15,
	};

	memset(out, 0, sizeof *out);
	for (int i = 0; i < PERF_COUNT; i++)
		out->reg[order[i]] = dump[i];
}

static void
regs_from_ptrace(const struct user_regs_struct *user, struct arch_regs *out)
{
	*out = (struct arch_regs){
		.reg = {
			user->rax, user->rdx, user->rcx, user->rbx,
			user->rsi, user->rdi, user->rbp, user->rsp,
			user->r8, user->r9, user->r10, user->r11,
			user->r12, user->r13, user->r14, user->r15,
			user->rip,
		},
	};
}

/* The instruction leaves its own return address in rcx, and the flags in r11,
 * among which are one bit that is always set and that of interrupts. */
static bool
in_call(const struct arch_regs *regs)
{
	enum { FLAGS = 0x202, FLAGS_END = 1 << 22 };

	return regs->reg[RCX] == regs->reg[RIP] &&
		(regs->reg[11] & FLAGS) == FLAGS && regs->reg[11] < FLAGS_END;
}

/*
 * Length of `ff /2` from its opcode on, given the bytes from the opcode;
 * 0 when the bytes are another instruction.
 */
static int
indirect_length(const unsigned char *op, size_t n)
{
	if (n < 2 || op[0] != 0xff || (op[1] >> 3 & 7) != 2)
		return 0;

	const int mod = op[1] >> 6, rm = op[1] & 7;

	if (mod == 3)
		return 2;

	int length = 2;
	int disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod == 0 && rm == 5)
		disp = 4;
	if (rm == 4) {
		if (n < 3)
			return 0;
		length++;
		if (mod == 0 && (op[2] & 7) == 5)
			disp = 4;
	}
	return length + disp;
}

/*
 * Prefixes of an indirect call whose opcode stands `length` bytes before the
 * end. REX.B belongs to the call except after a short conditional jump, whose
 * displacement may be the same byte; 0x3e may be notrack or a displacement:
 * ambiguous (about one call in 300). `call *%rsp` would run the stack; with
 * REX.B it is `call *%r12`.
 */
static int
indirect_prefixed(const unsigned char *before, size_t n, int length)
{
	const unsigned char *op = before + n - length;
	const size_t room = n - (size_t)length;
	const bool sib = (op[1] & 7) == 4 && op[1] >> 6 != 3;
	enum { CALL_RSP = 0xd4 };

	if (room < 1)
		return op[1] == CALL_RSP ? 0 : length;
	/* 66 48 ff 15: the call of __tls_get_addr with -fno-plt */
	if (room >= 2 && op[-1] == 0x48 && op[-2] == 0x66 && op[1] == 0x15)
		return length + 2;
	if (op[-1] == 0x41 || (sib && (op[-1] == 0x42 || op[-1] == 0x43))) {
		if (room >= 2 && ((op[-2] & 0xf0) == 0x70 || op[-2] == 0x3e))
			return 0;
		return length + 1;
	}
	if (op[-1] == 0x3e || op[1] == CALL_RSP)
		return 0;
	return length;
}

/*
 * `call rel32`, 0 when it is none. A displacement beyond 256 MiB is not
 * believed: these bytes are the operand of an indirect call.
 */
static int
direct_length(const unsigned char *before, size_t n)
{
	int32_t rel;

	if (n < 5 || before[n - 5] != 0xe8)
		return 0;
	memcpy(&rel, before + n - 4, sizeof rel);
	if (rel < -(1 << 28) || rel >= 1 << 28)
		return 0;
	return 5;
}

static int
direct_prefixed(const unsigned char *before, size_t n)
{
	static const unsigned char tls[] = { 0x66, 0x66, 0x48, 0xe8 };

	/* the padded call of __tls_get_addr */
	if (n >= 8 && memcmp(before + n - 8, tls, sizeof tls) == 0)
		return 8;
	/* addr32, from a relaxed `call *f@GOTPCREL`, or a displacement */
	if (n >= 6 && before[n - 6] == 0x67)
		return 0;
	return 5;
}

/*
 * x86 cannot be read backwards for certain. All forms that fit are collected;
 * when more than one fits, the answer is "ambiguous", never a guess.
 */
static int
call_length(const unsigned char *before, size_t n)
{
	const int direct = direct_length(before, n);
	int indirect = 0;

	for (int length = 2; length <= 7 && (size_t)length <= n; length++) {
		if (indirect_length(before + n - length, length) != length)
			continue;
		if (indirect)
			return 0;
		indirect = length;
	}
	if (direct && indirect)
		return 0;
	if (direct)
		return direct_prefixed(before, n);
	return indirect ? indirect_prefixed(before, n, indirect) : 0;
}

static uint64_t
call_target(const unsigned char *insn, size_t n, uint64_t ret)
{
	int32_t distance;

	if (n != 5 || insn[0] != 0xe8)
		return 0;
	memcpy(&distance, insn + 1, sizeof distance);
	return ret + (uint64_t)(int64_t)distance;
}

/* endbr64, perhaps; mov OFFSET(%rdi),%rax; ret */
static int
getter_offset(const unsigned char *code, size_t n)
{
	static const unsigned char mark[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	int32_t far;

	if (n > sizeof mark && memcmp(code, mark, sizeof mark) == 0) {
		code += sizeof mark;
		n -= sizeof mark;
	}
	if (n < 5 || code[0] != 0x48 || code[1] != 0x8b)
		return -1;
	if (code[2] == 0x47 && code[4] == 0xc3 && code[3] < 0x80)
		return code[3];
	if (n < 8 || code[2] != 0x87 || code[7] != 0xc3)
		return -1;
	memcpy(&far, code + 3, sizeof far);
	return far;
}

const struct arch arch = {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.reg_count = REG_COUNT,
	.reg_pc = RIP,
	.reg_sp = RSP,
	.reg_fp = RBP,
	.reg_link = -1,
	.perf_regs = PERF_MASK,
	.perf_reg_count = PERF_COUNT,
	.from_perf = regs_from_perf,
	.from_ptrace = regs_from_ptrace,
	.in_call = in_call,
	.call_length = call_length,
	.call_target = call_target,
	.getter_offset = getter_offset,
	.reg_args = { RDI, RSI },
	.jmp_buf = { .pc = 56, .sp = 48 },
	.ucontext = { .pc = 168, .sp = 160 },
	.jmp_buf_turn = 17,
	.jmp_buf_guard = 0x30,
};

struct step_regs
arch_step_regs(const struct arch_regs *regs)
{
	return (struct step_regs){
		.pc = regs->reg[RIP],
		.sp = regs->reg[RSP],
		.fp = regs->reg[RBP],
		.exact = 1,
	};
}

bool
arch_breakpoints_are_safe(void)
{
	unsigned eax, ebx, ecx, edx;

	/* CPUID 1: ecx bit 31 is set by every known hypervisor */
	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && !(ecx >> 31);
}
