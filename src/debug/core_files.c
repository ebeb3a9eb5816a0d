/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that a core was mapped from: each is believed once its build-id, or
 * its layout where it has none, proves that it is the one that was mapped.
 */
#include "core.h"
#include "foreign.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
core_read_all(int fd, uint64_t offset, void *buf, size_t n)
{
	return pread(fd, buf, n, (off_t)offset) == (ssize_t)n;
}

/* Without a build-id: the same entry, and all segments where they were. What
 * strip(1) changes does not count. */
static bool
same_layout(Elf *then, Elf *now)
{
	GElf_Ehdr a, b;

	if (!gelf_getehdr(then, &a))
		return true;	/* nothing says that it is another */
	if (!now || !gelf_getehdr(now, &b) || a.e_entry != b.e_entry ||
	    a.e_phnum != b.e_phnum || a.e_machine != b.e_machine)
		return false;
	for (int i = 0; i < a.e_phnum; i++) {
		GElf_Phdr p, q;

		if (!gelf_getphdr(then, i, &p))
			return true;	/* they go beyond the page */
		if (!gelf_getphdr(now, i, &q) || p.p_type != q.p_type ||
		    p.p_vaddr != q.p_vaddr || p.p_memsz != q.p_memsz ||
		    p.p_flags != q.p_flags)
			return false;
	}
	return true;
}

/* The build-id in what was dumped of the file's first page. */
static bool
same_build(struct core *core, int fd, uint64_t start)
{
	unsigned char page[4096];
	const struct core_segment *s = core_segment_at(core, start);
	const void *ours, *theirs;
	ssize_t our_len, their_len;
	Elf *a, *b;
	bool same = true;

	if (!s || s->dumped < sizeof page || s->start != start ||
	    !core_read_all(core->fd, s->offset, page, sizeof page))
		return true;	/* nothing says that it is another */
	a = elf_memory((char *)page, sizeof page);
	b = elf_begin(fd, ELF_C_READ, NULL);
	their_len = a ? dwelf_elf_gnu_build_id(a, &theirs) : 0;
	our_len = b ? dwelf_elf_gnu_build_id(b, &ours) : 0;
	if (their_len > 0)
		same = our_len == their_len &&
		       memcmp(ours, theirs, (size_t)our_len) == 0;
	else if (a)
		same = same_layout(a, b);
	if (a)
		(void)elf_end(a);
	if (b)
		(void)elf_end(b);
	return same;
}

static uint64_t
first_map(const struct core *core, size_t file)
{
	for (size_t i = 0; i < core->map_len; i++)
		if (core->maps[i].file == file && core->maps[i].offset == 0)
			return core->maps[i].start;
	return 0;
}

int
core_open_regular(const char *path)
{
	const int fd = foreign_open(path, 0);

	if (fd < 0 || !file_is_hollow(fd))
		return fd;
	close(fd);
	errno = EFBIG;
	return -1;
}

/* Once for all of them. */
static void
tell_other(struct core *core, const char *path)
{
	if (!core->trouble)
		core->trouble = xasprintf("%s is not the file that the core "
			"was made from (another build): nothing of it is "
			"shown; put the file of that build there", path);
}

static void
tell_missing(struct core *core, const char *path)
{
	if (!core->trouble)
		core->trouble = xasprintf("%s: %s: frames in the program have "
			"no names, and stacks may end there; give the "
			"program's file: sonde PROGRAM CORE", path, strerror(errno));
}

int
core_open_file(struct core *core, size_t n)
{
	struct core_file *file = &core->files[n];
	const char *path = file->is_program ? core->program : file->path;

	if (file->sought)
		return file->fd;
	file->sought = true;
	file->fd = core_open_regular(path);
	if (file->fd < 0 && file->is_program)
		tell_missing(core, path);
	if (file->fd < 0 ||
	    same_build(core, file->fd, first_map(core, n)))
		return file->fd;
	close(file->fd);
	file->fd = -1;
	file->is_other = true;
	tell_other(core, path);
	return -1;
}

bool
core_is_other_build(struct core *core, size_t n)
{
	(void)core_open_file(core, n);
	return core->files[n].is_other;
}
