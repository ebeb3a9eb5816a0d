/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One load object: opening it and where its parts lie. A file is read, never
 * mapped: its owner may truncate it while we look, and a mapped page that is
 * gone would kill us. libelf checks the bounds of everything it hands out.
 */
#include "foreign.h"
#include "symfile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
image_begin(struct image *im)
{
	if (!im->elf || elf_kind(im->elf) != ELF_K_ELF)
		return "not an ELF file";
	if (gelf_getclass(im->elf) != ELFCLASS64)
		return "a 32-bit ELF file, sonde reads 64-bit ones";

	GElf_Ehdr ehdr;

	if (!gelf_getehdr(im->elf, &ehdr))
		return "a truncated ELF file";
	if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
		return "neither a program nor a shared library";
	return NULL;
}

const char *
image_open(struct image *im, const char *path)
{
	(void)elf_version(EV_CURRENT);	/* only an ancient libelf refuses */
	*im = (struct image){ .fd = -1 };
	/* a fifo or a device may lie where the file was: never wait on it */
	im->fd = foreign_open(path, 0);
	if (im->fd < 0)
		return foreign_error(errno);

	/* libelf reads a section whole, however little of it is there. It takes
	 * the size of the file once: no hole that is made later counts. */
	if (!file_is_hollow(im->fd))
		im->elf = elf_begin(im->fd, ELF_C_READ, NULL);

	const char *why = file_is_hollow(im->fd) ?
		"a file that is mostly holes" : image_begin(im);

	if (why)
		image_close(im);
	return why;
}

const char *
image_take(struct image *im, void *bytes, size_t size)
{
	(void)elf_version(EV_CURRENT);
	*im = (struct image){ .fd = -1, .copy = bytes };
	im->elf = elf_memory(im->copy, size);

	const char *why = image_begin(im);

	if (why)
		image_close(im);
	return why;
}

void
image_close(struct image *im)
{
	if (im->elf)
		(void)elf_end(im->elf);
	if (im->fd >= 0)
		close(im->fd);
	free(im->copy);
	*im = (struct image){ .fd = -1 };
}

void
image_release(struct image *im)
{
	if (im->fd < 0 || elf_cntl(im->elf, ELF_C_FDDONE) != 0)
		return;
	close(im->fd);
	im->fd = -1;
}

static const char *
section_name(Elf *elf, const GElf_Shdr *shdr)
{
	size_t table;

	if (elf_getshdrstrndx(elf, &table) < 0)
		return "";

	const char *name = elf_strptr(elf, table, shdr->sh_name);

	return name ? name : "";
}

bool
image_section(Elf *elf, const char *name, Elf_Scn **scn, GElf_Shdr *shdr)
{
	*scn = NULL;
	while ((*scn = elf_nextscn(elf, *scn)) != NULL)
		if (gelf_getshdr(*scn, shdr) &&
		    strcmp(section_name(elf, shdr), name) == 0)
			return true;
	return false;
}

static void
read_segments(struct symfile *sf)
{
	size_t n;

	if (elf_getphdrnum(sf->main.elf, &n) < 0)
		return;
	for (size_t i = 0, cap = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(sf->main.elf, (int)i, &ph))
			break;
		if (ph.p_type != PT_LOAD || ph.p_filesz == 0 ||
		    ph.p_offset + ph.p_filesz < ph.p_offset ||
		    ph.p_vaddr + ph.p_filesz < ph.p_vaddr)
			continue;
		sf->segments = xgrow(sf->segments, &cap, sf->segment_len + 1,
				     sizeof *sf->segments);
		sf->segments[sf->segment_len++] = (struct segment){
			.offset = ph.p_offset, .vaddr = ph.p_vaddr,
			.size = ph.p_filesz,
			.executable = (ph.p_flags & PF_X) != 0,
		};
	}
}

static void
add_section(struct symfile *sf, size_t *cap, uint64_t start, uint64_t size,
	    bool is_plt)
{
	if (size == 0 || start + size < start)
		return;
	sf->sections = xgrow(sf->sections, cap, sf->section_len + 1,
			     sizeof *sf->sections);
	sf->sections[sf->section_len++] = (struct section){
		.at = { start, start + size }, .is_plt = is_plt,
	};
}

static bool
is_plt_name(const char *name)
{
	return strcmp(name, ".plt") == 0 || str_starts(name, ".plt.") ||
		strcmp(name, ".iplt") == 0;
}

static int
by_start(const void *a, const void *b)
{
	const struct section *x = a, *y = b;

	return x->at.start < y->at.start ? -1 : x->at.start > y->at.start;
}

/* Without section headers the executable segments stand for sections. */
static void
read_sections(struct symfile *sf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t cap = 0;

	while ((scn = elf_nextscn(sf->main.elf, scn)) != NULL)
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR) &&
		    (sh.sh_flags & SHF_ALLOC))
			add_section(sf, &cap, sh.sh_addr, sh.sh_size,
				    is_plt_name(section_name(sf->main.elf,
							     &sh)));

	const bool bare = sf->section_len == 0;

	for (size_t i = 0; bare && i < sf->segment_len; i++)
		if (sf->segments[i].executable)
			add_section(sf, &cap, sf->segments[i].vaddr,
				    sf->segments[i].size, false);
	if (sf->section_len > 0)
		qsort(sf->sections, sf->section_len, sizeof *sf->sections,
		      by_start);
}

