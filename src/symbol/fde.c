/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where functions begin and end, by .eh_frame: the one table that survives
 * stripping. libdw splits the section into entries; only the two encoded
 * words at the start of each are decoded here.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct cfi {
	const unsigned char *ident;
	Elf_Data *data;
	uint64_t vaddr;			/* of the section */
	Dwarf_Off cie_at;		/* the CIE seen last */
	int encoding;			/* its pointers; -1: not understood */
};

static size_t
encoded_size(int encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return 8;
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	default:			/* LEB128: no compiler emits it here */
		return 0;
	}
}

/* The value of an encoded word without its base; sign extended if signed. */
static uint64_t
encoded_value(const uint8_t *p, int encoding)
{
	const size_t n = encoded_size(encoding);
	uint64_t value = 0;

	for (size_t i = n; i-- > 0; )
		value = value << 8 | p[i];
	if ((encoding & DW_EH_PE_signed) && n < 8 && p[n - 1] & 0x80)
		value |= ~UINT64_C(0) << 8 * n;
	return value;
}

/* The encoding of the addresses in the entries of a CIE, -1: unknown. */
static int
pointer_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *p = cie->augmentation_data;
	const uint8_t *end = p ? p + cie->augmentation_data_size : NULL;

	if (cie->augmentation[0] == '\0')
		return DW_EH_PE_absptr;
	if (cie->augmentation[0] != 'z')
		return -1;
	for (const char *a = cie->augmentation + 1; *a; a++) {
		if (strchr("SBG", *a))
			continue;
		if (p >= end)
			return -1;
		if (*a == 'R')
			return *p;
		if (*a == 'L') {
			p++;
			continue;
		}
		if (*a != 'P' || encoded_size(*p) == 0)
			return -1;
		if ((size_t)(end - p) < 1 + encoded_size(*p))
			return -1;
		p += 1 + encoded_size(*p);
	}
	return DW_EH_PE_absptr;
}

static int
encoding_of(struct cfi *cfi, Dwarf_Off cie_at)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (cie_at == cfi->cie_at)
		return cfi->encoding;
	cfi->cie_at = cie_at;
	cfi->encoding = -1;
	if (dwarf_next_cfi(cfi->ident, cfi->data, true, cie_at, &next,
			   &entry) == 0 && dwarf_cfi_cie_p(&entry))
		cfi->encoding = pointer_encoding(&entry.cie);
	return cfi->encoding;
}

static bool
fde_range(struct cfi *cfi, const Dwarf_FDE *fde, struct range *out)
{
	const int encoding = encoding_of(cfi, fde->CIE_pointer);

	if (encoding < 0)
		return false;

	const size_t n = encoded_size(encoding);
	const int base = encoding & 0x70;

	if (n == 0 || (size_t)(fde->end - fde->start) < 2 * n ||
	    (encoding & DW_EH_PE_indirect) ||
	    (base != 0 && base != DW_EH_PE_pcrel))
		return false;
	out->start = encoded_value(fde->start, encoding);
	if (base == DW_EH_PE_pcrel)
		out->start += cfi->vaddr + (uint64_t)
			(fde->start - (const uint8_t *)cfi->data->d_buf);
	out->end = out->start + encoded_value(fde->start + n,
					      encoding & 0x07);
	return out->end > out->start;
}

static int
by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool
cfi_open(struct cfi *cfi, const struct symfile *sf)
{
	Elf *elf = sf->main.elf;
	Elf_Scn *scn;
	GElf_Shdr shdr;

	cfi->cie_at = (Dwarf_Off)-1;
	cfi->ident = (const unsigned char *)elf_getident(elf, NULL);
	if (!cfi->ident || cfi->ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (!image_section(elf, ".eh_frame", &scn, &shdr)) {
		cfi->data = dynamic_eh_frame(sf, &cfi->vaddr);
		return cfi->data != NULL;
	}
	if (shdr.sh_type == SHT_NOBITS)
		return false;
	cfi->data = elf_rawdata(scn, NULL);
	cfi->vaddr = shdr.sh_addr;
	return cfi->data && cfi->data->d_buf;
}

/* Within one executable section, or it is not about code of this object. */
static bool
clip(const struct symfile *sf, struct range *at)
{
	const struct section *sec = symfile_section(sf, at->start);

	if (sec && at->end > sec->at.end)
		at->end = sec->at.end;
	return sec != NULL;
}

struct range *
fde_list(const struct symfile *sf, size_t *len)
{
	struct range *list = NULL, at;
	struct cfi cfi = {0};
	Dwarf_CFI_Entry entry;
	Dwarf_Off off = 0, next = 0;
	size_t cap = 0;
	int got;

	*len = 0;
	if (!cfi_open(&cfi, sf))
		return NULL;
	while ((got = dwarf_next_cfi(cfi.ident, cfi.data, true, off, &next,
				     &entry)) != 1) {
		/* an entry it cannot read may still be stepped over */
		if (next <= off)
			break;
		off = next;
		if (got < 0 || dwarf_cfi_cie_p(&entry) ||
		    !fde_range(&cfi, &entry.fde, &at) ||
		    !clip(sf, &at))
			continue;
		list = xgrow(list, &cap, *len + 1, sizeof *list);
		list[(*len)++] = at;
	}
	if (*len > 0)
		qsort(list, *len, sizeof *list, by_start);
	return list;
}
