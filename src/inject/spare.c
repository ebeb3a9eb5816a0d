/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the frame of a borrowed thread goes whose own stack has no room that
 * is surely free: below the main stack, where nobody has ever been. As long as
 * the lowest pages of its mapping are untouched (the kernel maps 128 KB more
 * than exec fills: setup_arg_pages), those serve; else it grows by some, as by
 * a deep call (expand_downwards, by a write through /proc/PID/mem).
 *
 * They are kept for the next visit, cleared but for a mark. Who is killed
 * leaves them marked as in use, and the next one takes others: the thread may
 * not have come back yet.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum {
	PAGE = 4096,
	DISTANCE = 16,		/* pages above ours that are untouched */
	ENTRIES_MAX = DISTANCE + XSTATE_MAX / PAGE + 2,
};
#define TOUCHED	(UINT64_C(3) << 62)	/* present or in swap: pagemap.rst */

struct mark {
	char name[24];
	uint64_t in_use;
};

static const struct mark is_free = { .name = "frame of sonde's visits" };

/* As it is now: it may have grown since the plan was made. floor: the end of
 * what lies below. */
static uint64_t
main_stack(struct target *t, uint64_t *floor)
{
	char *text = target_maps(t);
	struct modules mods = {0};
	uint64_t start = 0;

	if (text && modules_parse(&mods, text) == 0)
		for (size_t i = 0; i < mods.len; i++)
			if (strcmp(mods.items[i].path, "[stack]") == 0 &&
			    mods.items[i].prot & MODULE_WRITE &&
			    !mods.items[i].inode) {
				start = mods.items[i].start;
				*floor = i > 0 ? mods.items[i - 1].end : 0;
			}
	modules_fini(&mods);
	free(text);
	return start;
}

static bool
are_untouched(const uint64_t *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (entries[i] & TOUCHED)
			return false;
	return true;
}

/* As the last visit left them. */
static bool
are_free(const struct plan *p, uint64_t at, size_t size)
{
	unsigned char *is = xmalloc(size), *was = xcalloc(1, size);
	bool same;

	memcpy(was, &is_free, sizeof is_free);
	same = target_read(p->t, at, is, size) == 0 &&
		memcmp(is, was, size) == 0;
	free(is);
	free(was);
	return same;
}

/* The lowest pages of the mapping. */
static bool
may_be_used(const struct plan *p, uint64_t at, size_t size)
{
	const size_t ours = size / PAGE, n = ours + DISTANCE;
	uint64_t entries[ENTRIES_MAX];
	char path[64];
	int fd;
	ssize_t got;

	snprintf(path, sizeof path, "task/%d/pagemap",
		 (int)target_live_thread(p->t));
	fd = openat(target_proc(p->t), path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, entries, n * sizeof *entries,
		    (off_t)(at / PAGE * sizeof *entries));
	close(fd);
	return got == (ssize_t)(n * sizeof *entries) &&
		are_untouched(entries + ours, DISTANCE) &&
		(are_untouched(entries, ours) || are_free(p, at, size));
}

static int
write_mark(struct borrow *b, uint64_t in_use)
{
	unsigned char *pages = xcalloc(1, b->spare_size);
	struct mark mark = is_free;
	int r;

	mark.in_use = in_use;
	memcpy(pages, &mark, sizeof mark);
	r = target_write(b->p->t, b->spare, pages, b->spare_size);
	free(pages);
	return r;
}

uint64_t
spare_take(struct borrow *b, size_t bytes)
{
	const size_t size = (sizeof is_free + bytes + PAGE - 1) / PAGE * PAGE;
	uint64_t floor = 0, at;

	if (b->spare)
		return b->spare + b->spare_size;
	at = main_stack(b->p->t, &floor);
	if (!at || size > XSTATE_MAX + PAGE)
		return 0;
	if (!may_be_used(b->p, at, size))
		at -= size + DISTANCE * PAGE;
	if (at < floor)
		return 0;
	b->spare = at;
	b->spare_size = size;
	if (write_mark(b, 1) == 0)
		return at + size;
	fail_clear();
	b->spare = 0;
	return 0;
}

void
spare_return(struct borrow *b)
{
	if (b->spare && write_mark(b, 0) < 0)
		fail_clear();		/* others, the next time */
	b->spare = 0;
}
