/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text without unwind data on AArch64 (known.c): linkers' stubs, all the way
 * of which the return address stays in its register; and sigreturn, which the
 * kernel (since 5.8) leaves without data in its vDSO as libcs do.
 */
#include <string.h>

#include "frames.h"

enum {
	WORD = 4,
	BTI_C = 0xd503245fu,
	PUSH_LINK = 0xa9bf7bf0u,	/* stp x16, x30, [sp, #-16]! */
	MOV_SIGRETURN = 0xd2801168u,	/* mov x8, #139 */
	SVC = 0xd4000001u,
};

static uint32_t
word_at(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof word);
	return word;
}

void
known_plt(struct frames *f, const struct image *img, const struct plt *plt)
{
	enum { HEAD = 32 };
	const uint64_t end = plt->vaddr + plt->size;
	uint64_t at = plt->vaddr;
	uint8_t code[2 * WORD];

	if (plt->size >= HEAD &&
	    elf_image_read(img, at, code, sizeof code) == sizeof code) {
		const uint64_t push = at + (word_at(code) == BTI_C ? WORD : 0);

		if (word_at(code + (push - at)) == PUSH_LINK) {
			frames_add_fixed(f, img, at, push + WORD,
					 STEP_LINKED, 0);
			frames_add_fixed(f, img, push + WORD, at + HEAD,
					 STEP_LINKED, 2);
			at += HEAD;
		}
	}
	frames_add_fixed(f, img, at, end, STEP_LINKED, 0);
}

void
known_text(struct frames *f, const struct image *img, uint64_t vaddr,
	   const uint8_t *text, size_t n)
{
	for (size_t i = 0; i + 2 * WORD <= n; i += WORD) {
		const uint64_t pc = vaddr + i;

		/* looked up as a return address: one byte lower */
		if (word_at(text + i) == MOV_SIGRETURN &&
		    word_at(text + i + WORD) == SVC)
			frames_add_fixed(f, img, pc - 1, pc + 2 * WORD,
					 STEP_SIGNAL, 0);
	}
}
