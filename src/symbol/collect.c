/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers the symbols that name code from every table an object has: .dynsym
 * always (by PT_DYNAMIC where there are no section headers), and the first of
 * .symtab, the .symtab of a separate debug file, and .gnu_debugdata.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>

/* Mapping symbols ($x, $d), assembler labels and the marks of annobin; but
 * clang gives functions names like .omp_outlined. */
static bool
is_mark(const GElf_Sym *sym, const char *name)
{
	return name[0] == '\0' || name[0] == '$' ||
	       (name[0] == '.' && GELF_ST_TYPE(sym->st_info) != STT_FUNC);
}

static bool
rank_of(const GElf_Sym *sym, const char *name, unsigned *rank)
{
	const bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
	    sym->st_shndx == SHN_COMMON || is_mark(sym, name))
		return false;
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_GNU_IFUNC:
		*rank = local ? RANK_LOCAL_RESOLVER : RANK_RESOLVER;
		return true;
	case STT_FUNC:
		*rank = local ? RANK_LOCAL : RANK_GLOBAL;
		return true;
	case STT_NOTYPE:
		*rank = local ? RANK_LOCAL_LABEL : RANK_LABEL;
		return true;
	default:
		return false;
	}
}

static bool
rank_of_data(const GElf_Sym *sym, const char *name, unsigned *rank)
{
	*rank = GELF_ST_BIND(sym->st_info) == STB_LOCAL ? RANK_LOCAL :
							  RANK_GLOBAL;
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_shndx != SHN_COMMON && !is_mark(sym, name) &&
	       sym->st_size > 0 && GELF_ST_TYPE(sym->st_info) == STT_OBJECT;
}

/* The name without its version, and said to be a resolver if it is one. */
static const char *
clean_name(struct symfile *sf, const char *name, unsigned rank)
{
	const char *at = strchr(name + 1, '@');
	const bool resolver = rank <= RANK_LOCAL_RESOLVER;

	if (!at && !resolver)
		return name;

	const size_t len = at ? (size_t)(at - name) : strlen(name);
	char *copy = xasprintf("%.*s%s", (int)len, name,
			       resolver ? " [resolver]" : "");

	vec_push(&sf->functions.made, copy);
	return copy;
}

static void
add_raw(struct raws *raws, struct raw raw)
{
	raws->items = xgrow(raws->items, &raws->cap, raws->len + 1,
			    sizeof *raws->items);
	raws->items[raws->len++] = raw;
}

static void
add_code(struct symfile *sf, struct raws *raws, const GElf_Sym *sym,
	 uint64_t addr, const char *name)
{
	unsigned rank;

	if (!rank_of(sym, name, &rank))
		return;

	const struct section *sec = symfile_section(sf, addr);

	if (!sec || sec->is_plt)
		return;

	const uint64_t room = sec->at.end - addr;

	add_raw(raws, (struct raw){
		.addr = addr,
		.size = sym->st_size < room ? sym->st_size : room,
		.name = clean_name(sf, name, rank),
		.rank = rank,
	});
}

static void
add_symbol(struct symfile *sf, struct raws *raws, const GElf_Sym *sym,
	   uint64_t addr, const char *name)
{
	unsigned rank;

	if (name && !raws->of_data)
		add_code(sf, raws, sym, addr, name);
	else if (name && rank_of_data(sym, name, &rank))
		add_raw(raws, (struct raw){ addr, sym->st_size,
					    clean_name(sf, name, rank),
					    rank });
}

static void
add_section(struct symfile *sf, struct raws *raws, Elf *elf, Elf_Scn *scn,
	    const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	if (!data || !data->d_buf || entry == 0)
		return;

	const size_t n = data->d_size / entry;

	for (size_t i = 1; i < n && i < INT32_MAX; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return;
		add_symbol(sf, raws, &sym, sym.st_value,
			   elf_strptr(elf, shdr->sh_link, sym.st_name));
	}
}

/* How many were added. ELF knows one table of each type; many headers that
 * name the same table would fill our memory. */
static size_t
add_table(struct symfile *sf, struct raws *raws, Elf *elf, GElf_Word type)
{
	const size_t before = raws->len;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type) {
			add_section(sf, raws, elf, scn, &shdr);
			break;
		}
	return raws->len - before;
}

struct adding {
	struct symfile *sf;
	struct raws *raws;
};

static void
add_dynamic(void *arg, const GElf_Sym *sym, const char *name)
{
	const struct adding *a = arg;

	add_symbol(a->sf, a->raws, sym, sym->st_value, name);
}

static size_t
add_dynamic_table(struct symfile *sf, struct raws *raws)
{
	struct adding a = { sf, raws };
	const size_t before = raws->len;

	/* no section headers, or none of that table */
	if (add_table(sf, raws, sf->main.elf, SHT_DYNSYM) == 0)
		dynamic_each(sf, add_dynamic, &a);
	return raws->len - before;
}

static enum symfile_source
add_full(struct symfile *sf, struct raws *raws)
{
	if (add_table(sf, raws, sf->main.elf, SHT_SYMTAB) > 0)
		return SYMFILE_SYMTAB;

	Elf *debug = symfile_debug_elf(sf);

	if (debug && add_table(sf, raws, debug, SHT_SYMTAB) > 0)
		return sf->debug_fetched ? SYMFILE_DEBUGINFOD :
			SYMFILE_DEBUGFILE;

	Elf *mini = symfile_mini_elf(sf);

	if (mini && add_table(sf, raws, mini, SHT_SYMTAB) > 0)
		return SYMFILE_MINIDEBUG;
	return SYMFILE_NONE;
}

void
raws_collect(struct symfile *sf, struct raws *raws)
{
	const bool dynamic = add_dynamic_table(sf, raws) > 0;

	sf->source = add_full(sf, raws);
	if (sf->source == SYMFILE_NONE && dynamic)
		sf->source = SYMFILE_DYNSYM;
}

/* .gnu_debugdata has functions only. */
void
raws_collect_data(struct symfile *sf, struct raws *raws)
{
	raws->of_data = true;
	(void)add_dynamic_table(sf, raws);
	if (add_table(sf, raws, sf->main.elf, SHT_SYMTAB) > 0)
		return;

	Elf *debug = symfile_debug_elf(sf);

	if (debug)
		(void)add_table(sf, raws, debug, SHT_SYMTAB);
}
