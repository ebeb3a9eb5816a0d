/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The helper thread's memory: code, block, stack, and a thread descriptor
 * with TLS as libc would have made it. The layout comes from what libc tells
 * libthread_db, the rest is the x86-64 ABI of the thread control block,
 * unchanged since glibc 2.4:
 *
 *	tp + 0x00 tcb, 0x08 dtv, 0x10 self, 0x18 multiple_threads,
 *	0x28 stack guard, 0x30 pointer guard
 *
 * The dtv has room to spare, so that libc never tries to grow (realloc) one
 * that it has not allocated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "private.h"

enum {
	PAGE = 4096,
	FRAME_ROOM = 5 * PAGE,
	HELPER_STACK = 16 * PAGE,
	THREAD_STACK = 64 * PAGE,
	DTV_SPARE = 512,
	DTV_MAX = 1 << 16,
	TLS_MAX = 64 << 20,
	RSEQ_CPU_AT = 4,
};

enum tcb {
	TCB_SELF = 0x00, TCB_DTV = 0x08, TCB_SELF_TOO = 0x10,
	TCB_MULTIPLE = 0x18, TCB_GUARDS = 0x28, TCB_GUARDS_SIZE = 0x10,
};

struct dtv_slot {
	uint64_t value, to_free;
};

static size_t
round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* ---- the plan ------------------------------------------------------------ */

struct tls_extent {
	uint64_t offset, align, modules;
};

static int
measure_tls(struct plan *p, struct tls_extent *e)
{
	size_t i;

	*e = (struct tls_extent){ 0, 64, 0 };
	for (i = 0; i < p->nimages; i++) {
		struct image *img = &p->images[i];
		uint64_t module, offset;

		if (!img->tls_memsz)
			continue;
		if (target_read(p->t, img->link_map + p->off_modid, &module,
				sizeof module) < 0 ||
		    target_read(p->t, img->link_map + p->off_tlsoff, &offset,
				sizeof offset) < 0)
			return -1;
		if (module > DTV_MAX)
			return fail(FAIL_UNSUITABLE, "its link maps make no "
				    "sense");
		if (module > e->modules)
			e->modules = module;
		/* 0 and -1: allocated lazily, elsewhere. */
		if (module == 0 || offset == 0 || offset + 1 == 0)
			continue;
		if (offset > TLS_MAX || img->tls_memsz > offset ||
		    img->tls_filesz > img->tls_memsz)
			return fail(FAIL_UNSUITABLE, "its thread storage "
				    "makes no sense");
		img->tls_module = module;
		img->tls_offset = offset;
		if (offset > e->offset)
			e->offset = offset;
		if (img->tls_align > e->align)
			e->align = img->tls_align;
	}
	return 0;
}

int
scratch_plan(struct plan *p, struct scratch *s)
{
	struct tls_extent e;
	size_t dtv, tp;

	memset(s, 0, sizeof *s);
	e = (struct tls_extent){ 0, 64, 0 };
	if (!p->by_hand && measure_tls(p, &e) < 0)
		return -1;
	if (e.align > PAGE)
		return fail(FAIL_UNSUITABLE, "its thread storage wants an "
			    "alignment of %llu", (unsigned long long)e.align);
	s->call = STUB_BLOCK + PAGE;
	s->then = s->call + THEN_AT;
	s->frame = s->call + PAGE;
	s->frame_size = FRAME_ROOM;
	s->stack_top = s->frame + FRAME_ROOM + HELPER_STACK;
	s->tls = s->stack_top;
	dtv = (e.modules + 1 + DTV_SPARE + 1) * sizeof(struct dtv_slot);
	tp = round_up(s->tls + dtv + e.offset, e.align > 64 ? e.align : 64);
	s->tp = tp;
	s->tls_size = round_up(tp - s->tls + p->sizeof_pthread + 512, PAGE);
	s->thread_stack = s->tls + s->tls_size;
	s->size = s->thread_stack;
	if (p->by_hand)			/* no other thread */
		return 0;
	s->guard = s->thread_stack;
	s->thread_stack += PAGE;
	s->size = s->thread_stack;
	s->thread_stack_size = THREAD_STACK + round_up(e.offset, PAGE) +
		round_up(p->sizeof_pthread, PAGE);
	s->size += s->thread_stack_size;
	return 0;
}

