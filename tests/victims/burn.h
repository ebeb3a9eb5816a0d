/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * burn: CPU time whose amount is known and whose result can be checked. One
 * multiplication waits for the one before, so a step costs the same wherever
 * the loop is placed, and leap() knows the end of the walk without walking.
 */
#ifndef BURN_H
#define BURN_H

#include <stdint.h>

static const uint64_t burn_mul = 6364136223846793005u;
static const uint64_t burn_add = 1442695040888963407u;

/* Inlined into the function that a profile is to name. */
__attribute__((always_inline, unused)) static inline uint64_t
burn(uint64_t x, uint64_t steps)
{
	while (steps-- > 0) {
		x = x * burn_mul + burn_add;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/* What burn(x, steps) gives, by squaring. */
__attribute__((unused)) static uint64_t
leap(uint64_t x, uint64_t steps)
{
	uint64_t mul = burn_mul, add = burn_add;

	for (; steps > 0; steps >>= 1) {
		if (steps & 1)
			x = x * mul + add;
		add *= mul + 1;
		mul *= mul;
	}
	return x;
}

#define NOINLINE __attribute__((noinline, noclone, aligned(64)))
#ifdef __clang__	/* knows no noclone, and does not clone */
#undef NOINLINE
#define NOINLINE __attribute__((noinline, aligned(64)))
#endif

#endif
