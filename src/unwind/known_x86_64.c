/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text without unwind data on x86-64 (known.c).
 */
#include <string.h>

#include "frames.h"

/*
 * lld, mold and gold write stubs without unwind data; a frame pointer would
 * skip their caller. Where an entry's push ends is seen in its code.
 */
static void
add_lazy_plt(struct frames *f, const struct image *img, const struct plt *plt)
{
	enum { ENTRY = 16, PUSH_OF_HEAD = 6 };
	static const uint8_t endbr_push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68 };
	const uint64_t entries = plt->vaddr + ENTRY, end = plt->vaddr + plt->size;
	uint8_t code[ENTRY];

	if (plt->size < 2 * ENTRY ||
	    elf_image_read(img, entries, code, sizeof code) != sizeof code)
		return;
	/* the head: push the link map, jump to the resolver */
	frames_add_fixed(f, img, plt->vaddr, plt->vaddr + PUSH_OF_HEAD, STEP_SP, 2);
	frames_add_fixed(f, img, plt->vaddr + PUSH_OF_HEAD, entries, STEP_SP, 3);
	if (memcmp(code, endbr_push, sizeof endbr_push) == 0)
		frames_add_fixed(f, img, entries, end, STEP_PLT, 9);
	else if (code[0] == 0xff && code[1] == 0x25 && code[6] == 0x68)
		frames_add_fixed(f, img, entries, end, STEP_PLT, 11);
	else
		frames_add_fixed(f, img, entries, end, STEP_SP, 1);
}

/* `mov $15, %rax; syscall`, also with the 32-bit mov. */
static bool
is_sigreturn(const uint8_t *code, size_t n, size_t *length)
{
	static const uint8_t wide[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	}, narrow[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	*length = sizeof wide;
	if (n >= sizeof wide && memcmp(code, wide, sizeof wide) == 0)
		return true;
	*length = sizeof narrow;
	return n >= sizeof narrow && memcmp(code, narrow, sizeof narrow) == 0;
}

static void
find_sigreturn(struct frames *f, const struct image *img, uint64_t vaddr,
	       const uint8_t *text, size_t n)
{
	const uint8_t *at = text, *end = text + n;
	size_t length;

	/* every form has 0x0f after its opcode; the hit is 1 or 3 before */
	while ((at = memchr(at, 0x0f, (size_t)(end - at)))) {
		for (size_t back = 1; back <= 3; back += 2) {
			if ((size_t)(at - text) < back ||
			    !is_sigreturn(at - back, (size_t)(end - at) + back,
					  &length))
				continue;

			const uint64_t pc = vaddr + (uint64_t)(at - text) - back;

			/* looked up as a return address: one byte lower */
			frames_add_fixed(f, img, pc - 1, pc + length, STEP_SIGNAL, 0);
		}
		at++;
	}
}

/*
 * Where main and a thread's function are called, libc without unwind data
 * gives what they return to a function that does not return, and nothing but
 * padding follows: the outermost frame. (A frame pointer there may be
 * anything.)
 *
 *	call *reg; mov %eax, %edi or %rax, %rdi; call; nop
 */
static void
find_outermost(struct frames *f, const struct image *img, uint64_t vaddr,
	       const uint8_t *text, size_t n)
{
	enum { CALL = 2, MOVE = 3, CALL_NEXT = 5, NOP = 3 };

	for (size_t i = 0; i + CALL + MOVE + CALL_NEXT + NOP <= n; i++) {
		const uint8_t *at = text + i;
		const bool wide = at[CALL] == 0x48;
		const uint8_t *next = at + CALL + wide;

		if (at[0] != 0xff || at[1] < 0xd0 || at[1] > 0xd7 ||
		    next[0] != 0x89 || next[1] != 0xc7 || next[2] != 0xe8)
			continue;
		next += 2 + CALL_NEXT;
		if ((next[0] == 0x66 && next[1] == 0x2e) ||
		    (next[0] == 0x66 && next[1] == 0x0f && next[2] == 0x1f) ||
		    (next[0] == 0x0f && next[1] == 0x1f))
			frames_add_fixed(f, img, vaddr + i, vaddr + i + CALL,
				  STEP_END, 0);
	}
}

void
known_text(struct frames *f, const struct image *img, uint64_t vaddr,
	   const uint8_t *text, size_t n)
{
	find_sigreturn(f, img, vaddr, text, n);
	find_outermost(f, img, vaddr, text, n);
}

void
known_plt(struct frames *f, const struct image *img, const struct plt *plt)
{
	if (plt->kind == PLT_LAZY)
		add_lazy_plt(f, img, plt);
	else
		frames_add_fixed(f, img, plt->vaddr, plt->vaddr + plt->size,
				 STEP_SP, 1);
}
