/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A load object's dynamic symbols as they stand in the target's memory: true
 * even when its file is gone or unreadable. Every count is bounded, since
 * what is read may be anything.
 */
#include "private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { PHDRS_MAX = 64, DYNS_MAX = 512, SYMS_MAX = 1 << 16,
       STRINGS_MAX = 1 << 20 };

struct image {
	struct target *t;
	uint64_t base, bias;
	uint64_t symtab, strtab, strsz, hash, gnu_hash;
};

static bool
read_at(const struct image *im, uint64_t addr, void *buf, size_t n)
{
	return target_read(im->t, addr, buf, n) == 0;
}

static bool
read_dynamic(struct image *im, uint64_t at, uint64_t size)
{
	Elf64_Dyn dyn[DYNS_MAX];
	uint64_t n = size / sizeof *dyn;

	n = n > DYNS_MAX ? DYNS_MAX : n;
	if (!n || !read_at(im, at, dyn, n * sizeof *dyn))
		return false;
	for (uint64_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++) {
		uint64_t addr = dyn[i].d_un.d_ptr;

		/* some loaders relocate these in place */
		if (addr < im->bias)
			addr += im->bias;
		switch (dyn[i].d_tag) {
		case DT_SYMTAB:
			im->symtab = addr;
			break;
		case DT_STRTAB:
			im->strtab = addr;
			break;
		case DT_STRSZ:
			im->strsz = dyn[i].d_un.d_val;
			break;
		case DT_HASH:
			im->hash = addr;
			break;
		case DT_GNU_HASH:
			im->gnu_hash = addr;
			break;
		default:
			break;
		}
	}
	return im->symtab && im->strtab && im->strsz;
}

static bool
read_headers(struct image *im)
{
	Elf64_Phdr ph[PHDRS_MAX];
	const Elf64_Phdr *dynamic = NULL, *load = NULL;
	Elf64_Ehdr eh;

	if (!read_at(im, im->base, &eh, sizeof eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phnum > PHDRS_MAX ||
	    eh.e_phentsize != sizeof *ph ||
	    !read_at(im, im->base + eh.e_phoff, ph, eh.e_phnum * sizeof *ph))
		return false;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
		if (ph[i].p_type == PT_LOAD && !load)
			load = &ph[i];
	}
	if (!dynamic || !load)
		return false;
	im->bias = im->base - (load->p_vaddr - load->p_offset);
	return read_dynamic(im, im->bias + dynamic->p_vaddr,
			    dynamic->p_memsz);
}

/* The GNU table does not say how many: the last chain's end does. */
static uint32_t
gnu_count(const struct image *im)
{
	uint32_t head[4], last = 0, word;

	if (!read_at(im, im->gnu_hash, head, sizeof head) ||
	    head[0] > SYMS_MAX || head[2] > SYMS_MAX)
		return 0;

	const uint64_t buckets = im->gnu_hash + sizeof head +
		UINT64_C(8) * head[2];
	const uint64_t chains = buckets + UINT64_C(4) * head[0];

	for (uint32_t i = 0; i < head[0]; i++) {
		if (!read_at(im, buckets + UINT64_C(4) * i, &word, 4))
			return 0;
		last = word > last ? word : last;
	}
	if (last < head[1])
		return 0;
	for (;; last++) {
		if (last > SYMS_MAX || !read_at(im, chains + UINT64_C(4) *
						(last - head[1]), &word, 4))
			return 0;
		if (word & 1)
			return last + 1;
	}
}

static uint32_t
symbol_count(const struct image *im)
{
	uint32_t head[2];

	if (!im->hash)
		return im->gnu_hash ? gnu_count(im) : 0;
	if (!read_at(im, im->hash, head, sizeof head) || head[1] > SYMS_MAX)
		return 0;
	return head[1];
}

