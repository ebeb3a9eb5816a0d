/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64: registers by name and by DWARF's number (AADWARF64), where they
 * stand in core files, and how functions are called. Our pc is number 32.
 */
#include "private.h"

#include <stdio.h>
#include <string.h>

#define X(n) \
	{ "x" #n, n, REG_LONG, offsetof(struct debug_regs, general.reg[n]), 8, \
	  false, false, 'g' }
#define V(n) \
	{ "v" #n, 64 + (n), REG_VECTOR, \
	  offsetof(struct debug_regs, vector[n]), 16, false, true, 'v' }

static const struct machine_reg regs[] = {
	X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10),
	X(11), X(12), X(13), X(14), X(15), X(16), X(17), X(18), X(19), X(20),
	X(21), X(22), X(23), X(24), X(25), X(26), X(27), X(28), X(29), X(30),
	{ "sp", 31, REG_DATA, offsetof(struct debug_regs, general.reg[31]), 8,
	  false, false, 'g' },
	{ "pc", 32, REG_CODE, offsetof(struct debug_regs, general.reg[32]), 8,
	  false, false, 'g' },
	{ "cpsr", -1, REG_FLAGS, offsetof(struct debug_regs, flags), 4,
	  true, false, 'g' },
	{ "fpsr", -1, REG_INT32, offsetof(struct debug_regs, control[0]), 4,
	  false, true, 'f' },
	{ "fpcr", -1, REG_INT32, offsetof(struct debug_regs, control[1]), 4,
	  false, true, 'f' },
	{ "tpidr", -1, REG_LONG, offsetof(struct debug_regs, thread_pointer),
	  8, true, false, 'g' },
	V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7), V(8), V(9), V(10),
	V(11), V(12), V(13), V(14), V(15), V(16), V(17), V(18), V(19), V(20),
	V(21), V(22), V(23), V(24), V(25), V(26), V(27), V(28), V(29), V(30),
	V(31),
};

static void
from_prstatus(const unsigned char *bytes, size_t n, struct debug_regs *out)
{
	uint64_t words[34] = {0};	/* x0-x30, sp, pc, pstate */

	memcpy(words, bytes, n < sizeof words ? n : sizeof words);
	memcpy(out->general.reg, words, 33 * sizeof words[0]);
	out->flags = words[33];
	out->extra_known = true;
}

static void
from_floats(const unsigned char *bytes, size_t n, struct debug_regs *out)
{
	if (n < sizeof out->vector + 8)
		return;
	memcpy(out->vector, bytes, sizeof out->vector);
	memcpy(out->control, bytes + sizeof out->vector, 8);
	out->vectors_known = true;
}

/* Variant I: behind the thread control block of 16 bytes. */
static uint64_t
tls_block(uint64_t tp, uint64_t size, uint64_t align)
{
	(void)size;
	if (align < 2 || (align & (align - 1)))
		return tp + 16;
	return tp + ((16 + align - 1) & ~(align - 1));
}

/* w0 to w30 */
static const struct machine_reg *
part(const char *name, size_t *at, size_t *size)
{
	char whole[8];

	if (*name != 'w' || strlen(name) > 3)
		return NULL;
	*at = 0;
	*size = 4;
	snprintf(whole, sizeof whole, "x%s", name + 1);
	return machine_named(whole);
}

const struct machine machine = {
	.regs = regs,
	.reg_len = ARRAY_LEN(regs),
	.part = part,
	.kept = 0x3ff80000u | 1u << 31,
	.prstatus_regs = 112,
	.from_prstatus = from_prstatus,
	.from_floats = from_floats,
	.tls_block = tls_block,
	.dtv_offset = 0,
	.int_args = 8,
	.float_args = 8,
};
