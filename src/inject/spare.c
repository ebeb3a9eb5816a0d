/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the frame of a borrowed thread goes whose own stack has no room that
 * is surely free: to pages of the main stack that nobody has ever touched. The
 * kernel maps 128 KB more of it than exec fills (setup_arg_pages), and the
 * page map tells what has been used. What grows down to them is far off, and
 * they are given back untouched.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum {
	PAGE = 4096,
	LOOK_AT = 256,		/* pages from the lowest on */
	DISTANCE = 8,		/* untouched pages above, too */
};
#define TOUCHED	(UINT64_C(3) << 62)	/* present or in swap: pagemap.rst */

static const struct module *
main_stack(const struct plan *p)
{
	size_t i;

	for (i = p->mods.len; i-- > 0;)
		if (strcmp(p->mods.items[i].path, "[stack]") == 0)
			return &p->mods.items[i];
	return NULL;
}

static ssize_t
read_page_map(const struct plan *p, uint64_t from, uint64_t *entries, size_t n)
{
	const int fd = openat(target_proc(p->t), "pagemap",
			      O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (fd < 0)
		return -1;
	got = pread(fd, entries, n * sizeof *entries,
		    (off_t)(from / PAGE * sizeof *entries));
	close(fd);
	return got < 0 ? -1 : got / (ssize_t)sizeof *entries;
}

/* `bytes` there, or 0. */
uint64_t
spare_find(const struct plan *p, size_t bytes)
{
	const size_t wanted = (bytes + PAGE - 1) / PAGE;
	const struct module *m = main_stack(p);
	uint64_t entries[LOOK_AT];
	size_t untouched = 0;
	ssize_t n, i;

	if (!m || !(m->prot & MODULE_WRITE))
		return 0;
	n = (ssize_t)((m->end - m->start) / PAGE);
	n = read_page_map(p, m->start, entries, n < LOOK_AT ? (size_t)n :
			  LOOK_AT);
	for (i = 0; i < n; i++) {
		untouched = entries[i] & TOUCHED ? 0 : untouched + 1;
		if (untouched == wanted + DISTANCE)
			return m->start + ((uint64_t)i + 1 - untouched) * PAGE;
	}
	return 0;
}

/* Nothing of the thread is there any more. */
void
spare_return(struct borrow *b)
{
	const uint64_t args[6] = { b->spare, b->spare_size, MADV_DONTNEED };
	int64_t result;

	if (b->spare)
		(void)borrow_syscall(b, SYS_madvise, args, &result, NULL);
	b->spare = 0;
}
