/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: registers by name and by DWARF's number (psABI figure 3.36), where
 * they stand in core files, and how functions are called.
 */
#include "private.h"

#include <stdio.h>
#include <string.h>
#include <sys/user.h>

#define GENERAL(n, name, type) \
	{ name, n, type, offsetof(struct debug_regs, general.reg[n]), 8, \
	  false, false, 'g' }
#define SEGMENT(n, name) \
	{ name, 50 + (n), REG_INT32, offsetof(struct debug_regs, segment[n]), \
	  4, true, false, 'g' }
#define X87(n) \
	{ "st" #n, 33 + (n), REG_X87, offsetof(struct debug_regs, x87[n]), 10, \
	  false, true, 'f' }
#define CONTROL(n, name) \
	{ name, -1, REG_INT32, offsetof(struct debug_regs, control[n]), 4, \
	  false, true, 'f' }
#define XMM(n) \
	{ "xmm" #n, 17 + (n), REG_VECTOR, \
	  offsetof(struct debug_regs, vector[n]), 16, false, true, 'v' }

#define YMM(n) \
	{ "ymm" #n, -1, REG_WIDE, offsetof(struct debug_regs, vector[n]), 32, \
	  false, true, 'w' }

/* In the order of gdb's `info registers`. */
static const struct machine_reg regs[] = {
	GENERAL(0, "rax", REG_LONG), GENERAL(3, "rbx", REG_LONG),
	GENERAL(2, "rcx", REG_LONG), GENERAL(1, "rdx", REG_LONG),
	GENERAL(4, "rsi", REG_LONG), GENERAL(5, "rdi", REG_LONG),
	GENERAL(6, "rbp", REG_DATA), GENERAL(7, "rsp", REG_DATA),
	GENERAL(8, "r8", REG_LONG), GENERAL(9, "r9", REG_LONG),
	GENERAL(10, "r10", REG_LONG), GENERAL(11, "r11", REG_LONG),
	GENERAL(12, "r12", REG_LONG), GENERAL(13, "r13", REG_LONG),
	GENERAL(14, "r14", REG_LONG), GENERAL(15, "r15", REG_LONG),
	GENERAL(16, "rip", REG_CODE),
	{ "eflags", 49, REG_FLAGS, offsetof(struct debug_regs, flags), 4,
	  true, false, 'g' },
	SEGMENT(0, "cs"), SEGMENT(1, "ss"), SEGMENT(2, "ds"),
	SEGMENT(3, "es"), SEGMENT(4, "fs"), SEGMENT(5, "gs"),
	{ "fs_base", 58, REG_LONG,
	  offsetof(struct debug_regs, thread_pointer), 8, true, false, 'g' },
	{ "gs_base", 59, REG_LONG, offsetof(struct debug_regs, gs_base), 8,
	  true, false, 'g' },
	X87(0), X87(1), X87(2), X87(3), X87(4), X87(5), X87(6), X87(7),
	CONTROL(0, "fctrl"), CONTROL(1, "fstat"), CONTROL(2, "ftag"),
	CONTROL(3, "fiseg"), CONTROL(4, "fioff"), CONTROL(5, "foseg"),
	CONTROL(6, "fooff"), CONTROL(7, "fop"),
	XMM(0), XMM(1), XMM(2), XMM(3), XMM(4), XMM(5), XMM(6), XMM(7),
	XMM(8), XMM(9), XMM(10), XMM(11), XMM(12), XMM(13), XMM(14), XMM(15),
	YMM(0), YMM(1), YMM(2), YMM(3), YMM(4), YMM(5), YMM(6), YMM(7),
	YMM(8), YMM(9), YMM(10), YMM(11), YMM(12), YMM(13), YMM(14), YMM(15),
	{ "mxcsr", 64, REG_INT32, offsetof(struct debug_regs, mxcsr), 4,
	  false, true, 'v' },
};

/* eax, ax, al, ah, sil, r8d, r8w, r8l */
static const struct machine_reg *
part(const char *name, size_t *at, size_t *size)
{
	const size_t n = strlen(name);
	const char last = n ? name[n - 1] : '\0';
	char whole[8];

	if (n < 2 || n > 4)
		return NULL;
	*at = 0;
	if (*name == 'r' && strchr("dwl", last)) {
		*size = last == 'd' ? 4 : last == 'w' ? 2 : 1;
		snprintf(whole, sizeof whole, "%.*s", (int)n - 1, name);
		return machine_named(whole);
	}
	if (*name == 'e' && n == 3) {
		*size = 4;
		snprintf(whole, sizeof whole, "r%s", name + 1);
		return strcmp(whole, "rip") == 0 ? NULL : machine_named(whole);
	}
	*size = strchr("lh", last) ? 1 : 2;
	*at = last == 'h';
	if (*size == 2 && n == 2)
		snprintf(whole, sizeof whole, "r%s", name);
	else if (n == 2)	/* of a, b, c, d */
		snprintf(whole, sizeof whole, "r%cx", *name);
	else if (last == 'l')	/* sil, dil, bpl, spl */
		snprintf(whole, sizeof whole, "r%.2s", name);
	else
		return NULL;
	return machine_named(whole);
}