/* What needs more stack than there is ends by a fault of its own, and not by one
 * of the helper, whose stack and storage lie below. It can be read: a page that
 * cannot is the mark of libc's stacks (publish.c), and what the program has
 * above ours is one mapping with it. */
int
scratch_guard(const struct plan *p, const struct scratch *s, pid_t helper,
	      const struct user_regs_struct *regs)
{
	const uint64_t args[6] = { s->at + s->guard, PAGE, PROT_READ };
	int64_t result;

	if (!s->guard)
		return 0;
	if (remote_syscall(p, helper, regs, SYS_mprotect, args, &result, NULL,
			   NULL) < 0)
		return -1;
	errno = (int)-result;
	return result < 0 ? fail_errno("mprotect in the target") : 0;
}

/* ---- TLS ----------------------------------------------------------------- */

static void
put(unsigned char *image, size_t at, const void *bytes, size_t n)
{
	memcpy(image + at, bytes, n);
}

static void
put_word(unsigned char *image, size_t at, uint64_t word)
{
	put(image, at, &word, sizeof word);
}

/* The initial image of each module's storage, and its place in the dtv. */
static int
put_modules(const struct plan *p, const struct scratch *s,
	    unsigned char *image, struct dtv_slot *dtv)
{
	const size_t tp = s->tp - s->tls;
	size_t i;

	for (i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];

		if (!img->tls_module)
			continue;
		if (img->tls_filesz &&
		    target_read(p->t, img->tls_image,
				image + tp - img->tls_offset,
				img->tls_filesz) < 0)
			return -1;
		dtv[1 + img->tls_module].value =
			s->at + s->tp - img->tls_offset;
		dtv[1 + img->tls_module].to_free = 0;
	}
	return 0;
}

/* What only a living thread can tell. */
static int
put_descriptor(const struct plan *p, const struct scratch *s,
	       unsigned char *image, uint64_t donor_tp, uint64_t *generation)
{
	const size_t tp = s->tp - s->tls;
	const uint64_t here = s->at + s->tp;
	const uint32_t one = 1, not_registered = (uint32_t)-2;
	unsigned char guards[TCB_GUARDS_SIZE];
	uint64_t self, dtv, specific;

	if (target_read(p->t, donor_tp + TCB_SELF_TOO, &self, 8) < 0 ||
	    target_read(p->t, donor_tp + TCB_DTV, &dtv, 8) < 0 ||
	    target_read(p->t, donor_tp + TCB_GUARDS, guards,
			sizeof guards) < 0 ||
	    target_read(p->t, donor_tp + p->off_specific, &specific, 8) < 0 ||
	    target_read(p->t, dtv, generation, 8) < 0)
		return -1;
	/* The first block of keys stands inside the descriptor. */
	if (self != donor_tp || specific - donor_tp >= p->sizeof_pthread)
		return fail(FAIL_UNSUITABLE, "the borrowed thread is not one "
			    "of libc's");
	put_word(image, tp + TCB_SELF, here);
	put_word(image, tp + TCB_SELF_TOO, here);
	put_word(image, tp + TCB_DTV,
		 s->at + s->tls + sizeof(struct dtv_slot));
	put(image, tp + TCB_MULTIPLE, &one, sizeof one);
	put(image, tp + TCB_GUARDS, guards, sizeof guards);
	put_word(image, tp + p->off_list, here + p->off_list);
	put_word(image, tp + p->off_list + 8, here + p->off_list);
	put_word(image, tp + p->off_specific, specific - donor_tp + here);
	if (p->rseq_offset)
		put(image, tp + (size_t)p->rseq_offset + RSEQ_CPU_AT,
		    &not_registered, sizeof not_registered);
	return 0;
}

