/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The definitions of traced functions that hooks stand before.
 *
 * A name alone tells nothing of a function: a program may have a `connect` of
 * its own for its plug-ins, and a hook of libc's would hand on what that one
 * does not have. So only libc's own counts, but for two families that others
 * make for libc's callers: allocators (in the program itself where it has
 * malloc and free), and locks by the names of POSIX threads. Of several the
 * first in the order of the link maps is taken, as the loader finds it for the
 * program; where one that does not count comes before it, slots that are not
 * bound yet may become that one's.
 */
#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "hazard.h"
#include "private.h"
#include "slots.h"

/* ---- objects ------------------------------------------------------------- */

/* Its libc is its loader. */
bool
originals_are_musls(const struct plan *p)
{
	return p->ldso.header == p->libc.header;
}

bool
originals_is_traced(const struct plan *p, const struct image *img)
{
	return (img->header != p->ldso.header || originals_are_musls(p)) &&
		(!p->library_map || img->link_map != p->library_map) &&
		img->dynamic;
}

bool
originals_is_in(const struct image *img, uint64_t address)
{
	return address >= img->text && address < img->text_end;
}

/* Before 2.34 its threads are a library of their own. */
static bool
is_glibc(const struct plan *p, const struct image *img)
{
	return !originals_are_musls(p) &&
		(img->header == p->libc.header ||
		 originals_is_in(img, p->pthread_create));
}

static bool
is_libc(const struct plan *p, const struct image *img)
{
	return img->header == p->libc.header || is_glibc(p, img);
}

/* ---- definitions --------------------------------------------------------- */

/* These two are libc's own callers' as well: they are what they are called. */
static bool
is_allocator(const struct plan *p, const struct image *img)
{
	return locate_address(p->look, img, "malloc") &&
		locate_address(p->look, img, "free");
}

/* at: where it has the name. */
static bool
may_define(const struct plan *p, enum trace_function f,
	   const struct image *img, const struct symbol_at *at)
{
	const bool program = img == &p->images[0];

	if (is_libc(p, img) || !handled(HAZARD_TRACE_NAMESAKE))
		return true;
	if (f == TRACE_STDIN || f == TRACE_STDOUT)	/* a copy of libc's */
		return program && at->size == sizeof(void *);
	if (trace_family(f) == TRACE_SYNC)
		return strncmp(traced_name(f), "pthread_", 8) == 0;
	if (trace_family(f) == TRACE_IO)
		return false;
	return is_allocator(p, img) ||
		(!program && f != TRACE_MMAP && f != TRACE_MUNMAP &&
		 f != TRACE_MREMAP);
}

/* foreign: another one that does not count comes first. */
static const struct image *
definer(const struct plan *p, enum trace_function f, struct symbol_at *at,
	bool *foreign)
{
	*foreign = false;
	for (size_t i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];

		if (!originals_is_traced(p, img))
			continue;
		if (locate_symbol(p->look, img, traced_name(f), at)) {
			if (may_define(p, f, img, at))
				return img;
			*foreign = true;
		}
		if (at->chosen)
			break;
	}
	return NULL;
}

static bool
is_definer(const struct plan *p, enum trace_function f,
	   const struct image *img)
{
	struct symbol_at at;
	bool foreign;

	return definer(p, f, &at, &foreign) == img;
}

/* What a hook calls instead, as it cannot hand on what it does not know. */
static enum trace_function
instead_of(enum trace_function f)
{
	switch (f) {
	case TRACE_PRINTF: return TRACE_VPRINTF;
	case TRACE_PRINTF_CHK: return TRACE_VPRINTF_CHK;
	case TRACE_FPRINTF: return TRACE_VFPRINTF;
	case TRACE_FPRINTF_CHK: return TRACE_VFPRINTF_CHK;
	case TRACE_DPRINTF: return TRACE_VDPRINTF;
	case TRACE_DPRINTF_CHK: return TRACE_VDPRINTF_CHK;
	default: return f;
	}
}

/* C++ where it is the allocator's own, not one that calls malloc; in libc
 * what calls another traced function through a slot of its own; one whose
 * hook would call somebody else's. */
static bool
calls_another(const struct plan *p, enum trace_function f,
	      const struct image *img)
{
	if (f == TRACE_REALLOCARRAY)
		return img->header == p->libc.header && !originals_are_musls(p);
	if (f >= TRACE_NEW && f < TRACE_SYNC_FIRST)
		return !is_definer(p, TRACE_MALLOC, img);
	return instead_of(f) != f && !is_definer(p, instead_of(f), img);
}

