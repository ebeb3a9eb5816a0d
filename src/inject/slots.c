/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The import slots of traced functions, in the target's memory: PLT slots
 * (DT_JMPREL), addresses in tables and of calls without a PLT (DT_RELA:
 * GLOB_DAT, 64), of every load object but the loader and our library.
 *
 * A slot that leads to another definition than the one that originals.c has
 * found is left alone and counted. One that leads into its own object is not
 * bound yet; where that one may find another definition it is left alone, too.
 * One that leads into a program that takes the function's address (and is at a
 * fixed one itself) leads on through that program's PLT.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hazard.h"
#include "private.h"
#include "slots.h"

enum { DYNAMIC_MAX = 512, RELAS_AT_ONCE = 256,
       NAME_MAX_BYTES = TRACE_NAME_BYTES };
enum { RELAS_MAX = 1 << 22 };

/* ---- relocations --------------------------------------------------------- */

/* There allocators call each other by slots, and what they are called by has
 * no unwind data: what it calls in itself is not seen. */
static bool
is_musl_itself(const struct plan *p, const struct image *img)
{
	return originals_are_musls(p) && img->header == p->libc.header;
}

/* Loaded with the program: the loader's own link map is one of the last of
 * those. Others may look elsewhere first (RTLD_DEEPBIND). */
static bool
is_first_scope(const struct plan *p, const struct image *img)
{
	for (const struct image *i = img; i < p->images + p->nimages; i++)
		if (i->header == p->ldso.header)
			return true;
	return false;
}

struct table {			/* of one object */
	const struct plan *p;
	const struct image *img;
	struct slots *s;
	uint64_t at[2], bytes[2];	/* DT_JMPREL, DT_RELA */
	bool first_scope;
	struct map known;	/* symbol -> function + 1, or none + 1 */
};

static void
read_tables(struct table *t)
{
	uint64_t at = t->img->dynamic;

	for (int i = 0; i < DYNAMIC_MAX; i++, at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		if (look_read(t->p->look, at, &d, sizeof d) < 0 ||
		    d.d_tag == DT_NULL)
			return;

		const uint64_t value = d.d_un.d_val;
		const uint64_t address = value < t->img->bias ?
			value + t->img->bias : value;

		switch (d.d_tag) {
		case DT_JMPREL: t->at[0] = address; break;
		case DT_PLTRELSZ: t->bytes[0] = value; break;
		case DT_RELA: t->at[1] = address; break;
		case DT_RELASZ: t->bytes[1] = value; break;
		}
	}
}

static int
function_of(struct table *t, uint32_t symbol)
{
	uint64_t *slot = map_slot_of(&t->known, symbol);
	char name[NAME_MAX_BYTES];
	Elf64_Sym sym;
	uint64_t at;

	if (*slot)
		return (int)*slot - 1;
	*slot = TRACE_FUNCTIONS + 1;
	if (look_read(t->p->look, t->img->symtab + symbol * sizeof sym, &sym,
		      sizeof sym) < 0)
		return TRACE_FUNCTIONS;
	at = t->img->strtab + sym.st_name;
	for (size_t i = 0; i < sizeof name; i++) {
		if (look_read(t->p->look, at + i, &name[i], 1) < 0)
			return TRACE_FUNCTIONS;
		if (!name[i])
			break;
	}
	name[sizeof name - 1] = '\0';
	*slot = (uint64_t)traced_function(name) + 1;
	return (int)*slot - 1;
}

/* Not bound yet; and it may become another one of the name. */
static bool
wants_another(struct table *t, int f, uint32_t symbol)
{
	const uint64_t version = t->s->versions[f];

	return version && handled(HAZARD_LOCK_VERSION) &&
		!version_is(t->p->look, version,
			    version_wanted(t->p->look, t->img, symbol));
}

/* A hook: a parent was traced when it forked. */
static bool
is_ours(const struct plan *p, uint64_t address)
{
	for (size_t i = 0; p->library_map && i < p->nimages; i++)
		if (p->images[i].link_map == p->library_map)
			return originals_is_in(&p->images[i], address);
	return false;
}

/* An allocator that calls itself, or the kernel for what it gives out: one
 * call of the program's is one record. Of libc's own calls each is one, but
 * those that calls_another tells. */
static bool
is_inner_call(const struct table *t, int f)
{
	const bool maps = f == TRACE_MMAP || f == TRACE_MUNMAP ||
		f == TRACE_MREMAP;

	return trace_family((unsigned)f) == TRACE_HEAP &&
		t->img->header ==
		t->s->definers[maps ? TRACE_MALLOC : (unsigned)f] &&
		t->img->header != t->p->libc.header;
}

static uint64_t
prove(uint64_t proof, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		proof = trace_proof(proof, ((const unsigned char *)bytes)[i]);
	return proof;
}

/* By what the slot is this function's, in the object's own tables. */
static int
add_proof(const struct table *t, const Elf64_Rela *r, uint64_t at,
	  struct trace_patch *patch)
{
	const uint64_t symbol = t->img->symtab +
		ELF64_R_SYM(r->r_info) * sizeof(Elf64_Sym);
	char name[TRACE_NAME_BYTES] = "";
	Elf64_Sym sym;

	if (look_read(t->p->look, symbol, &sym, sizeof sym) < 0)
		return -1;
	patch->relocation = at;
	patch->symbol = symbol;
	patch->name = t->img->strtab + sym.st_name;
	for (size_t i = 0; i < sizeof name; i++)
		if (look_read(t->p->look, patch->name + i, &name[i], 1) < 0 ||
		    !name[i])
			break;
	name[sizeof name - 1] = '\0';
	patch->proof = prove(TRACE_PROOF_BEGIN, r, sizeof *r);
	patch->proof = prove(patch->proof, &sym, sizeof sym);
	patch->proof = prove(patch->proof, name, strlen(name) + 1);
	return 0;
}

