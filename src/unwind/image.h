/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one ELF file, or of one that exists in memory only. Nothing is
 * mapped: a file truncated under a mapping would kill us, so what is needed
 * is read into memory of ours, and every read may come back short.
 */
#ifndef SONDE_UNWIND_IMAGE_H
#define SONDE_UNWIND_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment {
	uint64_t vaddr, offset, filesz, memsz;
	bool exec;
};

/* A copy of a section; owned; SECTION_SLACK zero bytes follow it. */
struct section {
	unsigned char *data;
	size_t size;
	uint64_t vaddr;
};

enum { SECTION_SLACK = 64 };

/* A piece of text that linkers emit without unwind data. */
enum plt_kind { PLT_LAZY, PLT_DIRECT };

struct plt {
	uint64_t vaddr, size;
	enum plt_kind kind;
};

enum { PLT_MAX = 4 };

struct image_sections {
	struct section eh_frame, debug_frame;
	struct plt plt[PLT_MAX];
	size_t plt_count;
};

struct image {
	int fd;			/* -1: in memory only */
	unsigned char *memory;
	size_t size;		/* of memory */
	uint64_t loaded;	/* where memory was copied from */
	Elf64_Ehdr header;
	struct segment *segments;
	size_t segment_count;
	uint64_t base;		/* lowest address of a segment, page-rounded */
	uint64_t unwind_hdr;	/* PT_GNU_EH_FRAME, 0: none */
	bool needs_others;	/* has DT_NEEDED */
};

/* No address of ours is beyond: sums of two cannot wrap. */
#define ADDRESS_MAX ((uint64_t)1 << 62)

/* Copy from a file, going on after signals and short reads; how many bytes
 * there were. */
size_t elf_read_file(int fd, uint64_t offset, void *buf, size_t n);

/* Both take what they are given, also on failure. */
int elf_image_open(struct image *img, int fd);
int elf_image_memory(struct image *img, void *memory, size_t size,
		 uint64_t loaded);
void elf_image_fini(struct image *img);

/* Copy up to n bytes from an ELF virtual address; how many there were. */
size_t elf_image_read(const struct image *img, uint64_t vaddr, void *buf,
		  size_t n);
const struct segment *elf_image_segment(const struct image *img, uint64_t vaddr);
/* Copy what unwinding needs; missing sections stay empty. */
void elf_image_sections(const struct image *img, struct image_sections *out);
void elf_image_sections_fini(struct image_sections *sections);
/* The difference between addresses and ELF addresses where file offset
 * `offset` is mapped at start. */
uint64_t elf_image_bias(const struct image *img, uint64_t start, uint64_t offset);

#endif
