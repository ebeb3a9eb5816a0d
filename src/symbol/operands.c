/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an address in an operand means: a place in a function, the stub of a
 * PLT, a slot that the dynamic linker fills, a variable. Stubs have no names
 * of their own: each jumps through a slot, and the relocation of the slot
 * names what it leads to.
 */
#include "symfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* A hostile file can name one table a thousand times. */
	RELOCATIONS_MAX = 8 << 20,
	STUB_SIZE = 16,
};

struct variable {
	uint64_t start, size;
	const char *name;
};

struct operands {
	struct map slots;	/* address of a slot -> linkage name */
	struct map stubs;	/* address of a stub -> its slot; 0: none */
	struct variable *variables;	/* sorted by start */
	size_t len, cap;
	size_t relocations;
	struct image again;	/* the file, where its descriptor was given
				 * back; holds the names */
};

void
operands_free(struct operands *ops)
{
	if (!ops)
		return;
	map_fini(&ops->slots);
	map_fini(&ops->stubs);
	image_close(&ops->again);
	free(ops->variables);
	free(ops);
}

/* ---- slots ---------------------------------------------------------- */

enum slot_kind { SLOT_NONE, SLOT_SYMBOL, SLOT_RESOLVED };

/* Other relocations fill variables, such as tables of virtual functions. */
static enum slot_kind
slot_kind(unsigned machine, const GElf_Rela *rela)
{
	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		return machine == EM_X86_64 ? SLOT_SYMBOL : SLOT_NONE;
	case R_X86_64_IRELATIVE:
		return machine == EM_X86_64 ? SLOT_RESOLVED : SLOT_NONE;
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_JUMP_SLOT:
		return machine == EM_AARCH64 ? SLOT_SYMBOL : SLOT_NONE;
	case R_AARCH64_IRELATIVE:
		return machine == EM_AARCH64 ? SLOT_RESOLVED : SLOT_NONE;
	default:
		return SLOT_NONE;
	}
}

/* Without a symbol the addend is where a resolver stands. */
static const char *
relocated_name(struct symfile *sf, Elf *elf, const GElf_Shdr *table,
	       Elf_Data *symbols, const GElf_Rela *rela)
{
	GElf_Sym sym;
	struct symbol resolver;
	const int index = (int)GELF_R_SYM(rela->r_info);
	const enum slot_kind kind = slot_kind(symfile_machine(sf), rela);

	if (kind == SLOT_SYMBOL && symbols &&
	    gelf_getsym(symbols, index, &sym))
		return elf_strptr(elf, table->sh_link, sym.st_name);
	if (kind == SLOT_RESOLVED &&
	    symfile_find(sf, (uint64_t)rela->r_addend, &resolver) &&
	    resolver.start == (uint64_t)rela->r_addend && !resolver.is_plt &&
	    !resolver.is_static)
		return resolver.name;
	return NULL;
}

static void
add_relocations(struct symfile *sf, struct operands *ops, Elf *elf,
		Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL), *symbols = NULL;
	Elf_Scn *table = elf_getscn(elf, shdr->sh_link);
	const size_t entry = gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
	GElf_Shdr link = {0};

	if (table && gelf_getshdr(table, &link) && link.sh_type == SHT_DYNSYM)
		symbols = elf_getdata(table, NULL);
	if (!data || !data->d_buf || !entry)
		return;
	for (size_t i = 0; i < data->d_size / entry; i++) {
		GElf_Rela rela;

		if (ops->relocations++ >= RELOCATIONS_MAX ||
		    !gelf_getrela(data, (int)i, &rela))
			return;

		const char *name = relocated_name(sf, elf, &link, symbols,
						  &rela);

		if (name && *name)
			map_put(&ops->slots, rela.r_offset, (uintptr_t)name);
	}
}

static void
find_slots(struct symfile *sf, struct operands *ops, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA &&
		    (shdr.sh_flags & SHF_ALLOC))
			add_relocations(sf, ops, elf, scn, &shdr);
}

/* ---- variables ------------------------------------------------------ */

