/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * .gnu_debugdata: a symbol table of local functions, in an ELF file that xz has
 * packed. The data decides how much it becomes, up to some thousand times its
 * size, so it is unpacked here and not by libdwfl, which sets no bound.
 */
#include "foreign.h"
#include "symfile.h"

#include <lzma.h>
#include <stdlib.h>

enum {
	PACKED_MAX = 16 << 20,
	DICTIONARY_MAX = 128 << 20,	/* xz -9 needs 65 MB */
};

/* All of it, or NULL: damaged, or larger than a sound one becomes. */
static unsigned char *
unpack(const Elf_Data *packed, size_t *size)
{
	uint64_t memory = DICTIONARY_MAX;
	size_t at = 0, cap = 0, most = inflated_most(packed->d_size);
	unsigned char *out = NULL;
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&s, memory, 0);

	s.next_in = packed->d_buf;
	s.avail_in = packed->d_size;
	while (r == LZMA_OK && at < most) {
		out = xgrow(out, &cap, at + packed->d_size, 1);
		s.next_out = out + at;
		s.avail_out = cap - at;
		r = lzma_code(&s, LZMA_FINISH);
		at = (size_t)(s.next_out - out);
	}
	lzma_end(&s);
	*size = at;
	if (r == LZMA_STREAM_END && at > 0 && at <= most)
		return out;
	free(out);
	return NULL;
}

Elf *
symfile_mini_elf(struct symfile *sf)
{
	Elf_Scn *scn;
	GElf_Shdr shdr;
	size_t size;

	if (sf->mini_sought)
		return sf->mini.elf;
	sf->mini_sought = true;
	if (!image_section(sf->main.elf, ".gnu_debugdata", &scn, &shdr) ||
	    shdr.sh_size > PACKED_MAX)
		return NULL;

	const Elf_Data *packed = elf_rawdata(scn, NULL);

	if (!packed || !packed->d_buf || !packed->d_size)
		return NULL;

	unsigned char *bytes = unpack(packed, &size);

	if (bytes)
		(void)image_take(&sf->mini, bytes, size); /* damaged: none */
	return sf->mini.elf;
}
