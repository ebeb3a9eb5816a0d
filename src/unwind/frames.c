/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From sections to a sorted list of frame descriptions. libdw splits the
 * sections into entries; addresses and bounds are decoded and checked here.
 *
 * Sources in order of trust: .eh_frame; .debug_frame where that lacks
 * something; our own knowledge of linkers' and libcs' text without data. A
 * later source never overrules an earlier one, and the result is disjoint.
 */
#include "frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

/* One section being split. */
struct split {
	struct frames *frames;
	const struct image *img;
	const struct section *section;
	bool eh;
	Elf_Data data;
	struct map cies;	/* offset -> index, or CIE_UNUSABLE */
};

#define CIE_UNUSABLE UINT64_MAX

/* Instructions of a CIE are run again for each FDE: bound their length, or a
 * small file could keep us busy for hours. Real ones have about ten bytes. */
enum { CIE_CODE_MAX = 256 };

static bool
read_augmentation(const Dwarf_CIE *raw, struct frame_cie *cie)
{
	const char *letter = raw->augmentation;
	struct reader r = {
		.at = raw->augmentation_data,
		.end = raw->augmentation_data,
	};

	if (raw->augmentation_data)
		r.end += raw->augmentation_data_size;
	cie->sized = *letter == 'z';
	for (letter += cie->sized; *letter; letter++) {
		if (*letter == 'R')
			cie->encoding = reader_byte(&r);
		else if (*letter == 'L')
			(void)reader_byte(&r);
		else if (*letter == 'P')
			/* the personality: its value is of no use, and may
			 * be indirect */
			(void)reader_pointer(&r, reader_byte(&r) & 0xf, 0);
		else if (*letter == 'S')
			cie->signal = true;
		else if (*letter == 'B')
			continue;	/* AArch64: signed by the other key */
		else
			return cie->sized;	/* the rest is sized away */
	}
	return !r.bad;
}

static uint64_t
add_cie(struct split *s, const Dwarf_CIE *raw)
{
	struct frames *f = s->frames;
	struct frame_cie cie = {
		.insn = raw->initial_instructions,
		.insn_end = raw->initial_instructions_end,
		.code_align = raw->code_alignment_factor,
		.data_align = raw->data_alignment_factor,
		.ra = (uint32_t)raw->return_address_register,
		.fde_skip = (uint32_t)raw->fde_augmentation_data_size,
		.encoding = DW_EH_PE_absptr,
	};

	if (!read_augmentation(raw, &cie) || cie.insn > cie.insn_end ||
	    cie.insn_end - cie.insn > CIE_CODE_MAX)
		return CIE_UNUSABLE;
	f->cies = xgrow(f->cies, &f->cie_cap, f->cie_count + 1,
			sizeof *f->cies);
	f->cies[f->cie_count] = cie;
	return f->cie_count++;
}

static uint64_t
find_cie(struct split *s, Dwarf_Off offset)
{
	uint64_t index;
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (map_get(&s->cies, offset, &index))
		return index;
	index = CIE_UNUSABLE;
	if (offset < s->section->size &&
	    dwarf_next_cfi(s->img->header.e_ident, &s->data, s->eh, offset,
			   &next, &entry) == 0 &&
	    dwarf_cfi_cie_p(&entry))
		index = add_cie(s, &entry.cie);
	map_put(&s->cies, offset, index);
	return index;
}

bool
frames_in_text(const struct image *img, uint64_t start, uint64_t end)
{
	const struct segment *seg = elf_image_segment(img, start);

	return seg && seg->exec && start < end &&
	       end - seg->vaddr <= seg->memsz && start - img->base < UINT32_MAX;
}

void
frames_add(struct frames *f, const struct frame_fde *fde)
{
	if (f->count == f->cap)
		f->fdes = xgrow(f->fdes, &f->cap, f->count + 1,
				sizeof *f->fdes);
	f->fdes[f->count++] = *fde;
}

