/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is there a name at all in an object's debug information? To look for one in
 * the entries, libdw unpacks every section and each unit is walked: of libc
 * alone that is most of what a short visit costs. The bytes of a name stand in
 * one of few sections, whatever form an entry has it in, so that these are
 * unpacked, as libdw would, and searched. What is found may be another name's
 * end, or none; what is not found is not there.
 */
#include "symfile.h"

#include <string.h>

static const Elf_Data *
unpacked(Elf_Scn *scn, const GElf_Shdr *shdr)
{
	if (shdr->sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return NULL;
	return elf_getdata(scn, NULL);
}

/* Templates have their arguments behind it. */
static bool
has_name(const Elf_Data *data, const char *name, size_t n)
{
	const char *at = data->d_buf, *end;

	if (!at || data->d_size == 0)
		return false;
	end = at + data->d_size;
	while ((at = memmem(at, (size_t)(end - at), name, n)) != NULL) {
		at += n;
		if (at == end || *at == '\0' || *at == '<')
			return true;
	}
	return false;
}

static bool
section_mentions(Elf *elf, const char *section, const char *name)
{
	Elf_Scn *scn;
	GElf_Shdr shdr;
	const Elf_Data *data;

	if (!image_section(elf, section, &scn, &shdr) ||
	    shdr.sh_type == SHT_NOBITS)
		return false;
	data = unpacked(scn, &shdr);
	return !data || has_name(data, name, strlen(name));
}

/* Names in another file: of dwz, or of units that are split, whose functions
 * find their addresses by .debug_addr. */
static bool
is_in_parts(Elf *elf)
{
	static const char *const signs[] = {
		".gnu_debugaltlink", ".debug_sup", ".debug_addr",
		".zdebug_info",
	};
	Elf_Scn *scn;
	GElf_Shdr shdr;

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (image_section(elf, signs[i], &scn, &shdr))
			return true;
	return false;
}

bool
debug_mentions(struct symfile *sf, const char *name)
{
	static const char *const sections[] = {
		".debug_str", ".debug_line_str", ".debug_types", ".debug_info",
	};
	Elf *elf = lines_elf(sf);

	if (!elf || !lines_inflate_soundly(elf))
		return false;
	if (!*name || is_in_parts(elf))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (section_mentions(elf, sections[i], name))
			return true;
	return false;
}
