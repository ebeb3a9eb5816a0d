/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Find functions in a running process without its files: they may be deleted,
 * replaced or in another mount namespace. All is read from target memory,
 * which may change under us, so every count and offset is bounded before use
 * and a wrong table means "not found", never a crash of ours.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

enum {
	PHDRS_MAX = 64,
	DYNAMIC_MAX = 512,
	BUCKETS_MAX = 1 << 22,
	CHAIN_MAX = 1 << 16,
	VERDEFS_MAX = 256,
	TEXT_MAX = 16 << 20,
	SYMBOL_NAME_MAX = 64,
};

uint64_t
mapping_header(const struct modules *mods, uint64_t inside)
{
	const struct module *m = modules_find(mods, inside);
	size_t i;

	if (!m)
		return 0;
	if (m->inode == 0)
		return m->start;
	for (i = (size_t)(m - mods->items);; i--) {
		const struct module *q = &mods->items[i];

		if (q->inode == m->inode && q->device == m->device &&
		    q->offset == 0)
			return q->start;
		if (i == 0)
			return 0;
	}
}

static void
note_dynamic(struct image *img, const Elf64_Dyn *d)
{
	uint64_t value = d->d_un.d_val;
	/* glibc relocates these in place, but not ld.so's and the vdso's. */
	uint64_t addr = value < img->bias ? value + img->bias : value;

	switch (d->d_tag) {
	case DT_SYMTAB: img->symtab = addr; break;
	case DT_STRTAB: img->strtab = addr; break;
	case DT_STRSZ: img->strsz = value; break;
	case DT_GNU_HASH: img->gnu_hash = addr; break;
	case DT_HASH: img->hash = addr; break;
	case DT_VERDEF: img->verdef = addr; break;
	case DT_VERNEED: img->verneed = addr; break;
	case DT_VERSYM: img->versym = addr; break;
	case DT_DEBUG: img->debug = value; break;
	}
}

static int
read_dynamic(struct look *k, struct image *img)
{
	uint64_t at = img->dynamic;
	int i;

	for (i = 0; i < DYNAMIC_MAX; i++, at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		if (look_read(k, at, &d, sizeof d) < 0)
			return -1;
		if (d.d_tag == DT_NULL)
			return 0;
		note_dynamic(img, &d);
	}
	return fail(FAIL_UNSUITABLE, "a dynamic section at 0x%llx has no end",
		    (unsigned long long)img->dynamic);
}

static void
note_segment(struct image *img, const Elf64_Phdr *ph)
{
	uint64_t start = img->bias + ph->p_vaddr;

	if (ph->p_type == PT_INTERP)
		img->has_interp = true;
	if (ph->p_type == PT_DYNAMIC)
		img->dynamic = start;
	if (ph->p_type == PT_TLS) {
		img->tls_image = start;
		img->tls_filesz = ph->p_filesz;
		img->tls_memsz = ph->p_memsz;
		img->tls_align = ph->p_align;
	}
	if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
		if (!img->text || start < img->text)
			img->text = start;
		if (start + ph->p_memsz > img->text_end)
			img->text_end = start + ph->p_memsz;
	}
}

static bool
header_is_ours(const Elf64_Ehdr *eh)
{
	return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == EM_X86_64 &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) &&
	       eh->e_phnum > 0 && eh->e_phnum <= PHDRS_MAX;
}

int
locate_image(struct look *k, uint64_t header, struct image *img)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[PHDRS_MAX];
	uint64_t first = UINT64_MAX;
	int i;

	memset(img, 0, sizeof *img);
	if (look_read(k, header, &eh, sizeof eh) < 0)
		return -1;
	if (!header_is_ours(&eh))
		return fail(FAIL_UNSUITABLE, "no x86-64 ELF header at 0x%llx",
			    (unsigned long long)header);
	if (look_read(k, header + eh.e_phoff, ph,
			eh.e_phnum * sizeof ph[0]) < 0)
		return -1;
	for (i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr < first)
			first = ph[i].p_vaddr;
	img->header = header;
	img->bias = eh.e_type == ET_EXEC ? 0 : header - (first & ~4095ull);
	img->entry = img->bias + eh.e_entry;
	for (i = 0; i < eh.e_phnum; i++)
		note_segment(img, &ph[i]);
	if (!img->dynamic)
		return 0;
	return read_dynamic(k, img);
}

static bool
name_is(struct look *k, const struct image *img, uint32_t offset,
	const char *name)
{
	char text[SYMBOL_NAME_MAX];
	const size_t n = strlen(name) + 1;

	if (n > sizeof text || offset > img->strsz || n > img->strsz - offset)
		return false;
	return look_read(k, img->strtab + offset, text, n) == 0 &&
	       memcmp(text, name, n) == 0;
}

