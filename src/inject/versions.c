/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Versions of symbols, as the target's memory shows them: a definition's own,
 * and the one that an import asks for. Two definitions of one name may be of
 * different functions, as glibc's old and new condition variables are.
 */
#include <elf.h>

#include "private.h"

enum { ENTRIES_MAX = 4096, NAME_BYTES_MAX = 64 };
enum { HIDDEN = 0x8000, NONE = 2 };	/* below: local, global */

static uint16_t
number_of(struct look *k, const struct image *img, uint32_t index)
{
	uint16_t n;

	if (!img->versym ||
	    look_read(k, img->versym + 2ull * index, &n, sizeof n) < 0)
		return 0;
	return n;
}

static uint64_t
text_at(const struct image *img, uint32_t offset)
{
	return img->strtab && offset < img->strsz ? img->strtab + offset : 0;
}

bool
version_is_hidden(struct look *k, const struct image *img, uint32_t index)
{
	return number_of(k, img, index) & HIDDEN;
}

uint64_t
version_of(struct look *k, const struct image *img, uint32_t index)
{
	const uint16_t wanted = number_of(k, img, index) & ~HIDDEN;
	uint64_t at = img->verdef;

	for (int i = 0; at && wanted >= NONE && i < ENTRIES_MAX; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;

		if (look_read(k, at, &def, sizeof def) < 0)
			break;
		if ((def.vd_ndx & ~HIDDEN) == wanted)
			return look_read(k, at + def.vd_aux, &aux,
					 sizeof aux) < 0 ? 0 :
				text_at(img, aux.vda_name);
		at = def.vd_next ? at + def.vd_next : 0;
	}
	return 0;
}

/* Of one library's, the name by this number. */
static uint64_t
wanted_of(struct look *k, const struct image *img, uint64_t at,
	  uint16_t wanted)
{
	for (int i = 0; i < ENTRIES_MAX; i++) {
		Elf64_Vernaux aux;

		if (look_read(k, at, &aux, sizeof aux) < 0)
			break;
		if ((aux.vna_other & ~HIDDEN) == wanted)
			return text_at(img, aux.vna_name);
		if (!aux.vna_next)
			break;
		at += aux.vna_next;
	}
	return 0;
}

uint64_t
version_wanted(struct look *k, const struct image *img, uint32_t index)
{
	const uint16_t wanted = number_of(k, img, index) & ~HIDDEN;
	uint64_t at = img->verneed;

	for (int i = 0; at && wanted >= NONE && i < ENTRIES_MAX; i++) {
		Elf64_Verneed need;
		uint64_t name;

		if (look_read(k, at, &need, sizeof need) < 0)
			break;
		name = wanted_of(k, img, at + need.vn_aux, wanted);
		if (name)
			return name;
		at = need.vn_next ? at + need.vn_next : 0;
	}
	return 0;
}

bool
version_is(struct look *k, uint64_t a, uint64_t b)
{
	for (int i = 0; a && b && i < NAME_BYTES_MAX; i++) {
		char x, y;

		if (look_read(k, a + (uint64_t)i, &x, 1) < 0 ||
		    look_read(k, b + (uint64_t)i, &y, 1) < 0 || x != y)
			return false;
		if (!x)
			return true;
	}
	return false;
}
