/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The separate debug file of a load object: by build-id, by .gnu_debuglink,
 * first under the target's root and then under ours; last from debuginfod.
 *
 * A file is taken only when it proves to be the right one: the same build-id,
 * or, where the object has none, the checksum the object names. It is opened
 * as every file here, read and not mapped.
 */
#include "symfile.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char debug_root[] = "/usr/lib/debug";

static bool
same_build_id(const struct symfile *sf, Elf *elf)
{
	const void *bits;
	const ssize_t n = dwelf_elf_gnu_build_id(elf, &bits);
	struct str hex = {0};

	for (ssize_t i = 0; i < n; i++)
		str_addf(&hex, "%02x", ((const unsigned char *)bits)[i]);

	const bool same = strcmp(str_text(&hex), sf->build_id) == 0;

	str_fini(&hex);
	return same;
}

/* CRC-32 as gdb and objcopy use it: polynomial 0xedb88320, reflected. */
static void
make_crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
				(table[i] & 1 ? 0xedb88320 : 0);
	}
}

/* Its owner may make it longer meanwhile, without end: what counts is the size
 * that it has first. A sum of more than that takes too long. */
static bool
same_checksum(int fd, GElf_Word expected)
{
	const off_t most = (off_t)1 << 30;
	uint32_t table[256], crc = 0xffffffff;
	unsigned char buf[16384];
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size > most)
		return false;
	make_crc_table(table);
	for (off_t at = 0; at < st.st_size;) {
		const off_t left = st.st_size - at;
		const ssize_t n = pread(fd, buf, left < (off_t)sizeof buf ?
					(size_t)left : sizeof buf, at);

		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			crc = table[(crc ^ buf[i]) & 0xff] ^ crc >> 8;
		at += n;
	}
	return ~crc == expected;
}

static bool
try_file(struct symfile *sf, const char *path, const GElf_Word *checksum)
{
	if (image_open(&sf->debug, path))
		return false;
	if (*sf->build_id ? same_build_id(sf, sf->debug.elf) :
	    checksum && same_checksum(sf->debug.fd, *checksum))
		return true;
	image_close(&sf->debug);
	return false;
}

static bool
by_build_id(struct symfile *sf, const char *root)
{
	if (strlen(sf->build_id) < 4 || !str_is_build_id(sf->build_id))
		return false;

	char *path = xasprintf("%s%s/.build-id/%.2s/%s.debug", root,
			       debug_root, sf->build_id, sf->build_id + 2);
	const bool found = try_file(sf, path, NULL);

	free(path);
	return found;
}

/* The places gdb documents: beside the object, in .debug, in the global
 * directory. */
static bool
by_link(struct symfile *sf, const char *root)
{
	GElf_Word checksum;
	const char *link = dwelf_elf_gnu_debuglink(sf->main.elf, &checksum);
	const char *slash = strrchr(sf->shown, '/');

	if (!link || !*link || strchr(link, '/') || !slash)
		return false;

	const int dir_len = (int)(slash - sf->shown);
	const struct {
		const char *before, *behind;
	} places[] = {
		{ "", "" }, { "", "/.debug" }, { debug_root, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char *path = xasprintf("%s%s%.*s%s/%s", root, places[i].before,
				       dir_len, sf->shown, places[i].behind,
				       link);
		const bool found = try_file(sf, path, &checksum);

		free(path);
		if (found)
			return true;
	}
	return false;
}

static bool
by_debuginfod(struct symfile *sf)
{
	const int fd = server_fetch(sf->server, SERVER_DEBUG, sf->build_id,
				    sf->shown);

	if (fd < 0)
		return false;

	/* a descriptor of its cache, opened again our own way */
	char *path = xasprintf("/proc/self/fd/%d", fd);

	sf->debug_fetched = try_file(sf, path, NULL);
	free(path);
	close(fd);
	return sf->debug_fetched;
}

Elf *
symfile_debug_elf(struct symfile *sf)
{
	if (!sf->debug_sought && sf->main.elf) {
		sf->debug_sought = true;
		(void)(by_build_id(sf, sf->prefix) ||
		       by_link(sf, sf->prefix) ||
		       (*sf->prefix && (by_build_id(sf, "") ||
					by_link(sf, ""))) ||
		       by_debuginfod(sf));	/* none is an answer too */
	}
	return sf->debug.elf;
}