static int
by_start(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t
add_variables(struct operands *ops, Elf *elf, GElf_Word type)
{
	const size_t before = ops->len;
	const size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf_Data *data = NULL;
	GElf_Sym sym;

	while (!data && (scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type)
			data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || !entry)
		return 0;
	for (size_t i = 1; i < data->d_size / entry; i++) {
		const char *name = gelf_getsym(data, (int)i, &sym) ?
			elf_strptr(elf, shdr.sh_link, sym.st_name) : NULL;

		if (!name || !*name || sym.st_shndx == SHN_UNDEF ||
		    !sym.st_size || GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
			continue;
		ops->variables = xgrow(ops->variables, &ops->cap, ops->len + 1,
				       sizeof *ops->variables);
		ops->variables[ops->len++] = (struct variable){
			sym.st_value, sym.st_size, name };
	}
	return ops->len - before;
}

static struct operands *
operands_of(struct symfile *sf)
{
	struct operands *ops = sf->operands;
	Elf *elf = sf->main.elf, *debug;

	if (ops || !elf)
		return ops;
	ops = sf->operands = xcalloc(1, sizeof *ops);
	ops->again.fd = -1;
	functions_load(sf);
	if (sf->main.fd < 0 && !sf->main.copy &&
	    !image_open(&ops->again, sf->path))
		elf = ops->again.elf;
	find_slots(sf, ops, elf);
	if (!add_variables(ops, elf, SHT_SYMTAB)) {
		debug = symfile_debug_elf(sf);
		if (!debug || !add_variables(ops, debug, SHT_SYMTAB))
			add_variables(ops, elf, SHT_DYNSYM);
	}
	if (ops->again.elf)
		image_release(&ops->again);
	if (ops->len)
		qsort(ops->variables, ops->len, sizeof *ops->variables,
		      by_start);
	return ops;
}

static const struct variable *
variable_at(const struct operands *ops, uint64_t vaddr)
{
	size_t low = 0, high = ops->len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (ops->variables[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || vaddr - ops->variables[low - 1].start >=
	    ops->variables[low - 1].size)
		return NULL;
	/* of several names the first */
	while (--low > 0 && ops->variables[low - 1].start ==
	       ops->variables[low].start)
		;
	return vaddr - ops->variables[low].start < ops->variables[low].size ?
		&ops->variables[low] : NULL;
}

/* ---- stubs ---------------------------------------------------------- */

static uint32_t
word_at(const unsigned char *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof word);
	return word;
}

/* [endbr64] [bnd] jmp *disp(%rip); 0: none. */
static uint64_t
slot_x86_64(const unsigned char *code, uint64_t vaddr)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = memcmp(code, endbr, sizeof endbr) ? 0 : sizeof endbr;

	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	return vaddr + at + 6 + (uint64_t)(int64_t)(int32_t)
		word_at(code + at + 2);
}

/* [bti c] adrp x16, PAGE; ldr x17, [x16, #OFFSET] */
static uint64_t
slot_aarch64(const unsigned char *code, uint64_t vaddr)
{
	const size_t at = word_at(code) == 0xd503245f ? 4 : 0;
	const uint32_t adrp = word_at(code + at), ldr = word_at(code + at + 4);
	const uint32_t pages = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2;

	if ((adrp & 0x9f00001f) != 0x90000010 ||
	    (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	return ((vaddr + at) & ~(uint64_t)0xfff) +
		((uint64_t)(int64_t)(int32_t)(pages << 11) << 1) +
		(ldr >> 10 & 0xfff) * 8;
}

static uint64_t
slot_of_stub(struct symfile *sf, struct operands *ops, uint64_t vaddr)
{
	unsigned char code[STUB_SIZE] = {0};
	uint64_t slot = 0;

	if (map_get(&ops->stubs, vaddr, &slot))
		return slot;
	/* the last one may be shorter */
	if (symfile_code(sf, vaddr, code, STUB_SIZE) ||
	    symfile_code(sf, vaddr, code, STUB_SIZE / 2)) {
		if (symfile_machine(sf) == EM_X86_64)
			slot = slot_x86_64(code, vaddr);
		if (symfile_machine(sf) == EM_AARCH64)
			slot = slot_aarch64(code, vaddr);
	}
	map_put(&ops->stubs, vaddr, slot);
	return slot;
}

/* ---- all of it ------------------------------------------------------ */

/* What a slot leads to, without the mark of a resolver. */
static bool
add_slot(const struct operands *ops, uint64_t slot, const char *kind,
	 enum name_form form, struct str *out)
{
	static const char mark[] = " [resolver]";
	uint64_t name;

	if (!map_get(&ops->slots, slot, &name))
		return false;

	const char *linkage = (const char *)(uintptr_t)name;
	char *shown = name_display(linkage, form);
	size_t len = strlen(shown);

	if (str_ends(shown, mark))
		len -= sizeof mark - 1;
	str_addn(out, shown, len);
	str_add(out, kind);
	free(shown);
	return true;
}

static void
add_place(const char *name, uint64_t offset, enum name_form form,
	  struct str *out)
{
	char *shown = name_display(name, form);

	str_add(out, shown);
	if (offset)
		str_addf(out, "+0x%" PRIx64, offset);
	free(shown);
}

bool
operand_name(struct symfile *sf, uint64_t vaddr, enum name_form form,
	     struct str *out)
{
	struct operands *ops = operands_of(sf);
	struct symbol sym;

	if (!ops)
		return false;
	if (symfile_find(sf, vaddr, &sym)) {
		if (sym.is_plt && add_slot(ops, slot_of_stub(sf, ops, vaddr),
					   "@plt", form, out))
			return true;
		add_place(sym.name, vaddr - sym.start, form, out);
		return true;
	}

	const struct variable *var = variable_at(ops, vaddr);

	if (var) {
		add_place(var->name, vaddr - var->start, form, out);
		return true;
	}
	return add_slot(ops, vaddr, "@got", form, out);
}