const struct section *
symfile_section(const struct symfile *sf, uint64_t vaddr)
{
	size_t low = 0, high = sf->section_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (sf->sections[mid].at.start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || vaddr >= sf->sections[low - 1].at.end)
		return NULL;
	return &sf->sections[low - 1];
}

static void
read_build_id(struct symfile *sf)
{
	const void *bits;
	const ssize_t n = dwelf_elf_gnu_build_id(sf->main.elf, &bits);
	struct str hex = {0};

	for (ssize_t i = 0; n <= BUILD_ID_BYTES_MAX && i < n; i++)
		str_addf(&hex, "%02x", ((const unsigned char *)bits)[i]);
	sf->build_id = hex.data ? str_take(&hex) : xstrdup("");
}

/* A copy that was cut short still has its header, but not what it names. */
static bool
is_truncated(const struct symfile *sf)
{
	struct stat st;
	GElf_Ehdr ehdr;

	if (sf->main.fd < 0 || fstat(sf->main.fd, &st) < 0 ||
	    !gelf_getehdr(sf->main.elf, &ehdr))
		return false;

	const uint64_t size = (uint64_t)st.st_size;

	if (ehdr.e_shoff > size ||
	    (uint64_t)ehdr.e_shnum * ehdr.e_shentsize > size - ehdr.e_shoff ||
	    ehdr.e_phoff > size ||
	    (uint64_t)ehdr.e_phnum * ehdr.e_phentsize > size - ehdr.e_phoff)
		return true;
	for (size_t i = 0; i < sf->segment_len; i++)
		if (sf->segments[i].offset + sf->segments[i].size > size)
			return true;
	return false;
}

static struct symfile *
symfile_new(const char *path, const char *shown, const char *prefix)
{
	struct symfile *sf = xcalloc(1, sizeof *sf);

	sf->path = xstrdup(path);
	sf->shown = xstrdup(shown);
	sf->prefix = xstrdup(prefix);
	sf->main.fd = sf->debug.fd = sf->mini.fd = -1;
	sf->source = SYMFILE_NONE;
	return sf;
}

static struct symfile *
symfile_start(struct symfile *sf, const char *fault)
{
	if (fault) {
		sf->fault = xstrdup(fault);
		sf->build_id = xstrdup("");
		return sf;
	}
	read_segments(sf);
	read_sections(sf);
	read_build_id(sf);
	if (is_truncated(sf))
		sf->fault = xstrdup("a truncated ELF file");
	return sf;
}

struct symfile *
symfile_open(const char *path, const char *shown, const char *prefix)
{
	struct symfile *sf = symfile_new(path, shown, prefix);

	return symfile_start(sf, image_open(&sf->main, path));
}

struct symfile *
symfile_memory(const void *image, size_t size, const char *shown)
{
	struct symfile *sf = symfile_new("", shown, "");

	void *copy = xmalloc(size);

	memcpy(copy, image, size);
	sf->debug_sought = true;	/* an image in memory has no files */
	return symfile_start(sf, image_take(&sf->main, copy, size));
}

void
symfile_ask(struct symfile *sf, struct symbol_server *server)
{
	sf->server = server;
}

void
symfile_free(struct symfile *sf)
{
	if (!sf)
		return;
	operands_free(sf->operands);
	functions_fini(&sf->functions);
	free(sf->data.items);
	lines_free(sf->lines);
	image_close(&sf->mini);
	image_close(&sf->debug);
	image_close(&sf->main);
	for (size_t i = 0; i < sf->segment_len; i++)
		free(sf->segments[i].code);
	free(sf->segments);
	free(sf->sections);
	free(sf->build_id);
	free(sf->trouble);
	free(sf->fault);
	free(sf->prefix);
	free(sf->shown);
	free(sf->path);
	free(sf);
}

const char *
symfile_path(const struct symfile *sf)
{
	return sf->path;
}

const char *
symfile_shown(const struct symfile *sf)
{
	return sf->shown;
}

const char *
symfile_build_id(struct symfile *sf)
{
	return sf->build_id;
}

enum symfile_source
symfile_source(struct symfile *sf)
{
	functions_load(sf);
	return sf->source;
}

/* Segments may share a page but not a byte; should they, code is meant. */
uint64_t
symfile_vaddr(struct symfile *sf, uint64_t offset)
{
	const struct segment *found = NULL;

	for (size_t i = 0; i < sf->segment_len; i++) {
		const struct segment *seg = &sf->segments[i];

		if (offset < seg->offset || offset - seg->offset >= seg->size)
			continue;
		if (!found || (seg->executable && !found->executable))
			found = seg;
	}
	return found ? found->vaddr + (offset - found->offset) : offset;
}
