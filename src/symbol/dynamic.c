/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an object without section headers still has, since its loader needs it:
 * dynamic symbols by PT_DYNAMIC, and .eh_frame by PT_GNU_EH_FRAME. The file is
 * a stranger's: libelf checks the bounds of each piece, the counts are bounded
 * here.
 */
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS_MAX = 1 << 22 };

struct dynamic {
	uint64_t symbols, strings, strings_size, hash, gnu_hash;
};

static bool
find_header(const struct symfile *sf, GElf_Word type, GElf_Phdr *ph)
{
	size_t n;

	if (elf_getphdrnum(sf->main.elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(sf->main.elf, (int)i, ph) &&
		    ph->p_type == type)
			return true;
	return false;
}

/* Bytes of the file from a virtual address to the end of its segment. */
static bool
place_of(const struct symfile *sf, uint64_t vaddr, uint64_t *offset,
	 uint64_t *room)
{
	for (size_t i = 0; i < sf->segment_len; i++) {
		const struct segment *seg = &sf->segments[i];
		const uint64_t at = vaddr - seg->vaddr;

		if (at >= seg->size)
			continue;
		*offset = seg->offset + at;
		*room = seg->size - at;
		return true;
	}
	return false;
}

/* NULL: the file does not have so much there. */
static Elf_Data *
piece_at(const struct symfile *sf, uint64_t vaddr, uint64_t size,
	 Elf_Type type)
{
	uint64_t offset, room;

	if (!size || !place_of(sf, vaddr, &offset, &room) || size > room)
		return NULL;

	Elf_Data *data = elf_getdata_rawchunk(sf->main.elf, (int64_t)offset,
					      size, type);

	return data && data->d_buf && data->d_size >= size ? data : NULL;
}

static void
note_tag(struct dynamic *d, const GElf_Dyn *dyn)
{
	switch (dyn->d_tag) {
	case DT_SYMTAB:
		d->symbols = dyn->d_un.d_ptr;
		break;
	case DT_STRTAB:
		d->strings = dyn->d_un.d_ptr;
		break;
	case DT_STRSZ:
		d->strings_size = dyn->d_un.d_val;
		break;
	case DT_HASH:
		d->hash = dyn->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		d->gnu_hash = dyn->d_un.d_ptr;
		break;
	default:
		break;
	}
}

static bool
read_dynamic(const struct symfile *sf, struct dynamic *d)
{
	GElf_Phdr ph;
	GElf_Dyn dyn;
	Elf_Data *data = find_header(sf, PT_DYNAMIC, &ph) ?
		piece_at(sf, ph.p_vaddr, ph.p_filesz, ELF_T_DYN) : NULL;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) &&
	     dyn.d_tag != DT_NULL; i++)
		note_tag(d, &dyn);
	return d->symbols && d->strings && d->strings_size;
}

static bool
word_at(const struct symfile *sf, uint64_t vaddr, uint64_t i, uint32_t *word)
{
	const Elf_Data *data = piece_at(sf, vaddr + 4 * i, 4, ELF_T_WORD);

	if (data)
		memcpy(word, data->d_buf, sizeof *word);
	return data != NULL;
}

/* The words from an address on, as many as the file may have. */
static const uint32_t *
words_at(const struct symfile *sf, uint64_t vaddr, uint64_t *n)
{
	uint64_t offset, room;

	if (!place_of(sf, vaddr, &offset, &room))
		return NULL;

	const Elf_Data *data = piece_at(sf, vaddr, room / 4 * 4, ELF_T_WORD);

	*n = room / 4;
	return data ? data->d_buf : NULL;
}

/* The GNU table does not say how many: the end of the last chain does. */
static uint64_t
gnu_count(const struct symfile *sf, uint64_t table)
{
	enum { BUCKETS, FIRST, BLOOM, HEAD = 4 };
	uint64_t n, last = 0, buckets, chains;
	const uint32_t *w = words_at(sf, table, &n);

	if (!w || n < HEAD)
		return 0;
	buckets = HEAD + UINT64_C(2) * w[BLOOM];
	chains = buckets + w[BUCKETS];
	if (chains > n)
		return 0;
	for (uint64_t i = buckets; i < chains; i++)
		last = w[i] > last ? w[i] : last;
	if (last < w[FIRST])
		return w[FIRST];	/* all are undefined */
	for (; last - w[FIRST] < n - chains; last++)
		if (w[chains + last - w[FIRST]] & 1)
			return last + 1;
	return 0;
}

static uint64_t
count_symbols(const struct symfile *sf, const struct dynamic *d)
{
	uint32_t chains;

	if (d->hash && word_at(sf, d->hash, 1, &chains))
		return chains;
	return d->gnu_hash ? gnu_count(sf, d->gnu_hash) : 0;
}

/* The names, ended by a zero; they live with the symfile. */
static const char *
keep_strings(struct symfile *sf, const struct dynamic *d)
{
	const Elf_Data *data = piece_at(sf, d->strings, d->strings_size,
					ELF_T_BYTE);
	char *copy;

	if (!data)
		return NULL;
	copy = xmalloc(d->strings_size + 1);
	memcpy(copy, data->d_buf, d->strings_size);
	copy[d->strings_size] = '\0';
	vec_push(&sf->functions.made, copy);
	return copy;
}

void
dynamic_each(struct symfile *sf, void (*visit)(void *arg, const GElf_Sym *sym,
					       const char *name), void *arg)
{
	struct dynamic d = {0};
	const uint64_t n = read_dynamic(sf, &d) ? count_symbols(sf, &d) : 0;
	Elf_Data *data = n && n <= SYMBOLS_MAX ?
		piece_at(sf, d.symbols, n * sizeof(Elf64_Sym), ELF_T_SYM) :
		NULL;
	const char *strings = data ? keep_strings(sf, &d) : NULL;

	for (uint64_t i = 1; strings && i < n; i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym) &&
		    sym.st_name < d.strings_size)
			visit(arg, &sym, strings + sym.st_name);
	}
}

/* .eh_frame ends by itself, at the latest with its segment. */
Elf_Data *
dynamic_eh_frame(const struct symfile *sf, uint64_t *vaddr)
{
	enum { PTR_ENC = 1, PTR = 4, HEAD = 8 };
	const unsigned char *head;
	uint64_t offset, room;
	GElf_Phdr ph;
	Elf_Data *data;
	int32_t rel;

	if (!find_header(sf, PT_GNU_EH_FRAME, &ph))
		return NULL;
	data = piece_at(sf, ph.p_vaddr, HEAD, ELF_T_BYTE);
	head = data ? data->d_buf : NULL;
	if (!head || head[0] != 1 ||
	    head[PTR_ENC] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return NULL;
	memcpy(&rel, head + PTR, sizeof rel);
	*vaddr = ph.p_vaddr + PTR + (uint64_t)(int64_t)rel;
	if (!place_of(sf, *vaddr, &offset, &room))
		return NULL;
	return piece_at(sf, *vaddr, room, ELF_T_BYTE);
}
