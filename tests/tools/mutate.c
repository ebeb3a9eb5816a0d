/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mutate: damage an ELF file in place, as a number says, so that it can be
 * done again.
 *
 *	mutate FILE SEED PREFIX...
 *
 * Bytes of sections whose names begin so; PREFIX "load": of what is loaded;
 * "note": of notes. Every eighth number cuts the file short as well.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 256 };

struct part {
	uint64_t offset, size;
};

static struct part parts[PARTS_MAX];
static size_t part_len;
static uint64_t state;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void
add(uint64_t offset, uint64_t size)
{
	if (size && part_len < PARTS_MAX)
		parts[part_len++] = (struct part){ offset, size };
}

static void
add_sections(Elf *elf, const char *prefix)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t table;

	if (elf_getshdrstrndx(elf, &table) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *name = gelf_getshdr(scn, &sh) ?
			elf_strptr(elf, table, sh.sh_name) : NULL;

		if (name && sh.sh_type != SHT_NOBITS &&
		    strncmp(name, prefix, strlen(prefix)) == 0)
			add(sh.sh_offset, sh.sh_size);
	}
}

static void
add_segments(Elf *elf, uint32_t type)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == type)
			add(ph.p_offset, ph.p_filesz);
}

static void
damage(int fd)
{
	static const unsigned char likely[] = { 0, 1, 0x7f, 0x80, 0xff };
	const uint64_t n = 1 + next() % 40;

	for (uint64_t i = 0; i < n && part_len; i++) {
		const struct part *p = &parts[next() % part_len];
		const off_t at = (off_t)(p->offset + next() % p->size);
		const unsigned char byte = next() & 1 ?
			(unsigned char)next() : likely[next() % 5];

		if (pwrite(fd, &byte, 1, at) != 1)
			exit(99);
	}
}

int
main(int argc, char **argv)
{
	const int fd = argc > 3 ? open(argv[1], O_RDWR) : -1;
	Elf *elf;

	if (fd < 0)
		return 99;
	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	for (int i = 3; elf && i < argc; i++) {
		if (strcmp(argv[i], "load") == 0)
			add_segments(elf, PT_LOAD);
		else if (strcmp(argv[i], "note") == 0)
			add_segments(elf, PT_NOTE);
		else
			add_sections(elf, argv[i]);
	}
	elf_end(elf);
	(void)next();
	damage(fd);
	if (next() % 8 == 0 && part_len &&
	    ftruncate(fd, (off_t)(parts[next() % part_len].offset +
				  next() % 64)) < 0)
		return 99;
	return 0;
}
