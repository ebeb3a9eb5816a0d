/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instructions that functions begin with, carried out on the registers of
 * a thread that stands. Single-stepping them would do, but a thread that is
 * being stepped when its tracer is killed dies of it: nobody takes the trap
 * flag back (exit_ptrace does not call ptrace_disable, 6.18).
 *
 * Of memory only the thread's own stack is written. Whatever is not known
 * here, or could fault, is left to the processor.
 */
#include "private.h"

#include <string.h>

enum { INSTRUCTION_MAX = 15 };

enum { FLAG_CF = 1 << 0, FLAG_PF = 1 << 2, FLAG_AF = 1 << 4, FLAG_ZF = 1 << 6,
       FLAG_SF = 1 << 7, FLAG_OF = 1 << 11,
       FLAGS = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF };

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

struct instruction {
	const unsigned char *start, *at;	/* at: not yet decoded */
	unsigned rex, opcode;
	unsigned reg, rm;		/* of a modrm with two registers */
};

/* ---- registers and flags ------------------------------------------- */

static unsigned long long *
reg_at(struct user_regs_struct *r, unsigned number)
{
	unsigned long long *const regs[] = {
		&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi,
		&r->rdi, &r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13,
		&r->r14, &r->r15,
	};

	return regs[number];
}

/* 32-bit results clear the upper half. */
static uint64_t
cut(const struct instruction *in, uint64_t value)
{
	return in->rex & REX_W ? value : (uint32_t)value;
}

static void
set_flags(struct user_regs_struct *r, const struct instruction *in,
	  uint64_t result, unsigned others)
{
	const uint64_t sign = in->rex & REX_W ? UINT64_C(1) << 63 :
		UINT64_C(1) << 31;
	unsigned flags = others;

	if (__builtin_popcountll(result & 0xff) % 2 == 0)
		flags |= FLAG_PF;
	if (result == 0)
		flags |= FLAG_ZF;
	if (result & sign)
		flags |= FLAG_SF;
	r->eflags = (r->eflags & ~(unsigned long long)FLAGS) | flags;
}

static uint64_t
subtract(struct user_regs_struct *r, const struct instruction *in, uint64_t a,
	 uint64_t b)
{
	const uint64_t result = cut(in, a - b);
	const uint64_t overflow = (a ^ b) & (a ^ result);
	const int sign = in->rex & REX_W ? 63 : 31;
	unsigned others = 0;

	if (a < b)
		others |= FLAG_CF;
	if (overflow >> sign & 1)
		others |= FLAG_OF;
	if ((a ^ b ^ result) & 0x10)
		others |= FLAG_AF;
	set_flags(r, in, result, others);
	return result;
}

/* ---- decoding -------------------------------------------------------- */

static int32_t
take_imm32(struct instruction *in)
{
	int32_t value;

	memcpy(&value, in->at, sizeof value);
	in->at += sizeof value;
	return value;
}

static bool
take_two_registers(struct instruction *in)
{
	const unsigned modrm = *in->at++;

	in->reg = (modrm >> 3 & 7) | (in->rex & REX_R ? 8 : 0);
	in->rm = (modrm & 7) | (in->rex & REX_B ? 8 : 0);
	return modrm >> 6 == 3;
}

/* A multi-byte nop, 0f 1f: only its length matters. */
static void
skip_operand(struct instruction *in)
{
	const unsigned modrm = *in->at++, mod = modrm >> 6;
	unsigned base = modrm & 7;

	if (mod != 3 && base == 4)
		base = *in->at++ & 7;
	if (mod == 1)
		in->at += 1;
	else if (mod == 2 || (mod == 0 && base == 5))
		in->at += 4;
}

/* ---- one instruction each ---------------------------------------------- */

static bool
push(struct target *t, struct user_regs_struct *r, uint64_t value)
{
	/* the stack is to grow, perhaps, or at its end */
	if (!memory_store(t, r->rsp - sizeof value, &value, sizeof value))
		return false;
	r->rsp -= sizeof value;
	return true;
}

/* The processor would push the trap flag as well when it steps, and whoever
 * pops it again dies of that. */
static uint64_t
pushed_flags(const struct user_regs_struct *r)
{
	enum { RESUME = 1 << 16, VIRTUAL_8086 = 1 << 17 };

	return r->eflags & ~(uint64_t)(RESUME | VIRTUAL_8086);
}

/* base + index * scale, from a SIB byte. */
static uint64_t
take_scaled(struct user_regs_struct *r, struct instruction *in, unsigned mod)
{
	const unsigned sib = *in->at++;
	const unsigned base = (sib & 7) | (in->rex & REX_B ? 8 : 0);
	const unsigned index = (sib >> 3 & 7) | (in->rex & REX_X ? 8 : 0);
	uint64_t at = 0;

	if (index != 4)
		at = (uint64_t)*reg_at(r, index) << (sib >> 6);
	if ((base & 7) == 5 && mod == 0)
		return at + (uint64_t)(int64_t)take_imm32(in);
	return at + *reg_at(r, base);
}

/* An operand in memory, with so many bytes of the instruction behind it.
 * false: it is a register. */
static bool
take_address(struct user_regs_struct *r, struct instruction *in,
	     unsigned behind, uint64_t *address)
{
	const unsigned modrm = *in->at++, mod = modrm >> 6, low = modrm & 7;

	in->reg = (modrm >> 3 & 7) | (in->rex & REX_R ? 8 : 0);
	if (mod == 3)
		return false;
	if (mod == 0 && low == 5) {
		const int64_t disp = take_imm32(in);

		*address = r->rip + (uint64_t)(in->at - in->start) + behind +
			(uint64_t)disp;
		return true;
	}
	*address = low == 4 ? take_scaled(r, in, mod) :
		*reg_at(r, low | (in->rex & REX_B ? 8 : 0));
	if (mod == 1)
		*address += (uint64_t)(int64_t)(signed char)*in->at++;
	if (mod == 2)
		*address += (uint64_t)(int64_t)take_imm32(in);
	return true;
}