/* No unwinder of the program's knows a library that was mapped by hand, and
 * exceptions and the cancellation of glibc pass these functions. */
static bool
must_be_known(const struct plan *p, enum trace_function f)
{
	/* these are gone by then */
	if (f == TRACE_PRCTL || f == TRACE_SYSCALL)
		return false;
	return p->by_hand && f >= TRACE_NEW &&
		(f < TRACE_SYNC_FIRST || !originals_are_musls(p));
}

/* Does an object besides its definer have a function of the name? */
static bool
has_rivals(const struct plan *p, const char *name, const struct image *definer)
{
	for (size_t i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];
		struct symbol_at at;

		if (img != definer && originals_is_traced(p, img) &&
		    !(is_glibc(p, img) && is_glibc(p, definer)) &&
		    (locate_symbol(p->look, img, name, &at) || at.chosen))
			return true;
	}
	return false;
}

/* ---- the door ------------------------------------------------------------ */

static bool
is_wanted(const struct slots *s, int f)
{
	return traced_always(f) ||
		s->families & 1u << trace_family((unsigned)f);
}

/* Where the loader looks nothing is executed or written. */
static void
add_name(const struct plan *p, struct slots *s, enum trace_function f,
	 const struct image *img, uint32_t symbol)
{
	Elf64_Sym sym;
	const uint64_t at = img->symtab + symbol * sizeof sym;
	const struct module *m = modules_find(&p->mods, at);

	if (!m || m->prot & (MODULE_EXEC | MODULE_WRITE) ||
	    at + sizeof sym > m->end || at % sizeof(uint64_t) ||
	    look_read(p->look, at, &sym, sizeof sym) < 0 ||
	    sym.st_shndx == SHN_ABS ||
	    img->bias + sym.st_value != s->originals[f] ||
	    s->nnames == TRACE_NAMES_MAX)
		return;
	s->named[f] = true;
	s->names[s->nnames++] = (struct trace_name){
		.at = at + offsetof(Elf64_Sym, st_value),
		.before = sym.st_value, .bias = img->bias,
		.page = m->start, .page_end = m->end, .function = f,
	};
}

/* All of its names, and of versions. A library that was mapped by hand may be
 * gone before what the loader has bound. */
static void
add_names(const struct plan *p, struct slots *s, enum trace_function f,
	  const struct image *img)
{
	for (int i = 0; !p->by_hand && i < TRACED_NAMES; i++) {
		struct symbol_at at;
		const char *name = traced_name_at(f, i);

		if (!name || !locate_symbol(p->look, img, name, &at))
			continue;
		for (uint32_t k = 0; k < at.nall; k++)
			add_name(p, s, f, img, at.all[k]);
	}
}

static void
find_original(const struct plan *p, struct slots *s, enum trace_function f)
{
	struct symbol_at at;
	const struct image *img = definer(p, f, &at, &s->foreign[f]);

	if (!img || must_be_known(p, f) || calls_another(p, f, img))
		return;
	s->originals[f] = at.addr;
	s->definers[f] = img->header;
	s->rivals[f] = has_rivals(p, traced_name(f), img);
	add_names(p, s, f, img);
	if (at.older)
		s->versions[f] = version_of(p->look, img, at.index);
	if (f == TRACE_JOIN)
		s->own_threads = is_glibc(p, img);
}

/* Somebody else's lock need not be the same one in all its functions. */
static void
find_helper(const struct plan *p, struct slots *s, enum trace_function f,
	    const struct traced_helper *h)
{
	struct symbol_at at;
	bool foreign;
	const struct image *img = definer(p, h->beside, &at, &foreign);

	if (img && (is_glibc(p, img) || !handled(HAZARD_LOCK_OWN)) &&
	    p->glibc_minor >= h->minor)
		s->originals[f] = locate_address(p->look, img, h->name);
}

void
originals_find(const struct plan *p, struct slots *s)
{
	for (int f = 0; f < TRACE_FUNCTIONS; f++) {
		const struct traced_helper *h =
			traced_helper((enum trace_function)f);

		if (is_wanted(s, f) && h)
			find_helper(p, s, (enum trace_function)f, h);
		else if (is_wanted(s, f))
			find_original(p, s, (enum trace_function)f);
	}
	if (!s->originals[TRACE_TESTCANCEL] || !s->originals[TRACE_ERRNO])
		s->originals[TRACE_SEM_TRYWAIT] = 0;
}
