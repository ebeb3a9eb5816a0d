/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XXH64 with seed 0, in pieces of any size: `xxh64sum` prints the same number.
 * It finds damage, not forgery. Four sums run side by side, so that a file is
 * summed about as fast as it is read.
 */
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define P1 UINT64_C(0x9E3779B185EBCA87)
#define P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P3 UINT64_C(0x165667B19E3779F9)
#define P4 UINT64_C(0x85EBCA77C2B2AE63)
#define P5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t
turn(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static uint64_t
word_at(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

static uint64_t
mix(uint64_t lane, uint64_t word)
{
	return turn(lane + word * P2, 31) * P1;
}

static void
take_block(uint64_t lanes[4], const unsigned char *p)
{
	for (int i = 0; i < 4; i++)
		lanes[i] = mix(lanes[i], word_at(p + 8 * i));
}

static void
start(struct checksum *sum)
{
	sum->lanes[0] = P1 + P2;
	sum->lanes[1] = P2;
	sum->lanes[2] = 0;
	sum->lanes[3] = 0 - P1;
}

void
checksum_add(struct checksum *sum, const void *data, size_t n)
{
	const unsigned char *p = data, *const end = p + n;
	const size_t had = sum->size % sizeof sum->rest;

	if (n == 0)
		return;
	if (sum->size == 0)
		start(sum);
	sum->size += n;
	if (had) {
		const size_t want = sizeof sum->rest - had;

		memcpy(sum->rest + had, p, n < want ? n : want);
		if (n < want)
			return;
		take_block(sum->lanes, sum->rest);
		p += want;
	}
	for (; (size_t)(end - p) >= sizeof sum->rest; p += sizeof sum->rest)
		take_block(sum->lanes, p);
	memcpy(sum->rest, p, (size_t)(end - p));
}

/* What did not fill a block. */
static uint64_t
take_rest(uint64_t h, const unsigned char *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8)
		h = turn(h ^ mix(0, word_at(p)), 27) * P1 + P4;
	if (n >= 4) {
		uint32_t word;

		memcpy(&word, p, sizeof word);
		h = turn(h ^ word * P1, 23) * P2 + P3;
		p += 4;
		n -= 4;
	}
	for (; n > 0; p++, n--)
		h = turn(h ^ *p * P5, 11) * P1;
	return h;
}

uint64_t
checksum_end(const struct checksum *sum)
{
	const uint64_t *v = sum->lanes;
	uint64_t h = P5;

	if (sum->size >= sizeof sum->rest) {
		h = turn(v[0], 1) + turn(v[1], 7) + turn(v[2], 12) +
			turn(v[3], 18);
		for (int i = 0; i < 4; i++)
			h = (h ^ mix(0, v[i])) * P1 + P4;
	}
	h = take_rest(h + sum->size, sum->rest, sum->size % sizeof sum->rest);
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

int
checksum_file(struct checksum *sum, int fd, uint64_t n)
{
	enum { CHUNK = 256 << 10 };
	unsigned char *buf = xmalloc(CHUNK);
	uint64_t at = 0;

	while (at < n) {
		const uint64_t left = n - at;
		const ssize_t got = pread(fd, buf, left < CHUNK ? left : CHUNK,
					  (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		checksum_add(sum, buf, (size_t)got);
		at += (uint64_t)got;
	}
	free(buf);
	return at == n ? 0 : -1;
}