bool
image_symbol(struct target *t, uint64_t base, const char *name,
	     uint64_t *addr)
{
	struct image im = { .t = t, .base = base };
	bool found = false;

	if (!read_headers(&im) || im.strsz > STRINGS_MAX)
		return false;

	const uint32_t n = symbol_count(&im);
	Elf64_Sym *syms = xcalloc(n + 1, sizeof *syms);
	char *strings = xcalloc(im.strsz + 1, 1);

	if (read_at(&im, im.symtab, syms, n * sizeof *syms) &&
	    read_at(&im, im.strtab, strings, im.strsz))
		for (uint32_t i = 0; i < n && !found; i++) {
			if (syms[i].st_shndx == SHN_UNDEF ||
			    syms[i].st_name >= im.strsz ||
			    strcmp(strings + syms[i].st_name, name))
				continue;
			*addr = im.bias + syms[i].st_value;
			found = true;
		}
	free(syms);
	free(strings);
	return found;
}

/* ---- what it imports ----------------------------------------------------- */

/* What no object defines for itself comes first where there is a GNU table:
 * its second word is the first symbol that is in it. */
static uint32_t
imports_end(const struct image *im)
{
	uint32_t head[2];

	if (!im->gnu_hash)
		return symbol_count(im);
	if (!read_at(im, im->gnu_hash, head, sizeof head))
		return 0;
	return head[1] < SYMS_MAX ? head[1] : SYMS_MAX;
}

/* 0: it is none of them. */
static bool
is_one_of(const struct image *im, const Elf64_Sym *sym,
	  const char *const *names, const char **which)
{
	enum { LONGEST = 16 };
	char name[LONGEST + 1];

	if (sym->st_shndx != SHN_UNDEF || !sym->st_name ||
	    sym->st_name >= im->strsz)
		return false;

	const uint64_t room = im->strsz - sym->st_name;
	const size_t n = room < LONGEST ? room : LONGEST;

	if (!read_at(im, im->strtab + sym->st_name, name, n))
		return false;
	name[n] = '\0';
	for (; *names; names++)
		if (strcmp(name, *names) == 0) {
			*which = *names;
			return true;
		}
	return false;
}

static const char *
import_of(struct target *t, uint64_t base, const char *const *names)
{
	struct image im = { .t = t, .base = base };
	const char *which = NULL;

	if (!read_headers(&im))
		return NULL;

	const uint32_t n = imports_end(&im);
	Elf64_Sym *syms = xcalloc(n + 1, sizeof *syms);

	if (read_at(&im, im.symtab, syms, n * sizeof *syms))
		for (uint32_t i = 0; i < n; i++)
			if (is_one_of(&im, &syms[i], names, &which))
				break;
	free(syms);
	return which;
}

/* Names to look for in an object. */
typedef const char *const *names_for(const char *object);

/* The first of its objects that imports one of the names; the caller frees it. */
static char *
calls_one_of(struct target *t, names_for *names)
{
	char *text = target_maps(t), *told = NULL;
	struct modules mods = { 0 };

	if (text && modules_parse(&mods, text) == 0)
		for (size_t i = 0; i < mods.len && !told; i++) {
			const struct module *m = &mods.items[i];
			const char *name = m->offset == 0 && m->path[0] == '/' ?
				import_of(t, m->start, names(m->path)) : NULL;

			if (name)
				told = xasprintf("%s calls %s", strrchr(
						 m->path, '/') + 1, name);
		}
	modules_fini(&mods);
	free(text);
	return told;
}

static const char *const *
takes_signals(const char *object)
{
	static const char *const names[] = {
		"sigtimedwait", "sigwaitinfo", "sigwait", "sigpending",
		"signalfd", NULL,
	};

	(void)object;
	return names;
}

char *
target_takes_signals(struct target *t)
{
	return calls_one_of(t, takes_signals);
}

/* Libraries call prctl for harmless things, programs, too, but theirs is what
 * makes a sandbox. */
static const char *const *
confines_threads(const char *object)
{
	static const char *const of_program[] = {
		"prctl", "seccomp_load", NULL,
	};

	const char *so = strstr(strrchr(object, '/'), ".so");

	return so && (!so[3] || so[3] == '.') ? of_program + 1 : of_program;
}

/* The dispatch of calls takes prctl, and so does a filter, unless no_new_privs
 * was given to the process, or it is privileged: these are not recognized. */
char *
target_confines_threads(struct target *t)
{
	return calls_one_of(t, confines_threads);
}

static const char *const *
switches_stacks(const char *object)
{
	static const char *const names[] = { "makecontext", NULL };

	(void)object;
	return names;
}

char *
target_switches_stacks(struct target *t)
{
	return calls_one_of(t, switches_stacks);
}
