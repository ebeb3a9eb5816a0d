/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text without unwind data that we know by heart: stubs of linkers, and the
 * sigreturn of some libcs. What it looks like is in known_MACHINE.c.
 */
#include <stdlib.h>

#include "arch.h"
#include "base.h"
#include "frames.h"

void
frames_add_fixed(struct frames *f, const struct image *img, uint64_t start,
		 uint64_t end, unsigned kind, unsigned cfa)
{
	const struct frame_fde fde = {
		.start = start, .end = end,
		.fixed_kind = (uint8_t)kind, .fixed_cfa = (uint16_t)cfa,
	};

	if (frames_in_text(img, start, end))
		frames_add(f, &fde);
}

/*
 * musl's and Go's sigreturn stubs have no data. Only who needs no other
 * object can hold one, so that other text is not read at all.
 */
static void
scan_text(struct frames *f, const struct image *img)
{
	enum { TEXT_MAX = 1 << 26 };

	if (img->needs_others)
		return;
	for (size_t i = 0; i < img->segment_count; i++) {
		const struct segment *seg = &img->segments[i];

		if (!seg->exec || seg->filesz > TEXT_MAX ||
		    (img->fd < 0 && seg->filesz > img->size))
			continue;

		uint8_t *text = xmalloc(seg->filesz + 1);
		const size_t n = elf_image_read(img, seg->vaddr, text, seg->filesz);

		known_text(f, img, seg->vaddr, text, n);
		free(text);
	}
}

void
frames_add_known(struct frames *f, const struct image *img)
{
	const size_t old = f->count;

	if (img->header.e_machine != arch.elf_machine)
		return;
	for (size_t i = 0; i < f->sections.plt_count; i++)
		known_plt(f, img, &f->sections.plt[i]);
	scan_text(f, img);
	frames_merge(f, old);
}
