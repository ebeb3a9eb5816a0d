/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening ELF images and copying pieces of them, files and memory alike.
 * Headers are checked once, here; an image that passes has at least one
 * loadable segment, and no arithmetic on its segments can wrap.
 */
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch.h"
#include "base.h"

enum {
	PAGE = 4096,		/* the least alignment of a mapping */
	SEGMENTS_MAX = 512,
	DYNAMIC_MAX = 4096,	/* entries */
};


/* pread that goes on after signals and short reads. */
size_t
elf_read_file(int fd, uint64_t offset, void *buf, size_t n)
{
	size_t done = 0;

	if (offset > ADDRESS_MAX)
		return 0;
	while (done < n) {
		const ssize_t got = pread(fd, (char *)buf + done, n - done,
					  (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static size_t
copy_memory(const struct image *img, uint64_t at, void *buf, size_t n)
{
	if (at >= img->size)
		return 0;
	if (n > img->size - at)
		n = img->size - at;
	memcpy(buf, img->memory + at, n);
	return n;
}

/* Headers stand at the same place in the file and in memory. */
static size_t
read_header(const struct image *img, uint64_t offset, void *buf, size_t n)
{
	return img->fd < 0 ? copy_memory(img, offset, buf, n) :
			     elf_read_file(img->fd, offset, buf, n);
}

static int
check_header(const Elf64_Ehdr *eh)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return fail(FAIL_UNSUITABLE, "not an ELF file");
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh->e_machine != arch.elf_machine)
		return fail(FAIL_UNSUITABLE, "not an ELF file for %s",
			    arch.name);
	if (eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum == 0 ||
	    eh->e_phnum > SEGMENTS_MAX)
		return fail(FAIL_UNSUITABLE, "ELF program headers are damaged");
	return 0;
}

static void
add_segment(struct image *img, const Elf64_Phdr *ph)
{
	if (ph->p_vaddr > ADDRESS_MAX || ph->p_offset > ADDRESS_MAX ||
	    ph->p_filesz > ADDRESS_MAX || ph->p_memsz > ADDRESS_MAX)
		return;
	img->segments[img->segment_count++] = (struct segment){
		.vaddr = ph->p_vaddr,
		.offset = ph->p_offset,
		.filesz = ph->p_filesz,
		.memsz = ph->p_memsz,
		.exec = ph->p_flags & PF_X,
	};
	if ((ph->p_vaddr & -(uint64_t)PAGE) < img->base)
		img->base = ph->p_vaddr & -(uint64_t)PAGE;
}

static void
read_dynamic(struct image *img, const Elf64_Phdr *ph)
{
	Elf64_Dyn dyn;

	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		if (elf_image_read(img, ph->p_vaddr + i * sizeof dyn, &dyn,
			       sizeof dyn) != sizeof dyn ||
		    dyn.d_tag == DT_NULL)
			return;
		if (dyn.d_tag == DT_NEEDED) {
			img->needs_others = true;
			return;
		}
	}
}

static int
read_segments(struct image *img)
{
	const size_t size = img->header.e_phnum * sizeof(Elf64_Phdr);
	Elf64_Phdr *ph = xmalloc(size);
	const size_t got = read_header(img, img->header.e_phoff, ph, size);
	const size_t n = got / sizeof *ph;

	img->base = UINT64_MAX;
	img->segments = xcalloc(n + 1, sizeof *img->segments);
	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type == PT_LOAD)
			add_segment(img, &ph[i]);
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			img->unwind_hdr = ph[i].p_vaddr;
	}
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_DYNAMIC && img->segment_count)
			read_dynamic(img, &ph[i]);
	free(ph);
	if (!img->segment_count)
		return fail(FAIL_UNSUITABLE, "ELF file without segments");
	return 0;
}

static int
read_headers(struct image *img)
{
	if (read_header(img, 0, &img->header, sizeof img->header) !=
	    sizeof img->header)
		return fail(FAIL_UNSUITABLE, "not an ELF file");
	if (check_header(&img->header) < 0)
		return -1;
	return read_segments(img);
}

int
elf_image_open(struct image *img, int fd)
{
	*img = (struct image){ .fd = fd };
	if (fd < 0)
		return fail(FAIL_MISSING, "no file");
	/* a section that is a hole costs its owner nothing */
	if (file_is_hollow(fd))
		return fail(FAIL_UNSUITABLE, "the file is mostly holes");
	return read_headers(img);
}

int
elf_image_memory(struct image *img, void *memory, size_t size, uint64_t loaded)
{
	*img = (struct image){
		.fd = -1, .memory = memory, .size = size, .loaded = loaded,
	};
	return read_headers(img);
}

void
elf_image_fini(struct image *img)
{
	if (img->fd >= 0)
		(void)close(img->fd);	/* only read from */
	free(img->memory);
	free(img->segments);
	*img = (struct image){ .fd = -1 };
}

const struct segment *
elf_image_segment(const struct image *img, uint64_t vaddr)
{
	for (size_t i = 0; i < img->segment_count; i++)
		if (vaddr - img->segments[i].vaddr < img->segments[i].memsz)
			return &img->segments[i];
	return NULL;
}

size_t
elf_image_read(const struct image *img, uint64_t vaddr, void *buf, size_t n)
{
	const struct segment *seg = elf_image_segment(img, vaddr);

	if (!seg)
		return 0;
	if (img->fd < 0)
		return copy_memory(img, vaddr - img->base, buf, n);

	const uint64_t at = vaddr - seg->vaddr;

	if (at >= seg->filesz)
		return 0;
	if (n > seg->filesz - at)
		n = seg->filesz - at;
	return elf_read_file(img->fd, seg->offset + at, buf, n);
}

/* Does the page-rounded file extent of seg hold offset? */
static bool
maps_offset(const struct segment *seg, uint64_t offset)
{
	const uint64_t first = seg->offset & -(uint64_t)PAGE;

	return offset >= first && offset < seg->offset + seg->filesz;
}

uint64_t
elf_image_bias(const struct image *img, uint64_t start, uint64_t offset)
{
	const struct segment *found = NULL;

	if (img->fd < 0)
		return img->loaded - img->base;
	/* neighbours share a page of the file: the executable one is meant */
	for (size_t i = 0; i < img->segment_count; i++) {
		const struct segment *seg = &img->segments[i];

		if (maps_offset(seg, offset) && (!found || seg->exec))
			found = seg;
	}
	if (!found)
		return start - offset - img->base;
	return start - offset - (found->vaddr - found->offset);
}