/* lea */
static bool
load_address(struct user_regs_struct *r, struct instruction *in)
{
	uint64_t address;

	if (!take_address(r, in, 0, &address))
		return false;
	*reg_at(r, in->reg) = cut(in, address);
	return true;
}

/* A place of its own: no other thread minds how it is written. */
static bool
store(struct target *t, const struct user_regs_struct *r,
      const struct instruction *in, uint64_t address, uint64_t value)
{
	enum { RED_ZONE = 128, FRAME_MOST = 64 << 10 };
	const size_t size = in->rex & REX_W ? 8 : 4;

	return address - (r->rsp - RED_ZONE) <= RED_ZONE + FRAME_MOST &&
		memory_store(t, address, &value, size);
}

/* mov from memory, or to it */
static bool
with_memory(struct target *t, struct user_regs_struct *r,
	    struct instruction *in)
{
	const unsigned behind = in->opcode == 0xc7 ? 4 : 0;
	uint64_t address, value = 0;

	if (!take_address(r, in, behind, &address))
		return false;
	if (in->opcode == 0x89)
		return store(t, r, in, address, *reg_at(r, in->reg));
	if (in->opcode == 0xc7)
		return (in->reg & 7) == 0 &&
			store(t, r, in, address,
			      (uint64_t)(int64_t)take_imm32(in));
	if (!memory_load(t, address, &value, in->rex & REX_W ? 8 : 4))
		return false;
	*reg_at(r, in->reg) = value;
	return true;
}

static bool
two_registers(struct user_regs_struct *r, struct instruction *in)
{
	if (!take_two_registers(in))
		return false;

	unsigned long long *const reg = reg_at(r, in->reg);
	unsigned long long *const rm = reg_at(r, in->rm);

	switch (in->opcode) {
	case 0x89:
		*rm = cut(in, *reg);
		return true;
	case 0x8b:
		*reg = cut(in, *rm);
		return true;
	case 0x85:			/* test */
		set_flags(r, in, cut(in, *reg & *rm), 0);
		return true;
	case 0x31:			/* xor */
	case 0x33:
		if (reg != rm)
			return false;
		*reg = 0;
		set_flags(r, in, 0, 0);
		return true;
	case 0x39:			/* cmp */
		(void)subtract(r, in, cut(in, *rm), cut(in, *reg));
		return true;
	default:
		return false;
	}
}

/* sub $imm, reg and cmp $imm, reg */
static bool
with_immediate(struct user_regs_struct *r, struct instruction *in)
{
	enum { SUB = 5, CMP = 7 };

	if (!take_two_registers(in))
		return false;

	const int64_t imm = in->opcode == 0x83 ? (signed char)*in->at++ :
		take_imm32(in);
	const unsigned what = in->reg & 7;

	if (what != SUB && what != CMP)
		return false;

	unsigned long long *const rm = reg_at(r, in->rm);
	const uint64_t result = subtract(r, in, cut(in, *rm),
					 cut(in, (uint64_t)imm));

	if (what == SUB)
		*rm = result;
	return true;
}

static bool
carry_out(struct target *t, struct user_regs_struct *r,
	  struct instruction *in)
{
	const unsigned low = (in->opcode & 7) | (in->rex & REX_B ? 8 : 0);

	switch (in->opcode) {
	case 0x50 ... 0x57:
		return push(t, r, *reg_at(r, low));
	case 0x9c:
		return push(t, r, pushed_flags(r));
	case 0xb8 ... 0xbf:
		if (in->rex & REX_W)
			return false;
		*reg_at(r, low) = (uint32_t)take_imm32(in);
		return true;
	case 0x8d:
		return load_address(r, in);
	case 0x89: case 0x8b: case 0xc7:
		if (*in->at >> 6 != 3)
			return with_memory(t, r, in);
		return two_registers(r, in);
	case 0x81:
	case 0x83:
		return with_immediate(r, in);
	default:
		return two_registers(r, in);
	}
}

static bool
no_operation(struct instruction *in)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (memcmp(in->at, endbr64, sizeof endbr64) == 0) {
		in->at += sizeof endbr64;
		return true;
	}
	while (*in->at == 0x66 && in->at < in->start + INSTRUCTION_MAX / 2)
		in->at++;
	if (*in->at == 0x90) {
		in->at++;
		return true;
	}
	if (in->at[0] != 0x0f || in->at[1] != 0x1f)
		return false;
	in->at += 2;
	skip_operand(in);
	return true;
}

bool
machine_emulate(struct target *t, struct user_regs_struct *regs)
{
	unsigned char code[2 * INSTRUCTION_MAX] = { 0 };
	struct instruction in = { .start = code, .at = code };
	struct user_regs_struct after = *regs;

	if (machine_syscall(regs) >= 0 ||
	    target_read(t, regs->rip, code, INSTRUCTION_MAX) < 0) {
		fail_clear();		/* the last bytes of a mapping */
		return false;
	}
	breakpoints_hide(t, regs->rip, code, INSTRUCTION_MAX);
	if (!no_operation(&in)) {
		in.at = code;
		if ((*in.at & 0xf0) == 0x40)
			in.rex = *in.at++ & 0xf;
		in.opcode = *in.at++;
		if (!carry_out(t, &after, &in))
			return false;
	}
	after.rip += (uint64_t)(in.at - in.start);
	*regs = after;
	return true;
}
