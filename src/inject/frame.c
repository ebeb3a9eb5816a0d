/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What brings a borrowed thread back when we die.
 *
 * The thread works at a `syscall; ret` of libc with sp at an rt_sigframe
 * whose return address is libc's sigreturn stub. If we die at any moment, the
 * thread comes out of our call, returns into that stub, and the kernel puts
 * registers, vector state and signal mask back from the frame. The order
 * matters: the frame is written first, then the registers aim at it, and
 * only then the mask changes; back in reverse.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "hazard.h"
#include "private.h"

enum {
	RED_ZONE = 128,
	XSTATE_ALIGN = 64,
	FXSAVE_BYTES = 512,
	FX_XMM_AT = 160, FX_XMM_BYTES = 256,
	FX_SW_AT = 464,			/* software bytes of an fxsave image */
	FX_MAGIC1 = 0x46505853,
	FX_MAGIC2 = 0x46505845,
	AMX_BITS = 3 << 17,		/* XTILECFG, XTILEDATA */
	AMX_AT = 2752,			/* where they begin in an xsave image */
	HEAP_ALIGN = 64 << 20,
	STACK_SLACK = 4096,		/* left free below the frame */
};

/* What the kernel puts on the stack for a handler (arch/x86/include/asm/
 * sigframe.h, uapi/asm/sigcontext.h). */
struct signal_frame {
	uint64_t restorer;
	struct {
		uint64_t flags, link;
		struct { uint64_t sp; int32_t flags, pad; uint64_t size; } alt;
		uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
		uint64_t di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
		uint16_t cs, gs, fs, ss;
		uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
		uint64_t mask;
	} uc;
	siginfo_t info;
};

_Static_assert(sizeof(struct signal_frame) == 8 + 304 + 128, "ABI");

/*
 * An interrupted call is begun again: nothing else gives the thread neither
 * an error it would not have seen nor a lost request. (A sleep is then too
 * long; who can avoid it borrows no sleeper, and dies rarely.)
 */
static void
restart_in_frame(struct signal_frame *f, const struct borrow *b)
{
	const struct user_regs_struct *r = &b->regs;
	const int64_t error = (int64_t)r->rax;
	int64_t call = (int64_t)r->orig_rax;

	if (call < 0 || error > -512 || error < -516 || error == -515)
		return;
	if (call == SYS_restart_syscall) {
		const long slept = thread_sleeping_call(b->p->t, r->rip);

		call = slept < 0 ? call : slept;
	}
	f->uc.ax = (uint64_t)call;
	f->uc.ip -= 2;
}

static void
fill_frame(struct signal_frame *f, const struct borrow *b, uint64_t fpstate)
{
	const struct user_regs_struct *r = &b->regs;

	memset(f, 0, sizeof *f);
	f->restorer = b->p->restore_rt;
	f->uc.flags = 1 | 2 | 4;	/* xstate; ss is saved, and strictly */
	f->uc.alt.flags = -1;		/* refused, so it stays as it is */
	f->uc.r8 = r->r8, f->uc.r9 = r->r9, f->uc.r10 = r->r10;
	f->uc.r11 = r->r11, f->uc.r12 = r->r12, f->uc.r13 = r->r13;
	f->uc.r14 = r->r14, f->uc.r15 = r->r15, f->uc.di = r->rdi;
	f->uc.si = r->rsi, f->uc.bp = r->rbp, f->uc.bx = r->rbx;
	f->uc.dx = r->rdx, f->uc.ax = r->rax, f->uc.cx = r->rcx;
	f->uc.sp = r->rsp, f->uc.ip = r->rip, f->uc.eflags = r->eflags;
	f->uc.cs = (uint16_t)r->cs, f->uc.ss = (uint16_t)r->ss;
	f->uc.fpstate = fpstate;
	f->uc.mask = b->mask;
	restart_in_frame(f, b);
}

