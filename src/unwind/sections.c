/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections that unwinding needs, by their names; where there are no
 * section headers, by the program headers.
 */
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "foreign.h"
#include "image.h"

/* An unwind section beyond this is a lie or a bomb. */
#define SECTION_MAX ((size_t)1 << 30)

static bool
is_section(const char *name, const char *want)
{
	return name && strcmp(name, want) == 0;
}

/* Out of libelf's hands. */
static void
copy_data(const Elf_Data *data, struct section *out)
{
	if (!data || !data->d_buf || !data->d_size)
		return;
	out->data = xcalloc(1, data->d_size + SECTION_SLACK);
	memcpy(out->data, data->d_buf, data->d_size);
	out->size = data->d_size;
}

/* Without a copy in between. A size beyond the file is a lie. */
static void
read_data(const struct image *img, const GElf_Shdr *sh, struct section *out)
{
	struct stat st;

	if (!sh->sh_size || fstat(img->fd, &st) < 0 ||
	    sh->sh_offset > (uint64_t)st.st_size ||
	    sh->sh_size > (uint64_t)st.st_size - sh->sh_offset)
		return;
	out->data = xmalloc(sh->sh_size + SECTION_SLACK);
	out->size = elf_read_file(img->fd, sh->sh_offset, out->data, sh->sh_size);
	memset(out->data + out->size, 0,
	       sh->sh_size - out->size + SECTION_SLACK);
}

/* A section, unpacked. */
static void
copy_section(const struct image *img, Elf_Scn *scn, struct section *out)
{
	GElf_Shdr sh;
	GElf_Chdr ch;

	if (out->data || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
		return;

	const bool packed = sh.sh_flags & SHF_COMPRESSED;

	if (packed &&
	    (!gelf_getchdr(scn, &ch) || ch.ch_size > inflated_most(sh.sh_size) ||
	     ch.ch_size > SECTION_MAX ||
	     elf_compress(scn, 0, 0) < 0))
		return;
	if (!gelf_getshdr(scn, &sh) || sh.sh_size > SECTION_MAX)
		return;

	if (packed)
		copy_data(elf_rawdata(scn, NULL), out);
	else
		read_data(img, &sh, out);
	out->vaddr = sh.sh_addr;
}

static void
note_plt(Elf_Scn *scn, enum plt_kind kind, struct image_sections *out)
{
	GElf_Shdr sh;

	if (out->plt_count == PLT_MAX || !gelf_getshdr(scn, &sh) ||
	    sh.sh_addr > ADDRESS_MAX || sh.sh_size > SECTION_MAX)
		return;
	out->plt[out->plt_count++] = (struct plt){
		.vaddr = sh.sh_addr, .size = sh.sh_size, .kind = kind,
	};
}

static void
take_section(const struct image *img, Elf_Scn *scn, const char *name,
	     struct image_sections *out)
{
	if (is_section(name, ".eh_frame"))
		copy_section(img, scn, &out->eh_frame);
	else if (is_section(name, ".debug_frame"))
		copy_section(img, scn, &out->debug_frame);
	else if (is_section(name, ".plt"))
		note_plt(scn, PLT_LAZY, out);
	else if (is_section(name, ".plt.sec") || is_section(name, ".plt.got") ||
		 is_section(name, ".iplt"))
		note_plt(scn, PLT_DIRECT, out);
}

static void
sections_by_name(const struct image *img, struct image_sections *out)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t names;

	(void)elf_version(EV_CURRENT);	/* fails only for a stranger's libelf */
	/* ELF_C_READ, never _MMAP: see image.h */
	elf = elf_begin(img->fd, ELF_C_READ, NULL);
	if (!elf)
		return;
	if (elf_getshdrstrndx(elf, &names) == 0) {
		while ((scn = elf_nextscn(elf, scn))) {
			GElf_Shdr sh;

			if (gelf_getshdr(scn, &sh))
				take_section(img, scn,
					     elf_strptr(elf, names,
							sh.sh_name), out);
		}
	}
	(void)elf_end(elf);	/* a count of references, no result */
}

/*
 * Without section headers (memory, stripped to the bone): .eh_frame_hdr says
 * where .eh_frame begins; it ends by itself, at the latest with its segment.
 */
static void
eh_frame_by_header(const struct image *img, struct section *out)
{
	enum { PCREL_SDATA4 = 0x1b };
	unsigned char hdr[8];
	const struct segment *seg;
	int32_t rel;

	if (!img->unwind_hdr ||
	    elf_image_read(img, img->unwind_hdr, hdr, sizeof hdr) != sizeof hdr ||
	    hdr[0] != 1 || hdr[1] != PCREL_SDATA4)
		return;
	memcpy(&rel, hdr + 4, sizeof rel);
	out->vaddr = img->unwind_hdr + 4 + (uint64_t)(int64_t)rel;
	seg = elf_image_segment(img, out->vaddr);
	if (!seg)
		return;

	const uint64_t size = img->fd < 0 ? seg->memsz : seg->filesz;
	const uint64_t at = out->vaddr - seg->vaddr;

	if (at >= size || size - at > SECTION_MAX ||
	    (img->fd < 0 && size - at > img->size))
		return;

	const size_t room = size - at;

	out->data = xcalloc(1, room + SECTION_SLACK);
	out->size = elf_image_read(img, out->vaddr, out->data, room);
}

void
elf_image_sections(const struct image *img, struct image_sections *out)
{
	*out = (struct image_sections){ 0 };
	if (img->fd >= 0)
		sections_by_name(img, out);
	if (!out->eh_frame.data)
		eh_frame_by_header(img, &out->eh_frame);
}

void
elf_image_sections_fini(struct image_sections *sections)
{
	free(sections->eh_frame.data);
	free(sections->debug_frame.data);
	*sections = (struct image_sections){ 0 };
}
