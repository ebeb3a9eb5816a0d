/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An allocator that knows its blocks; others' it takes, and tells of. */
#include <stddef.h>

enum { BYTES = 1 << 20, ALIGN = 16 };

int alien;
static char pool[BYTES] __attribute__((aligned(ALIGN)));
static size_t used;

void *
malloc(size_t n)
{
	char *p = pool + used;

	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	if (n > BYTES - used)
		return NULL;
	used += n;
	return p;
}

void
free(void *p)
{
	alien |= p && ((char *)p < pool || (char *)p >= pool + BYTES);
}