/* The default of its versions is taken, or else the first that is found. */
static void
consider(struct look *k, const struct image *img, uint32_t index,
	 const char *name, struct symbol_at *out)
{
	const struct symbol_at was = *out;
	Elf64_Sym sym;
	int type;

	if (look_read(k, img->symtab + (uint64_t)index * sizeof sym, &sym,
			sizeof sym) < 0)
		return;
	type = ELF64_ST_TYPE(sym.st_info);
	if (sym.st_shndx == SHN_UNDEF || type == STT_TLS ||
	    !name_is(k, img, sym.st_name, name))
		return;
	if (type == STT_GNU_IFUNC) {
		out->chosen = true;
		return;
	}
	if (out->nall < SYMBOL_VERSIONS)
		out->all[out->nall++] = index;
	if (!was.addr || (version_is_hidden(k, img, was.index) &&
			  !version_is_hidden(k, img, index))) {
		out->addr = img->bias + sym.st_value;
		out->size = sym.st_size;
		out->index = index;
	}
	out->older |= was.addr && was.addr != img->bias + sym.st_value;
}

static void
find_by_gnu_hash(struct look *k, const struct image *img, const char *name,
		 struct symbol_at *out)
{
	uint32_t head[4], hash = 5381, index, word, left = CHAIN_MAX;
	uint64_t buckets, chains, filter;
	const char *c;

	for (c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (look_read(k, img->gnu_hash, head, sizeof head) < 0 ||
	    head[0] == 0 || head[0] > BUCKETS_MAX ||
	    head[2] == 0 || head[2] > BUCKETS_MAX)
		return;
	/* most names are not there, and one word says so */
	if (look_read(k, img->gnu_hash + sizeof head +
		      8ull * (hash / 64 % head[2]), &filter, 8) < 0 ||
	    !(filter >> hash % 64 & filter >> (hash >> head[3] % 32) % 64 & 1))
		return;
	buckets = img->gnu_hash + sizeof head + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (look_read(k, buckets + 4ull * (hash % head[0]), &index, 4) < 0)
		return;
	for (; index >= head[1] && left > 0; index++, left--) {
		if (look_read(k, chains + 4ull * (index - head[1]), &word,
				4) < 0)
			return;
		if ((word | 1) == (hash | 1))
			consider(k, img, index, name, out);
		if (word & 1)
			return;
	}
}

static void
find_by_sysv_hash(struct look *k, const struct image *img, const char *name,
		  struct symbol_at *out)
{
	uint32_t head[2], hash = 0, index, left = CHAIN_MAX;
	uint64_t buckets, chains;
	const char *c;

	for (c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
	}
	if (look_read(k, img->hash, head, sizeof head) < 0 ||
	    head[0] == 0 || head[0] > BUCKETS_MAX || head[1] > BUCKETS_MAX)
		return;
	buckets = img->hash + sizeof head;
	chains = buckets + 4ull * head[0];
	if (look_read(k, buckets + 4ull * (hash % head[0]), &index, 4) < 0)
		return;
	for (; index != 0 && index < head[1] && left > 0; left--) {
		consider(k, img, index, name, out);
		if (look_read(k, chains + 4ull * index, &index, 4) < 0)
			return;
	}
}

bool
locate_symbol(struct look *k, const struct image *img, const char *name,
	     struct symbol_at *out)
{
	*out = (struct symbol_at){0};
	if (!img->symtab || !img->strtab || !img->strsz)
		return false;
	if (img->gnu_hash)
		find_by_gnu_hash(k, img, name, out);
	else if (img->hash)
		find_by_sysv_hash(k, img, name, out);
	return out->addr != 0;
}

uint64_t
locate_address(struct look *k, const struct image *img, const char *name)
{
	struct symbol_at at;

	return locate_symbol(k, img, name, &at) ? at.addr : 0;
}

static unsigned
minor_of_name(struct look *k, const struct image *img, uint32_t offset)
{
	static const char prefix[] = "GLIBC_2.";
	char text[16] = "";
	const size_t n = sizeof prefix - 1;

	if (offset > img->strsz || img->strsz - offset < sizeof text ||
	    look_read(k, img->strtab + offset, text, sizeof text) < 0 ||
	    memcmp(text, prefix, n) != 0)
		return 0;
	text[sizeof text - 1] = 0;
	return (unsigned)strtoul(text + n, NULL, 10);
}

unsigned
locate_glibc_minor(struct look *k, const struct image *img)
{
	uint64_t at = img->verdef;
	unsigned best = 0;
	int i;

	for (i = 0; at && i < VERDEFS_MAX; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		unsigned minor;

		if (look_read(k, at, &def, sizeof def) < 0 ||
		    look_read(k, at + def.vd_aux, &aux, sizeof aux) < 0)
			break;
		minor = minor_of_name(k, img, aux.vda_name);
		if (minor > best)
			best = minor;
		at = def.vd_next ? at + def.vd_next : 0;
	}
	return best;
}

/* From the start of the text, in pieces: what is looked for stands early. */
uint64_t
locate_code(struct target *t, const struct image *img, const void *code,
	    size_t n)
{
	enum { PIECE = 64 << 10 };
	const uint64_t size = img->text_end - img->text;
	unsigned char *piece;
	uint64_t from, at = 0;

	if (!img->text || size > TEXT_MAX)
		return 0;
	piece = xmalloc(PIECE);
	for (from = 0; !at && from + n <= size; from += PIECE - (n - 1)) {
		const uint64_t left = size - from;
		const size_t bytes = left < PIECE ? left : PIECE;
		const unsigned char *hit;

		if (target_read(t, img->text + from, piece, bytes) < 0)
			break;
		hit = memmem(piece, bytes, code, n);
		if (hit)
			at = img->text + from + (uint64_t)(hit - piece);
	}
	free(piece);
	return at;
}
