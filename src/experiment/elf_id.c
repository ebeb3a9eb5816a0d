/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The build-id of a file, by reading its program headers and notes and
 * nothing else: files come from strangers, and their debug data must not
 * matter to whoever records.
 */
#include "elf_id.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MAX = 64 << 10, HEADERS_MAX = 512 };

static bool
read_at(int fd, void *to, size_t n, uint64_t offset)
{
	return pread(fd, to, n, (off_t)offset) == (ssize_t)n;
}

static size_t
padded(size_t n)
{
	return (n + 3) / 4 * 4;
}

static bool
find_in_notes(const unsigned char *notes, size_t size, struct str *id)
{
	Elf64_Nhdr note;

	for (size_t at = 0; size - at >= sizeof note; ) {
		memcpy(&note, notes + at, sizeof note);
		at += sizeof note;

		const size_t name = padded(note.n_namesz);
		const size_t desc = padded(note.n_descsz);

		if (name > size - at || desc > size - at - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0) {
			for (size_t i = 0; i < note.n_descsz; i++)
				str_addf(id, "%02x", notes[at + name + i]);
			return true;
		}
		at += name + desc;
	}
	return false;
}

bool
elf_id(int fd, struct str *id)
{
	Elf64_Ehdr head;

	str_clear(id);
	if (!read_at(fd, &head, sizeof head, 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	if (head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr))
		return true;
	for (size_t i = 0; i < head.e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr ph;
		bool found = false;

		if (!read_at(fd, &ph, sizeof ph, head.e_phoff + i * sizeof ph))
			return true;
		if (ph.p_type != PT_NOTE || ph.p_filesz > NOTES_MAX)
			continue;

		unsigned char *notes = xmalloc(ph.p_filesz + 1);

		if (read_at(fd, notes, ph.p_filesz, ph.p_offset))
			found = find_in_notes(notes, ph.p_filesz, id);
		free(notes);
		if (found)
			return true;
	}
	return true;
}
