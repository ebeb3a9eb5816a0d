/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that goes all at once: a question makes many small things, and none
 * of them outlives it.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	_Alignas(16) unsigned char bytes[];
};

enum { CHUNK = 64 << 10, ALIGN = 16 };

void *
arena_alloc(struct arena *a, size_t n)
{
	struct arena_chunk *c = a->chunks;

	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	if (!c || c->size - c->used < n) {
		const size_t size = n > CHUNK ? n : CHUNK;

		c = xmalloc(sizeof *c + size);
		c->next = a->chunks;
		c->size = size;
		c->used = 0;
		a->chunks = c;
	}

	void *p = c->bytes + c->used;

	c->used += n;
	a->used += n;
	memset(p, 0, n);
	return p;
}

char *
arena_textn(struct arena *a, const char *text, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, text, n);
	return copy;
}

char *
arena_text(struct arena *a, const char *text)
{
	return arena_textn(a, text, strlen(text));
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);

	char *text = xvasprintf(fmt, ap);

	va_end(ap);

	char *copy = arena_text(a, text);

	free(text);
	return copy;
}

void
arena_free(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	a->used = 0;
}
