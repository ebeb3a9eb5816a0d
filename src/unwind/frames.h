/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frame descriptions (FDEs) of one object, sorted and disjoint, each with
 * the bounds of its instructions; and the rows they compile to.
 */
#ifndef SONDE_UNWIND_FRAMES_H
#define SONDE_UNWIND_FRAMES_H

#include "image.h"
#include "step.h"

struct frame_cie {
	const uint8_t *insn, *insn_end;
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra;		/* column of the return address */
	uint32_t fde_skip;	/* augmentation bytes when not `sized` */
	uint8_t encoding;	/* of addresses in its FDEs */
	bool sized;		/* FDEs give the size of their augmentation */
	bool signal;
};

/* Covers ELF addresses [start, end). Where insn is NULL we made it up, for
 * text known to have no data: one row of this kind and cfa. */
struct frame_fde {
	uint64_t start, end;
	const uint8_t *insn, *insn_end;
	uint32_t cie;
	uint16_t fixed_cfa;
	uint8_t fixed_kind;
};

struct frames {
	struct image_sections sections;
	struct frame_cie *cies;
	size_t cie_count, cie_cap;
	struct frame_fde *fdes;
	size_t count, cap;
};

void elf_frames_load(struct frames *frames, const struct image *img);
void elf_frames_fini(struct frames *frames);
/* The description that covers an ELF address, or NULL. */
const struct frame_fde *elf_frames_find(const struct frames *frames,
				    uint64_t vaddr);

/* frames.c for known.c: is this executable? Append one; make those from
 * `old` on disjoint, and all before them win. */
bool frames_in_text(const struct image *img, uint64_t start, uint64_t end);
void frames_add(struct frames *frames, const struct frame_fde *fde);
void frames_merge(struct frames *frames, size_t old);
/* known.c for the machine's part of it: text of which all is known. */
void frames_add_fixed(struct frames *f, const struct image *img, uint64_t start,
		      uint64_t end, unsigned kind, unsigned cfa);
void known_plt(struct frames *f, const struct image *img,
	       const struct plt *plt);
void known_text(struct frames *f, const struct image *img, uint64_t vaddr,
		const uint8_t *text, size_t n);
/* What linkers and libcs left without data. */
void frames_add_known(struct frames *frames, const struct image *img);

struct rows {
	struct step_row *row;
	size_t len, cap;
};

/* Append the rows of all descriptions, with STEP_NONE rows in the gaps; pc
 * counts from base. */
void compile_all(const struct frames *frames, uint64_t base,
		 struct rows *rows);

/* Bounded reading of DWARF bytes: `bad` is set, and stays, at the first read
 * beyond the end; then all reads give 0. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

uint64_t reader_fixed(struct reader *r, unsigned size);	/* 1, 2, 4, 8 bytes */
uint64_t reader_long_uleb(struct reader *r);
int64_t reader_sleb(struct reader *r);
/* Skip n bytes; gives where they began. */
const uint8_t *reader_skip(struct reader *r, uint64_t n);
/* A pointer in a DW_EH_PE_* encoding; vaddr is the ELF address of r->at. */
uint64_t reader_pointer(struct reader *r, uint8_t encoding, uint64_t vaddr);

/* Most of CFI is single bytes, and numbers of one. */
static inline uint8_t
reader_byte(struct reader *r)
{
	if (__builtin_expect(!r->bad && r->at < r->end, 1))
		return *r->at++;
	r->bad = true;
	return 0;
}

static inline uint64_t
reader_uleb(struct reader *r)
{
	if (__builtin_expect(!r->bad && r->at < r->end && *r->at < 0x80, 1))
		return *r->at++;
	return reader_long_uleb(r);
}

#endif
