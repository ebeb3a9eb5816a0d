/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lazy binding. The first call by way of a PLT slot does not reach its
 * function: the stub jumps into the dynamic linker, which looks the name up.
 * Nothing of the stub is on the stack then, and whoever called sees its own
 * call take longer. So those frames of the linker become one, the @plt of the
 * object whose slot it was, with all of their time. What they call outside of
 * the linker (a function that chooses another, the kernel, an auditor and,
 * under audit, the function itself) stays, as callees of @plt.
 *
 * Whose slot it was is known by the call: its target must be a stub of the
 * object that it stands in. Where it is not (a jump at a function's end, a
 * call by pointer), the frames stay as they are.
 */
#include "arch.h"
#include "private.h"

#include <string.h>

bool
lazy_is_resolver(const struct object *obj, const struct symbol *sym)
{
	/* nothing without a name can be called from outside by its name */
	if (sym->is_static)
		return str_starts(obj->pub.name, "ld-linux") ||
		       str_starts(obj->pub.name, "ld64.so") ||
		       str_starts(obj->pub.name, "ld.so");
	return str_starts(sym->name, "_dl_runtime_resolve") ||
	       str_starts(sym->name, "_dl_runtime_profile");
}

static bool
is_stub_called(struct symfile *sf, uint64_t vaddr, size_t length)
{
	unsigned char code[8];
	struct symbol sym;

	if (!symfile_code(sf, vaddr, code, length))
		return false;

	const uint64_t to = arch.call_target(code, length, vaddr + length);

	return to && symfile_find(sf, to, &sym) && sym.is_plt;
}

/* PCs of callers are those of the call or, where its length is not certain,
 * of its last byte. */
static bool
calls_stub(const struct profile *prof, const struct location *loc)
{
	enum { SHORTEST = 4, LONGEST = 5 };
	const struct object *obj = object_at(prof, loc->object);

	if (!obj->pub.symbols ||
	    symfile_machine(obj->pub.symbols) != arch.elf_machine)
		return false;
	for (size_t n = SHORTEST; n <= LONGEST; n++)
		if (is_stub_called(obj->pub.symbols, loc->vaddr, n) ||
		    is_stub_called(obj->pub.symbols, loc->vaddr + 1 - n, n))
			return true;
	return false;
}

/* The location that stands for the linker's frames; LOCATION_NONE: it is not
 * known whose slot it was. */
static uint32_t
slot_called(struct profile *prof, uint32_t caller)
{
	struct location *loc = &prof->locations[caller];

	if (loc->slot)
		return loc->slot - 1;

	const uint32_t to = calls_stub(prof, loc) ?
		symbolize_plt(prof, loc->object) : LOCATION_NONE;

	prof->locations[caller].slot = to + 1;	/* they may have moved */
	return to;
}

/* Frames from the linker's first to the one before i, which is called. */
static uint32_t
linker_begin(const struct profile *prof, const uint32_t *frames, uint32_t i)
{
	const uint32_t object = prof->locations[frames[i]].object;

	while (i > 0 && prof->locations[frames[i - 1]].object == object)
		i--;
	return i;
}

static void
collapse(struct profile *prof, struct stack *st)
{
	uint32_t *frames = &prof->frames[st->first];

	for (uint32_t i = st->len; i-- > 0;) {
		if (i + 1 >= st->len || !prof->locations[frames[i]].is_resolver)
			continue;

		const uint32_t slot = slot_called(prof, frames[i + 1]);

		if (slot == LOCATION_NONE)
			continue;

		const uint32_t begin = linker_begin(prof, frames, i);

		frames[begin] = slot;
		memmove(&frames[begin + 1], &frames[i + 1],
			(st->len - i - 1) * sizeof *frames);
		st->len -= i - begin;
		i = begin;
	}
}

void
lazy_collapse(struct profile *prof)
{
	for (size_t i = 0; i < prof->stacks_len; i++)
		collapse(prof, &prof->stacks[i]);
}