/* The loader would bind it as it finds the name by then. */
static bool
is_unbound(const struct table *t, uint64_t type, uint64_t value)
{
	return type == R_X86_64_JUMP_SLOT && originals_is_in(t->img, value);
}

static void
add(const struct table *t, const Elf64_Rela *r, uint64_t at,
    const struct module *m, struct trace_patch *patch)
{
	patch->slot = t->img->bias + r->r_offset;
	patch->relro = m->prot & MODULE_WRITE ? 0 : m->start;
	patch->relro_end = m->prot & MODULE_WRITE ? 0 : m->end;
	if (add_proof(t, r, at, patch) == 0)
		slots_add(t->s, patch);
}

/* Of the function f, with this value, in m. */
static void
consider(struct table *t, const Elf64_Rela *r, uint64_t at, int f,
	 uint64_t value, const struct module *m)
{
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	const uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
	enum trace_patch_state state = TRACE_PATCH_WANTED;

	if (is_ours(t->p, value)) {
		value = t->s->originals[f];
		state = TRACE_PATCH_IN;
	}
	if (is_inner_call(t, f)) {
		if (!is_unbound(t, type, value))
			return;
		state = TRACE_PATCH_INNER;
	}
	if (value != t->s->originals[f] && !is_unbound(t, type, value)) {
		t->s->others[trace_family((unsigned)f)] += !traced_always(f) &&
			!originals_is_in(&t->p->images[0], value);
		return;
	}
	if (value != t->s->originals[f] &&
	    (wants_another(t, f, symbol) || t->s->foreign[f] ||
	     (t->s->rivals[f] && !t->first_scope))) {
		t->s->others[trace_family((unsigned)f)] += !traced_always(f);
		return;
	}
	/* an allocator of its own takes its pages by mmap */
	t->s->heap_of_program += t->img == &t->p->images[0] &&
		trace_family((unsigned)f) == TRACE_HEAP &&
		f != TRACE_MMAP && f != TRACE_MUNMAP && f != TRACE_MREMAP;
	if (m->prot & MODULE_EXEC) {
		t->s->in_code[trace_family((unsigned)f)] += !traced_always(f);
		return;
	}
	t->s->silent += traced_always(f);
	add(t, r, at, m, &(struct trace_patch){
		.before = value, .function = (uint32_t)f, .state = state });
}

/* at: where the relocation is. */
static void
look_at(struct table *t, const Elf64_Rela *r, uint64_t at)
{
	const uint64_t type = ELF64_R_TYPE(r->r_info);
	const uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info);
	const uint64_t slot = t->img->bias + r->r_offset;
	const struct module *m;
	uint64_t value;
	int f;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
	     type != R_X86_64_64) || !symbol || r->r_addend)
		return;
	f = function_of(t, symbol);
	if (f == TRACE_FUNCTIONS ||
	    (!t->s->originals[f] && !t->s->only_hooked) ||
	    target_read(t->p->t, slot, &value, sizeof value) < 0)
		return;
	m = modules_find(&t->p->mods, slot);
	if (!m || (t->s->only_hooked && m->prot & MODULE_EXEC))
		return;
	if (!t->s->only_hooked)
		consider(t, r, at, f, value, m);
	else if (is_ours(t->p, value))
		add(t, r, at, m, &(struct trace_patch){
			.before = value, .function = (uint32_t)f,
			.state = TRACE_PATCH_IN });
}

static void
read_object(struct table *t)
{
	Elf64_Rela some[RELAS_AT_ONCE];

	read_tables(t);
	for (int k = 0; k < 2; k++) {
		const uint64_t n = t->bytes[k] / sizeof some[0];

		for (uint64_t i = 0; t->at[k] && i < n && i < RELAS_MAX;) {
			const uint64_t few = n - i < RELAS_AT_ONCE ? n - i :
				RELAS_AT_ONCE;
			const uint64_t from = t->at[k] + i * sizeof some[0];

			if (target_read(t->p->t, from, some,
					few * sizeof some[0]) < 0)
				break;
			for (uint64_t j = 0; j < few; j++)
				look_at(t, &some[j],
					from + j * sizeof some[0]);
			i += few;
		}
	}
	map_fini(&t->known);
}

/* ---- the door ------------------------------------------------------------ */

void
slots_add(struct slots *s, const struct trace_patch *patch)
{
	s->items = xgrow(s->items, &s->cap, s->len + 1, sizeof *s->items);
	s->items[s->len++] = *patch;
}

static void
read_objects(const struct plan *p, struct slots *s)
{
	for (size_t i = 0; i < p->nimages; i++) {
		struct table t = {
			.p = p, .img = &p->images[i], .s = s,
			.first_scope = is_first_scope(p, &p->images[i]),
		};

		if (originals_is_traced(p, t.img) &&
		    !is_musl_itself(p, t.img) &&
		    t.img->symtab && t.img->strtab)
			read_object(&t);
	}
}

void
slots_find(const struct plan *p, unsigned families, struct slots *s)
{
	*s = (struct slots){ .families = families };
	originals_find(p, s);
	read_objects(p, s);
}

void
slots_find_hooked(const struct plan *p, struct slots *s)
{
	*s = (struct slots){ .only_hooked = true };
	read_objects(p, s);
}

void
slots_fini(struct slots *s)
{
	free(s->items);
}
