/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The load objects behind the target's mappings. One ELF file is opened once,
 * however often it is mapped; the vDSO and files that are gone are read out of
 * memory. A file is known by device and inode: its name depends on who asks
 * (perf gives names as the target sees them, /proc/PID/maps as the reader
 * does), and on links.
 */
#include "maps.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_MAX = 1 << 28 };

static void
read_build_id(int fd, char *text)
{
	elf_version(EV_CURRENT);

	/* libelf reads a section as large as its header says, holes and all;
	 * asked once more, as it may have grown meanwhile */
	Elf *elf = file_is_hollow(fd) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	const void *bits;
	const ssize_t n = elf && !file_is_hollow(fd) ?
		dwelf_elf_gnu_build_id(elf, &bits) : -1;

	for (ssize_t i = 0; i < n && i < BUILD_ID_MAX; i++)
		sprintf(text + 2 * i, "%02x", ((const unsigned char *)bits)[i]);
	elf_end(elf);
}

struct unwind_object *
mapper_memory(struct mapper *m, uint64_t start, uint64_t end,
	      const char *name)
{
	const size_t size = end - start;

	if (size > IMAGE_MAX)
		return NULL;

	void *image = xmalloc(size);

	if (target_read(m->target, start, image, size) < 0) {
		free(image);
		return NULL;
	}
	return unwind_object_memory(image, size, start, name);
}

/* Memory that programs share for their generated code may be large. */
static bool
is_elf(struct mapper *m, uint64_t start)
{
	char magic[SELFMAG];

	return target_read(m->target, start, magic, sizeof magic) == 0 &&
		memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/*
 * A file that is gone and cannot be opened through the kernel's link: its
 * loaded segments are neighbours in memory, from the one with offset 0 on.
 */
struct unwind_object *
mapper_neighbours(struct mapper *m, const struct module *mod)
{
	char *text = target_maps(m->target);
	struct modules all = {0};
	uint64_t start = 0, end = 0;

	if (text && modules_parse(&all, text) == 0) {
		for (size_t i = 0; i < all.len; i++) {
			const struct module *it = &all.items[i];

			if (it->inode != mod->inode ||
			    it->device != mod->device)
				continue;
			if (it->offset == 0 && it->start <= mod->start)
				start = it->start;
			if (start && (it->start <= mod->start ||
				      it->start == end))
				end = it->end;
		}
	}
	modules_fini(&all);
	free(text);
	return start && is_elf(m, start) ?
		mapper_memory(m, start, end, mod->path) : NULL;
}

static struct file *
known_file(const struct mapper *m, const struct module *mod)
{
	for (size_t i = 0; i < m->files.len; i++) {
		struct file *f = m->files.items[i];

		if (f->inode == mod->inode && f->device == mod->device)
			return f;
	}
	return NULL;
}

/*
 * Memory that programs share or map as large pages has a name and an inode,
 * too; it is a load object when it holds one.
 */
static bool
may_be_file(const struct module *mod)
{
	return mod->inode && mod->path[0] == '/' &&
		!str_starts(mod->path, "//");
}

static bool
is_named_file(const struct module *mod)
{
	return !str_starts(mod->path, "/memfd:");
}

static struct file *
open_file(struct mapper *m, const struct module *mod)
{
	struct file *f = xcalloc(1, sizeof *f);
	const int fd = target_open_mapped(m->target, mod->start, mod->end,
					  mod->path, mod->device, mod->inode);

	f->device = mod->device;
	f->inode = mod->inode;
	f->path = xstrdup(mod->path);
	if (fd >= 0) {
		read_build_id(fd, f->build_id);
		f->object = unwind_object_open(fd, mod->path);
	}
	if (!f->object)
		f->object = mapper_neighbours(m, mod);
	vec_push(&m->files, f);
	return f;
}

struct file *
mapper_file(struct mapper *m, const struct module *mod)
{
	if (!may_be_file(mod))
		return NULL;

	struct file *f = known_file(m, mod);

	if (!f)
		f = open_file(m, mod);
	return f->object || is_named_file(mod) ? f : NULL;
}

bool
mapper_has_object(struct mapper *m, const struct module *mod)
{
	const struct file *f = mapper_file(m, mod);

	return f && f->object;
}

void
mapper_files_fini(struct mapper *m)
{
	for (size_t i = 0; i < m->files.len; i++) {
		struct file *f = m->files.items[i];

		unwind_object_free(f->object);
		free(f->path);
		free(f);
	}
	vec_fini(&m->files);
}
