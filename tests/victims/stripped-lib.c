/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stripped-lib: a library without a symbol table, for `stripped`: its one
 * exported function calls a static one that burns, and has no name.
 */
#include "burn.h"

uint64_t stripped_entry(uint64_t x, uint64_t steps);

NOINLINE static uint64_t
nameless(uint64_t x, uint64_t steps)
{
	x = burn(x, steps);
	__asm__ volatile("" : "+r"(x));
	return x;
}

uint64_t
stripped_entry(uint64_t x, uint64_t steps)
{
	x = nameless(x, steps);
	__asm__ volatile("" : "+r"(x));
	return x;
}
