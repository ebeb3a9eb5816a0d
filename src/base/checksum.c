/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XXH64 with seed 0, in pieces of any size: `xxh64sum` prints the same number.
 * It finds damage, not forgery. The header of libxxhash holds the function:
 * the programs need no library for it.
 */
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH64_state_t) <= sizeof((struct checksum *)0)->state &&
	       _Alignof(XXH64_state_t) <= _Alignof(uint64_t),
	       "a struct checksum has room for the state");

void
checksum_add(struct checksum *sum, const void *data, size_t n)
{
	XXH64_state_t *state = (XXH64_state_t *)sum->state;

	if (n == 0)
		return;
	if (!sum->begun)
		XXH64_reset(state, 0);
	sum->begun = true;
	XXH64_update(state, data, n);
}

uint64_t
checksum_end(const struct checksum *sum)
{
	return sum->begun ? XXH64_digest((const XXH64_state_t *)sum->state) :
		XXH64("", 0, 0);
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
