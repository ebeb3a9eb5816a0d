/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables: names of data at fixed places. Few ask for them, so they are
 * gathered when somebody does.
 */
#include "symfile.h"

#include <stdlib.h>

static int
by_address(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* the last one at an address is asked first */
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

static void
load(struct symfile *sf)
{
	if (sf->data_loaded)
		return;
	sf->data_loaded = true;
	if (!sf->main.elf)
		return;
	raws_collect_data(sf, &sf->data);
	if (sf->data.len)
		qsort(sf->data.items, sf->data.len, sizeof *sf->data.items,
		      by_address);
}

bool
symfile_data(struct symfile *sf, uint64_t vaddr, struct symbol *out)
{
	enum { NEIGHBOURS = 16 };	/* aliases and members before it */
	size_t low = 0, high;

	load(sf);
	high = sf->data.len;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (sf->data.items[mid].addr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = 0; i < NEIGHBOURS && i < low; i++) {
		const struct raw *raw = &sf->data.items[low - 1 - i];

		if (vaddr - raw->addr >= raw->size)
			continue;
		*out = (struct symbol){ .name = raw->name, .start = raw->addr,
					.size = raw->size };
		return true;
	}
	return false;
}

uint64_t
symfile_extent(struct symfile *sf)
{
	uint64_t end = 0;
	size_t n;

	if (!sf->main.elf || elf_getphdrnum(sf->main.elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(sf->main.elf, (int)i, &ph) &&
		    ph.p_type == PT_LOAD && ph.p_vaddr + ph.p_memsz > end)
			end = ph.p_vaddr + ph.p_memsz;
	}
	return end;
}
