/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slots: a library with 1000 functions that others may replace, so it calls
 * them by way of its PLT; bound at their first call (-z lazy).
 */
#include <stdint.h>

#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) \
	m(n##7) m(n##8) m(n##9)
#define HUNDRED(m, n) TEN(m, n##0) TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) \
	TEN(m, n##4) TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8) \
	TEN(m, n##9)
#define THOUSAND(m) HUNDRED(m, 0) HUNDRED(m, 1) HUNDRED(m, 2) HUNDRED(m, 3) \
	HUNDRED(m, 4) HUNDRED(m, 5) HUNDRED(m, 6) HUNDRED(m, 7) \
	HUNDRED(m, 8) HUNDRED(m, 9)

#define DEFINE(n) \
	uint64_t slot_##n(uint64_t x); \
	__attribute__((noinline)) uint64_t slot_##n(uint64_t x) \
	{ \
		return x + 1; \
	}
#define CALL(n) x = slot_##n(x);

THOUSAND(DEFINE)

uint64_t many(uint64_t x);

uint64_t
many(uint64_t x)
{
	THOUSAND(CALL)
	return x;
}