static int
put_tls(const struct plan *p, const struct scratch *s, unsigned char *image,
	uint64_t donor_tp)
{
	struct dtv_slot *dtv = (struct dtv_slot *)image;
	const size_t slots = (s->tp - s->tls) / sizeof *dtv;
	uint64_t generation, modules = 0;
	size_t i;

	if (p->by_hand) {	/* no code of libc ever looks */
		put_word(image, s->tp - s->tls + TCB_SELF, s->at + s->tp);
		return 0;
	}
	for (i = 0; i < p->nimages; i++)
		if (p->images[i].tls_module > modules)
			modules = p->images[i].tls_module;
	modules += DTV_SPARE;
	if (modules + 2 > slots)
		modules = slots - 2;
	for (i = 2; i < modules + 2; i++)
		dtv[i] = (struct dtv_slot){ UINT64_MAX, 0 };
	if (put_modules(p, s, image, dtv) < 0 ||
	    put_descriptor(p, s, image, donor_tp, &generation) < 0)
		return -1;
	dtv[0].value = modules;
	dtv[1].value = generation;
	return 0;
}

int
scratch_write(const struct plan *p, const struct scratch *s,
	      const struct block *block, const struct collector_call *call,
	      uint64_t donor_tp)
{
	unsigned char *image = xcalloc(1, s->thread_stack);
	int r = put_tls(p, s, image + s->tls, donor_tp);

	if (r == 0) {
		memset(image, 0xcc, STUB_BLOCK);
		put(image, 0, stub_begin, (size_t)(stub_end - stub_begin));
		put(image, STUB_BLOCK, block, sizeof *block);
		put(image, s->call, call, sizeof *call);
		/* clone returns into the stub by this word. */
		put_word(image, s->stack_top - 16, s->at);
		/* Zero pages are there already: the stack, the frame. */
		if (target_write(p->t, s->at, image, s->frame) < 0 ||
		    target_write(p->t, s->at + s->stack_top - 16,
				 image + s->stack_top - 16,
				 s->thread_stack - s->stack_top + 16) < 0)
			r = -1;
	}
	free(image);
	return r;
}

/* ---- handing over -------------------------------------------------------- */

static const struct image *
libc_image(const struct plan *p)
{
	size_t i;

	for (i = 0; i < p->nimages; i++)
		if (p->images[i].bias == p->libc.bias)
			return &p->images[i];
	return &p->libc;
}

static bool
points_into(uint64_t word, const struct scratch *s)
{
	return word - s->at < s->size;
}

int
tls_hand_over(const struct plan *p, const struct scratch *s,
	      uint64_t thread_tp)
{
	const struct image *img = libc_image(p);
	const size_t n = img->tls_memsz / 8;
	const uint64_t helper_at = s->at + s->tp - img->tls_offset;
	const uint64_t thread_at = thread_tp - img->tls_offset;
	uint64_t *first, *helper, *thread;
	size_t i;
	int r = -1;

	if (!img->tls_module || img->tls_offset % 8 != 0)
		return 0;
	first = xcalloc(3 * n + 1, 8);
	helper = first + n;
	thread = helper + n;
	if ((img->tls_filesz && target_read(p->t, img->tls_image, first,
					    img->tls_filesz / 8 * 8) < 0) ||
	    target_read(p->t, helper_at, helper, n * 8) < 0 ||
	    target_read(p->t, thread_at, thread, n * 8) < 0)
		goto out;
	for (i = 0; i < n; i++)
		if (helper[i] != first[i] && thread[i] == first[i] &&
		    !points_into(helper[i], s)) {
			thread[i] = helper[i];
			helper[i] = first[i];
		}
	/* Taken away first: should we die in between, nobody has it. */
	if (target_write(p->t, helper_at, helper, n * 8) == 0 &&
	    target_write(p->t, thread_at, thread, n * 8) == 0)
		r = 0;
out:
	free(first);
	return r;
}