static void
split_fde(struct split *s, const Dwarf_FDE *raw)
{
	const uint64_t index = find_cie(s, raw->CIE_pointer);
	struct reader r = { .at = raw->start, .end = raw->end };

	if (index == CIE_UNUSABLE || raw->start > raw->end)
		return;

	const struct frame_cie *cie = &s->frames->cies[index];
	const uint64_t vaddr = s->section->vaddr +
			       (uint64_t)(raw->start - s->section->data);
	struct frame_fde fde = { .cie = (uint32_t)index };

	fde.start = reader_pointer(&r, cie->encoding, vaddr);
	fde.end = fde.start + reader_pointer(&r, cie->encoding & 0xf, 0);
	(void)reader_skip(&r, cie->sized ? reader_uleb(&r) : cie->fde_skip);
	fde.insn = r.at;
	fde.insn_end = r.end;
	/* a function the linker dropped leaves address 0 behind */
	if (!r.bad && fde.start && frames_in_text(s->img, fde.start, fde.end))
		frames_add(s->frames, &fde);
}

static void
split_section(struct split *s)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;

	s->data = (Elf_Data){
		.d_buf = s->section->data,
		.d_size = s->section->size,
		.d_type = ELF_T_BYTE,
		.d_version = EV_CURRENT,
	};
	while (offset < s->section->size) {
		next = offset;

		const int result = dwarf_next_cfi(s->img->header.e_ident,
						  &s->data, s->eh, offset,
						  &next, &entry);

		if (result == 0 && !dwarf_cfi_cie_p(&entry))
			split_fde(s, &entry.fde);
		/* some errors can be skipped; the end, or no progress, not */
		if (result > 0 || next <= offset)
			break;
		offset = next;
	}
	map_fini(&s->cies);
}

static int
by_start(const void *a, const void *b)
{
	const struct frame_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* of two at one address the longer says more */
	return x->end > y->end ? -1 : x->end < y->end;
}

/* Linkers sort, as a rule. */
static void
sort(struct frame_fde *fdes, size_t n)
{
	size_t i = 1;

	while (i < n && by_start(&fdes[i - 1], &fdes[i]) <= 0)
		i++;
	if (i < n)
		qsort(fdes, n, sizeof *fdes, by_start);
}

/* Sort [from, count) and cut overlaps, so that it is disjoint. */
static void
make_disjoint(struct frames *f, size_t from)
{
	size_t out = from;

	if (f->count - from < 2)
		return;
	sort(f->fdes + from, f->count - from);
	for (size_t i = from; i < f->count; i++) {
		if (out > from && f->fdes[i].start < f->fdes[out - 1].end)
			continue;
		f->fdes[out++] = f->fdes[i];
	}
	f->count = out;
}

/*
 * The disjoint list [old, count) yields to the disjoint list [0, old): what
 * intersects is dropped, then both become one.
 */
static void
merge_new(struct frames *f, size_t old)
{
	size_t out = old, at = 0;

	for (size_t i = old; i < f->count; i++) {
		while (at < old && f->fdes[at].end <= f->fdes[i].start)
			at++;
		if (at < old && f->fdes[at].start < f->fdes[i].end)
			continue;
		f->fdes[out++] = f->fdes[i];
	}
	f->count = out;
	if (out > old && old)
		sort(f->fdes, out);
}

void
frames_merge(struct frames *f, size_t old)
{
	make_disjoint(f, old);
	merge_new(f, old);
}

static void
add_section(struct frames *f, const struct image *img,
	    const struct section *section, bool eh)
{
	struct split s = {
		.frames = f, .img = img, .section = section, .eh = eh,
	};
	const size_t old = f->count;

	if (!section->data)
		return;
	split_section(&s);
	frames_merge(f, old);
}

void
elf_frames_load(struct frames *f, const struct image *img)
{
	*f = (struct frames){ 0 };
	elf_image_sections(img, &f->sections);
	add_section(f, img, &f->sections.eh_frame, true);
	add_section(f, img, &f->sections.debug_frame, false);
	frames_add_known(f, img);
}

void
elf_frames_fini(struct frames *f)
{
	elf_image_sections_fini(&f->sections);
	free(f->cies);
	free(f->fdes);
	*f = (struct frames){ 0 };
}

const struct frame_fde *
elf_frames_find(const struct frames *f, uint64_t vaddr)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (vaddr < f->fdes[mid].start)
			high = mid;
		else if (vaddr >= f->fdes[mid].end)
			low = mid + 1;
		else
			return &f->fdes[mid];
	}
	return NULL;
}
