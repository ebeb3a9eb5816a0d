/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables of a thread. The program's own block lies at a place fixed by the
 * machine's ABI; those of libraries are found through the thread's vector of
 * blocks, whose index glibc keeps in its list of objects. glibc describes its
 * own layout in symbols made for debuggers (_thread_db_*).
 */
#include "private.h"

#include <string.h>

static bool
tls_segment(struct object *o, uint64_t *size, uint64_t *align)
{
	Elf *elf = symfile_elf(o->symbols);
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_TLS) {
			*size = ph.p_memsz;
			*align = ph.p_align;
			return true;
		}
	}
	return false;
}

static bool
named_data(struct debug *d, const char *name, uint64_t *addr)
{
	struct symbol sym;

	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here && symfile_data_named(o->symbols, name, &sym)) {
			*addr = sym.start + o->bias;
			return true;
		}
	}
	return false;
}

/* Where a member lies that glibc describes: size in bits, count, offset. */
static bool
described(struct debug *d, const char *name, uint32_t *offset)
{
	uint32_t words[3];
	uint64_t addr;

	if (!named_data(d, name, &addr) ||
	    debug_read(d, addr, words, sizeof words) < 0)
		return false;
	*offset = words[2];
	return true;
}

/* Objects as the dynamic loader lists them: address, name, dynamic, next. */
static bool
module_number(struct debug *d, struct object *o, uint64_t *module)
{
	enum { OBJECTS_MAX = 10000 };
	uint64_t debug, map, bias;
	uint32_t offset;

	if (!described(d, "_thread_db_link_map_l_tls_modid", &offset) ||
	    !named_data(d, "_r_debug", &debug) ||
	    !debug_read_word(d, debug + 8, &map))
		return false;
	for (int i = 0; map && i < OBJECTS_MAX; i++) {
		if (!debug_read_word(d, map, &bias))
			return false;
		if (bias == o->bias && (i > 0 || o->order == 0))
			return debug_read_word(d, map + offset, module);
		if (!debug_read_word(d, map + 24, &map))
			return false;
	}
	return false;
}

int
tls_address(struct debug *d, struct object *o, uint64_t offset,
	    uint64_t *addr)
{
	uint64_t size, align, module, dtv, block, count;
	uint64_t tp;

	if (debug_regs_load(d) < 0)
		return -1;
	if (!d->regs.extra_known || d->regs.thread_pointer == 0)
		return fail(FAIL_MISSING, "the thread pointer is not known");
	tp = d->regs.thread_pointer;
	if (!tls_segment(o, &size, &align))
		return fail(FAIL_UNSUITABLE, "%s has no thread variables",
			    o->shown);
	/* with -gsplit-dwarf gcc gives an address for it */
	if (offset >= size)
		return fail(FAIL_UNSUITABLE, "the debug data says no place in "
			    "the thread's variables");
	if (o->order == 0) {
		*addr = machine.tls_block(tp, size, align) + offset;
		return 0;
	}
	if (!module_number(d, o, &module) || module == 0 ||
	    !debug_read_word(d, tp + (uint64_t)(int64_t)machine.dtv_offset,
			     &dtv) ||
	    !debug_read_word(d, dtv - 16, &count) ||
	    !debug_read_word(d, dtv + module * 16, &block))
		return fail(FAIL_MISSING, "Cannot find thread-local storage of "
			    "%s: the C library's list of it is not known",
			    o->shown);
	/* the vector's length is in front of it */
	if (module > count || block == 0 || block == UINT64_MAX)
		return fail(FAIL_MISSING, "Cannot find thread-local storage of "
			    "%s: the thread has not used it yet", o->shown);
	*addr = block + offset;
	return 0;
}
