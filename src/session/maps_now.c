/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is the list of mappings that of now? Nobody reports mappings to the remote
 * engine, and none of their ends to any, and plug-ins that are loaded in turn
 * lie at one address: an old list gives their names to the wrong one. Linux
 * 6.11 and later tell of one executable mapping after another without making
 * a text, in less than a microsecond each (PROCMAP_QUERY), so that each look
 * can ask.
 */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* As in linux/fs.h of 6.11. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};

_Static_assert(sizeof(struct query) == 104, "struct procmap_query");

enum { EXECUTABLE = 0x04, COVERING_OR_NEXT = 0x10 };

#define QUERY	_IOWR('f', 17, struct query)

/* 1: there is one at addr or behind it, 0: none, -1: the kernel cannot say. */
static int
next_code(int fd, uint64_t addr, struct query *q)
{
	*q = (struct query){
		.size = sizeof *q, .addr = addr,
		.flags = EXECUTABLE | COVERING_OR_NEXT,
	};
	if (ioctl(fd, QUERY, q) == 0)
		return 1;
	return errno == ENOENT ? 0 : -1;
}

/* Copied text has no file for the kernel, and one for us. */
static bool
is_that(const struct module *mod, const struct query *q, uint64_t at)
{
	return at == q->start && q->end <= mod->end &&
		(!q->inode || (q->inode == mod->inode &&
		  makedev(q->major, q->minor) == mod->device &&
		  q->offset - mod->offset == at - mod->start));
}

/* mod is of one mapping, or of several that make it up. */
static int
is_there(int fd, const struct module *mod)
{
	uint64_t at = mod->start;

	while (at < mod->end) {
		struct query q;
		const int r = next_code(fd, at, &q);

		if (r < 0 || (r > 0 && !is_that(mod, &q, at)) || r == 0)
			return r < 0 ? -1 : 0;
		at = q.end;
	}
	return 1;
}

/* The kernel's own of x86-64, which is in the text and in no answer. */
static bool
is_everybodys(const struct module *mod)
{
	return strcmp(mod->path, "[vsyscall]") == 0;
}

static int
compare(const struct mapper *m, int fd)
{
	uint64_t end = 0;
	struct query q;
	int r = 1;

	for (size_t i = 0; i < m->now.len && r > 0; i++) {
		const struct module *mod = &m->now.items[i];

		if (is_everybodys(mod))
			continue;
		r = next_code(fd, end, &q);
		if (r > 0 && q.start != mod->start)
			return 0;
		if (r > 0)
			r = is_there(fd, mod);
		end = mod->end;
	}
	if (r <= 0)
		return r;
	r = next_code(fd, end, &q);
	return r < 0 ? -1 : r == 0;
}

enum maps_age
mapper_age(const struct mapper *m)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/maps",
		       (int)target_live_thread(m->target));

	const int fd = openat(target_proc(m->target), path,
			      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return MAPS_UNKNOWN;

	const int r = compare(m, fd);

	close(fd);
	return r < 0 ? MAPS_UNKNOWN : r ? MAPS_OF_NOW : MAPS_OLD;
}
