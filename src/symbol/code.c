/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of code that a load object holds, and for which machine.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned
symfile_machine(struct symfile *sf)
{
	GElf_Ehdr ehdr;

	return sf->main.elf && gelf_getehdr(sf->main.elf, &ehdr) ?
		ehdr.e_machine : EM_NONE;
}

static bool
read_at(const struct image *im, const char *path, uint64_t offset, void *out,
	size_t n)
{
	if (im->copy) {
		size_t size;
		const char *image = elf_rawfile(im->elf, &size);

		if (!image || offset > size || n > size - offset)
			return false;
		memcpy(out, image + offset, n);
		return true;
	}
	if (im->fd >= 0)
		return pread(im->fd, out, n, (off_t)offset) == (ssize_t)n;

	/* its descriptor was given back */
	struct image again;
	const bool done = !image_open(&again, path) &&
		pread(again.fd, out, n, (off_t)offset) == (ssize_t)n;

	image_close(&again);
	return done;
}

/* Code is asked for by the instruction, and the file may be closed: what is not
 * too large is read once. False: it is, or it cannot be read. */
static bool
is_kept(struct symfile *sf, struct segment *seg)
{
	enum { KEEP_MAX = 16 << 20 };

	if (seg->code || seg->size > KEEP_MAX || seg->code_refused)
		return seg->code;
	seg->code = xmalloc(seg->size + 1);
	if (read_at(&sf->main, sf->path, seg->offset, seg->code, seg->size))
		return true;
	free(seg->code);
	seg->code = NULL;
	seg->code_refused = true;
	return false;
}

bool
symfile_code(struct symfile *sf, uint64_t vaddr, void *out, size_t n)
{
	if (!sf->main.elf)
		return false;
	for (size_t i = 0; i < sf->segment_len; i++) {
		struct segment *seg = &sf->segments[i];
		const uint64_t at = vaddr - seg->vaddr;

		if (!seg->executable || vaddr < seg->vaddr ||
		    at >= seg->size || n > seg->size - at)
			continue;
		if (!is_kept(sf, seg))
			return read_at(&sf->main, sf->path, seg->offset + at,
				       out, n);
		memcpy(out, seg->code + at, n);
		return true;
	}
	return false;
}
