/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers between a live thread, as ptrace(2) has them, and the room.
 */
#include "private.h"

#include <elf.h>
#include <string.h>
#include <sys/user.h>

void
debug_regs_of_thread(const void *general, size_t n, const void *floats,
		     size_t m, struct debug_regs *out)
{
	*out = (struct debug_regs){0};
	machine.from_prstatus(general, n, out);
	if (m)
		machine.from_floats(floats, m, out);
}

unsigned
debug_regs_highs_type(void)
{
	return machine.from_highs ? NT_X86_XSTATE : 0;
}

void
debug_regs_highs(const void *set, size_t n, struct debug_regs *out)
{
	machine.from_highs(set, n, out);
}

/* Where a general register by DWARF's number is in user_regs_struct; -1. */
static ptrdiff_t
place_of_register(int reg)
{
#ifdef __x86_64__
#define AT(name) offsetof(struct user_regs_struct, name)
	static const size_t at[] = {
		AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi), AT(rdi), AT(rbp),
		AT(rsp), AT(r8), AT(r9), AT(r10), AT(r11), AT(r12), AT(r13),
		AT(r14), AT(r15), AT(rip),
	};
	enum { DWARF_FLAGS = 49 };

	if (reg == DWARF_FLAGS)
		return AT(eflags);
#undef AT
#else
	size_t at[33];		/* x0 to x30, sp, pc */

	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		at[i] = 8 * i;
#endif
	return reg >= 0 && (size_t)reg < ARRAY_LEN(at) ?
		(ptrdiff_t)at[reg] : -1;
}

bool
debug_regs_to_thread(int reg, const void *bytes, size_t n, void *general,
		     size_t size)
{
	const ptrdiff_t at = place_of_register(reg);

	if (at < 0 || n > 8 || (size_t)at + 8 > size)
		return false;
	memcpy((char *)general + at, bytes, n);
	return true;
}
