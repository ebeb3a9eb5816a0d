/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The checksum against numbers of xxh64sum, and in pieces of every size
 * against itself as a whole.
 */
#include "base.h"

#include <stdio.h>

enum { BYTES = 1000 };

static int failures;

static void
check(const char *what, size_t n, uint64_t is, uint64_t want)
{
	if (is == want)
		return;
	printf("%s of %zu bytes: %016llx, not %016llx\n", what, n,
	       (unsigned long long)is, (unsigned long long)want);
	failures++;
}

static uint64_t
sum_of(const unsigned char *data, size_t n, size_t piece)
{
	struct checksum sum = { 0 };

	for (size_t at = 0; at < n; at += piece)
		checksum_add(&sum, data + at, n - at < piece ? n - at : piece);
	return checksum_end(&sum);
}

int
main(void)
{
	unsigned char data[BYTES];

	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 7);
	check("the sum", 0, sum_of(data, 0, 1), 0xef46db3751d8e999);
	check("the sum", 3, sum_of((const unsigned char *)"abc", 3, 3),
	      0x44bc2cf5ad770999);
	check("the sum", BYTES, sum_of(data, BYTES, BYTES),
	      0x25275608a9cfc168);
	for (size_t piece = 1; piece < 100; piece++)
		for (size_t n = 0; n < 100; n++)
			check("pieces", n, sum_of(data, n, piece),
			      sum_of(data, n, BYTES));
	return failures != 0;
}