static const char *const flags[] = {
	"CF", "", "PF", NULL, "AF", NULL, "ZF", "SF", "TF", "IF", "DF", "OF",
	NULL, NULL, "NT", NULL, "RF", "VM", "AC", "VIF", "VIP", "ID",
};

static void
from_prstatus(const unsigned char *bytes, size_t n, struct debug_regs *out)
{
	struct user_regs_struct user = {0};

	memcpy(&user, bytes, n < sizeof user ? n : sizeof user);
	arch.from_ptrace(&user, &out->general);
	out->extra_known = true;
	out->flags = user.eflags;
	out->thread_pointer = user.fs_base;
	out->gs_base = user.gs_base;
	out->segment[0] = user.cs;
	out->segment[1] = user.ss;
	out->segment[2] = user.ds;
	out->segment[3] = user.es;
	out->segment[4] = user.fs;
	out->segment[5] = user.gs;
}

/* The tag word of fxsave has a bit for each register; the full one has two:
 * 3 empty, 0 valid, 1 zero, 2 special, which hardware finds out itself. */
static uint32_t
full_tags(const struct user_fpregs_struct *fp)
{
	const unsigned char *area = (const unsigned char *)fp->st_space;
	const unsigned top = fp->swd >> 11 & 7;
	uint32_t tags = 0;

	for (unsigned i = 0; i < 8; i++) {
		const unsigned char *st = area + 16 * ((i + 8 - top) % 8);
		uint64_t fraction;
		uint16_t exponent;
		unsigned tag;

		memcpy(&fraction, st, sizeof fraction);
		memcpy(&exponent, st + 8, sizeof exponent);
		exponent &= 0x7fff;
		if (!(fp->ftw >> i & 1))
			tag = 3;
		else if (exponent == 0x7fff)
			tag = 2;
		else if (exponent == 0)
			tag = fraction == 0 ? 1 : 2;
		else
			tag = fraction >> 63 ? 0 : 2;
		tags |= tag << 2 * i;
	}
	return tags;
}

static void
from_floats(const unsigned char *bytes, size_t n, struct debug_regs *out)
{
	struct user_fpregs_struct fp;

	if (n < sizeof fp)
		return;
	memcpy(&fp, bytes, sizeof fp);
	out->vectors_known = true;
	memcpy(out->vector, fp.xmm_space, sizeof fp.xmm_space);
	for (int i = 0; i < DEBUG_X87; i++)
		memcpy(out->x87[i], (const char *)fp.st_space + 16 * i,
		       sizeof out->x87[i]);
	out->control[0] = fp.cwd;
	out->control[1] = fp.swd;
	out->control[2] = full_tags(&fp);
	out->control[3] = (uint16_t)(fp.rip >> 32);
	out->control[4] = (uint32_t)fp.rip;
	out->control[5] = (uint16_t)(fp.rdp >> 32);
	out->control[6] = (uint32_t)fp.rdp;
	out->control[7] = fp.fop;
	out->mxcsr = fp.mxcsr;
}

/* The area of xsave, as ptrace and core files have it: which parts the system
 * saves is said in the bytes that are left to it, which of them are not as they
 * were at first in its header. */
static void
from_highs(const unsigned char *bytes, size_t n, struct debug_regs *out)
{
	enum { SAVES = 464, HOLDS = 512, HIGHS = 576, AVX = 1 << 2 };
	uint64_t saves, holds;

	if (n < HIGHS + sizeof out->high)
		return;
	memcpy(&saves, bytes + SAVES, sizeof saves);
	memcpy(&holds, bytes + HOLDS, sizeof holds);
	out->highs_known = saves & AVX;
	memset(out->high, 0, sizeof out->high);
	if (saves & holds & AVX)
		memcpy(out->high, bytes + HIGHS, sizeof out->high);
}

/* Variant II: below the thread pointer. */
static uint64_t
tls_block(uint64_t tp, uint64_t size, uint64_t align)
{
	if (align < 2 || (align & (align - 1)))
		return tp - size;
	return tp - ((size + align - 1) & ~(align - 1));
}

const struct machine machine = {
	.regs = regs,
	.reg_len = ARRAY_LEN(regs),
	.part = part,
	.flags = flags,
	.flag_len = ARRAY_LEN(flags),
	.kept = 1 << 3 | 1 << 6 | 1 << 7 | 0xf000,
	.prstatus_regs = 112,
	.from_prstatus = from_prstatus,
	.from_floats = from_floats,
	.from_highs = from_highs,
	.tls_block = tls_block,
	.dtv_offset = 8,
	.int_args = 6,
	.float_args = 8,
	.has_classes = true,
};
