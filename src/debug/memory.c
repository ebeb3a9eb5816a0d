/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program's memory, page by page: a look at a stack or a list reads the
 * same few pages hundreds of times, and each read may be a request to another
 * process. What was read is kept while the program stands, until something is
 * written or called.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAGES_MAX = 1024 };

void
memory_forget(struct debug *d)
{
	map_free_values(&d->pages);
}

/* NULL: it cannot be read as a whole. */
static const unsigned char *
page_at(struct debug *d, uint64_t start)
{
	unsigned char *page;
	uint64_t known;

	if (map_get(&d->pages, start, &known))
		return (const unsigned char *)(uintptr_t)known;
	page = xmalloc(PAGE);
	if (d->target->read(d->arg, start, page, PAGE) < 0) {
		free(page);
		return NULL;
	}
	if (d->pages.len >= PAGES_MAX)
		memory_forget(d);
	map_put(&d->pages, start, (uintptr_t)page);
	return page;
}

static bool
read_all(struct debug *d, uint64_t addr, void *buf, size_t n)
{
	unsigned char *to = buf;

	while (n > 0) {
		const uint64_t start = addr & ~(uint64_t)(PAGE - 1);
		const unsigned char *page = page_at(d, start);
		size_t now = PAGE - (size_t)(addr - start);

		if (now > n)
			now = n;
		if (page)
			memcpy(to, page + (addr - start), now);
		else if (d->target->read(d->arg, addr, to, now) < 0)
			return false;
		addr += now;
		to += now;
		n -= now;
	}
	return true;
}

/* Say the first address that cannot be read: memory comes in pages. */
static int
fail_at(struct debug *d, uint64_t addr, size_t n)
{
	const uint64_t end = addr + n < addr ? UINT64_MAX : addr + n;
	unsigned char byte;
	uint64_t at = addr;

	while (read_all(d, at, &byte, 1)) {
		const uint64_t next = (at | (PAGE - 1)) + 1;

		if (next == 0 || next >= end)
			break;
		at = next;
	}
	return fail(FAIL_GENERAL, "Cannot access memory at address 0x%" PRIx64,
		    at);
}

int
debug_read(struct debug *d, uint64_t addr, void *buf, size_t n)
{
	if (n == 0)
		return 0;
	if (addr + n - 1 >= addr && read_all(d, addr, buf, n))
		return 0;
	memset(buf, 0, n);
	return fail_at(d, addr, n);
}

bool
debug_read_word(struct debug *d, uint64_t addr, uint64_t *out)
{
	return addr + 8 > addr && read_all(d, addr, out, 8);
}