/* The vector state as a signal frame carries it. Returns its size. */
static size_t
fill_xstate(unsigned char *out, const struct borrow *b)
{
	uint64_t features, in_use;
	uint32_t sw[5] = {0}, size = (uint32_t)b->xstate_size;
	const uint32_t end = FX_MAGIC2;

	memcpy(&features, b->xstate + FX_SW_AT, sizeof features);
	memcpy(&in_use, b->xstate + FXSAVE_BYTES, sizeof in_use);
	/* A thread that never asked for AMX must not bring it. */
	if ((features & AMX_BITS) && !(in_use & AMX_BITS) && size > AMX_AT) {
		features &= ~(uint64_t)AMX_BITS;
		size = AMX_AT;
	}
	memcpy(out, b->xstate, size);
	sw[0] = FX_MAGIC1;
	sw[1] = size + (uint32_t)sizeof end;
	memcpy(&sw[2], &features, sizeof features);
	sw[4] = size;
	if (!handled(HAZARD_VECTORS))
		memset(out + FX_XMM_AT, 0, FX_XMM_BYTES);
	memset(out + FX_SW_AT, 0, FXSAVE_BYTES - FX_SW_AT);
	memcpy(out + FX_SW_AT, sw, sizeof sw);
	memcpy(out + size, &end, sizeof end);
	return size + sizeof end;
}

/*
 * May bytes below the red zone be overwritten? By the ABI yes, but a stack
 * that a program carved out of its heap may border on something alive. Only
 * the main stack, or a mapping of its own with a guard below, is trusted.
 */
bool
borrow_stack_is_plain(const struct plan *p, uint64_t sp, uint64_t need)
{
	const struct module *m = modules_find(&p->mods, sp);
	const struct module *below;

	if (!handled(HAZARD_ODD_STACK))
		return true;
	if (!m || !(m->prot & MODULE_WRITE) || m->inode != 0)
		return false;
	if (sp - m->start < need + STACK_SLACK)
		return false;
	if (strcmp(m->path, "[stack]") == 0)
		return true;
	/* a heap of glibc, above the reserve of another one (arena.c) */
	if (m->start % HEAP_ALIGN == 0)
		return false;
	if (m == p->mods.items || m->path[0] != 0)
		return false;
	below = m - 1;
	return below->end == m->start && below->prot == 0;
}

int
borrow_write_frame(struct borrow *b, uint64_t room, size_t room_size)
{
	struct {
		struct signal_frame frame;
		unsigned char xstate[XSTATE_MAX + 64];
	} *image = xcalloc(1, sizeof *image);
	unsigned char *bytes = (unsigned char *)image;
	const size_t xsize = fill_xstate(image->xstate, b);
	const size_t need = sizeof image->frame + xsize + XSTATE_ALIGN + 16;
	uint64_t top = room + room_size, fpstate;
	int r = 0;

	b->frame = 0;
	if (!room && borrow_stack_is_plain(b->p, b->regs.rsp, need + RED_ZONE))
		top = b->regs.rsp - (handled(HAZARD_RED_ZONE) ? RED_ZONE : 0);
	else if (!room && donor_makes_calls(b->p))
		top = spare_take(b, need);
	if (!handled(HAZARD_FRAME))
		top = 0;
	if (top >= need && (!room || room_size >= need)) {
		fpstate = (top - xsize) & ~(uint64_t)(XSTATE_ALIGN - 1);
		/* sigreturn expects sp just above the return address. */
		b->frame = ((fpstate - sizeof image->frame) & ~15ull) - 8;
		fill_frame(&image->frame, b, fpstate);
		memmove(bytes + (fpstate - b->frame), image->xstate, xsize);
		if (fpstate - b->frame > sizeof image->frame)
			memset(bytes + sizeof image->frame, 0, fpstate -
			       b->frame - sizeof image->frame);
		r = target_write(b->p->t, b->frame, image,
				 fpstate - b->frame + xsize);
	}
	free(image);
	return r;
}
