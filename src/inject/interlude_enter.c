/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way into a function that is called by a thread of the program: what is
 * laid on its stack (interlude.c draws it), and its registers.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "hazard.h"
#include "interlude.h"

enum {
	RED_ZONE = 128,
	SLOT = 16,
	FRAME_SLACK = 1024,	/* a signal frame but for its vector state */
	WAY_ROOM = 8 * (WIDE_MOST + 64),
	FUNCTION_ROOM = 16 * 1024,
	RESTORE_LENGTH = 9,
	FLAGS_OFF = 0x10500,	/* resume, direction, trap */
};

/* ---- may it? ------------------------------------------------------------- */

static int
refuse(pid_t tid, const char *why, const char *remedy)
{
	(void)fail(FAIL_UNSUITABLE, "thread %d %s", (int)tid, why);
	return fail_remedy("%s", remedy);
}

int
interlude_check(struct target *t, struct interlude *il)
{
	const pid_t tid = il->b.held.tid;

	if (il->b.held.group_signal)
		return refuse(tid, "is stopped by a signal of job control",
			      "kill CONT, cont, and stop again");
	if (thread_due_signal(tid, NULL))
		return refuse(tid, "is about to get a signal, whose handler "
			      "must find it as it is", "stepi, or thread TID "
			      "for another one");
	if (!il->own && inject_thread_is_confined(t, tid))
		return refuse(tid, "is confined by seccomp: a system call of "
			      "the function might end the process",
			      "thread TID, if another is not confined");
	if (thread_is_dispatched(tid))
		return refuse(tid, "has its system calls dispatched to the "
			      "program, and so those of the way back",
			      "thread TID, for another one");
	return 0;
}

int
interlude_read_maps(struct interlude *il)
{
	char *text = target_maps(il->p.t);
	const int r = text ? modules_parse(&il->p.mods, text) : -1;

	free(text);
	for (size_t i = 0; r == 0 && i < il->p.mods.len; i++)
		il->throws |= strstr(il->p.mods.items[i].path, "/libgcc_s") ||
			strstr(il->p.mods.items[i].path, "/libstdc++");
	return r;
}

/* ---- going there --------------------------------------------------------- */

static int
lay_out(struct interlude *il, const struct interlude_call *c)
{
	const struct borrow *b = &il->b;
	const uint64_t top = b->regs.rsp - RED_ZONE;

	il->slot = (top - SLOT) & ~15ull;
	il->bytes = (il->slot - c->data_size) & ~15ull;
	il->room_size = (b->xstate_size + FRAME_SLACK) & ~15ull;
	il->room = il->bytes - il->room_size;
	if (il->own || borrow_stack_is_plain(&il->p, b->regs.rsp,
					     b->regs.rsp - il->room +
					     WAY_ROOM + FUNCTION_ROOM))
		return 0;
	return refuse(b->held.tid, "is on a stack that has too little room, "
		      "or may not be one of its own (of a handler, of a "
		      "coroutine)", "thread TID, to call it on another");
}

int
interlude_write_frame(struct interlude *il, bool true_pc)
{
	const uint64_t pc = il->b.regs.rip;
	int r;

	if (!true_pc)
		il->b.regs.rip = il->slot;
	r = borrow_write_frame(&il->b, il->room, il->room_size);
	il->b.regs.rip = pc;
	if (r == 0 && !il->b.frame)
		r = fail(FAIL_INTERNAL, "no room for a signal frame");
	return r;
}

static uint64_t
argument(const struct interlude *il, uint64_t word, unsigned is_data)
{
	return is_data ? il->bytes + word : word;
}

/* Of the register by which the result is stored. */
static uint64_t
base_value(const struct interlude *il)
{
	return il->slot - (uint64_t)il->way->disp;
}

/* The words from the sp at the function's entry up to the signal frame. */
static int
write_way(struct interlude *il, const struct interlude_call *c)
{
	uint64_t words[WIDE_MOST + 64] = { 0 };
	size_t n = 0, k = c->stack_count;
	const struct way_back *way = il->way;
	const bool wide = k > POPS && way->wide && k <= way->wide_words;

	if ((k > POPS && !wide) || (k && (!way->pops || way->base != 3)))
		return fail(FAIL_UNSUITABLE, "the function has more arguments "
			    "than can be passed here (%u beyond the "
			    "registers)", (unsigned)k);
	if (k && k < POPS && (k + way->skips) % 2)
		k++;		/* so that sp is aligned */
	if (k) {
		words[n++] = wide ? way->wide :
			way_back_pops(way, (unsigned)k);
		for (size_t i = 0; i < c->stack_count; i++)
			words[n + i] = argument(il, c->stack[i],
						c->data_stack >> i & 1);
		if (wide && way->wide_rbx >= 0)
			words[n + way->wide_words + (size_t)way->wide_rbx] =
				base_value(il);
		n += wide ? way->wide_words + way->wide_pops : k;
	}
	words[n++] = way->store;
	n += way->skips;
	if (n % 2)
		words[n++] = way->ret;
	il->sp = il->b.frame - 8 * n;
	return target_write(il->p.t, il->sp, words, 8 * n);
}

static int
set_floats(pid_t tid, const struct interlude_call *c)
{
	struct user_fpregs_struct fp;
	const ssize_t n = thread_get_regset(tid, NT_FPREGSET, &fp, sizeof fp);

	if (n != sizeof fp)
		return n < 0 ? -1 : fail(FAIL_UNSUITABLE, "the floating "
					 "registers cannot be read");
	for (size_t i = 0; i < c->float_count; i++)
		memcpy((unsigned char *)fp.xmm_space + 16 * i, &c->floats[i],
		       sizeof c->floats[i]);
	fp.ftw = 0;		/* as the ABI has it at a call */
	return thread_set_regset(tid, NT_FPREGSET, &fp, sizeof fp);
}

static void
set_base(struct user_regs_struct *r, int base, uint64_t value)
{
	switch (base) {
	case 3: r->rbx = value; break;
	case 5: r->rbp = value; break;
	case 12: r->r12 = value; break;
	case 13: r->r13 = value; break;
	case 14: r->r14 = value; break;
	default: r->r15 = value; break;
	}
}

static struct user_regs_struct
entry_regs(const struct interlude *il, const struct interlude_call *c)
{
	struct user_regs_struct r = il->b.regs;
	uint64_t a[INTERLUDE_INTS] = { 0 };

	for (size_t i = 0; i < c->int_count; i++)
		a[i] = argument(il, c->ints[i], c->data_ints >> i & 1);
	r.rdi = a[0], r.rsi = a[1], r.rdx = a[2];
	r.rcx = a[3], r.r8 = a[4], r.r9 = a[5];
	r.rax = c->float_count;
	set_base(&r, il->way->base, base_value(il));
	r.rip = c->function;
	r.rsp = il->sp;
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~(uint64_t)FLAGS_OFF;
	return r;
}

/* What tells a hit of a breakpoint stays as it is. */
static int
block_signals(struct interlude *il)
{
	const int watch = target_watch_signal(il->p.t);
	uint64_t open = watch ? UINT64_C(1) << (watch - 1) : 0;

	/* setuid(2) of another thread waits until this one has heard of it */
	if (il->own && handled(HAZARD_SETUID))
		open |= UINT64_C(1) << (SIGNAL_SETXID - 1);
	il->blocked = inject_busy_mask();	/* as the kernel will have it */
	il->blocked &= ~(open & ~il->b.mask);
	if (ptrace(PTRACE_SETSIGMASK, il->b.held.tid, KERNEL_SIGSET,
		   &il->blocked) < 0)
		return fail_errno("block the signals of thread %d",
				  (int)il->b.held.tid);
	return 0;
}

/* The frame first, then the registers that need it, then the mask. */
int
interlude_enter(struct interlude *il, const struct interlude_call *c)
{
	struct user_regs_struct r;

	if (lay_out(il, c) < 0 ||
	    way_back_find(il->p.t, &il->p.mods, il->way) < 0)
		return -1;
	il->p.restore_rt = il->way->restore_rt;
	if ((c->data_size && target_write(il->p.t, il->bytes, c->data,
					  c->data_size) < 0) ||
	    interlude_write_frame(il, !il->throws) < 0 || write_way(il, c) < 0)
		return -1;
	r = entry_regs(il, c);
	il->errand.behind = il->way->restore_rt + RESTORE_LENGTH;
	il->errand.sp = il->b.frame + 8;
	if (set_floats(il->b.held.tid, c) < 0 ||
	    thread_set_regs(il->b.held.tid, &r) < 0 || block_signals(il) < 0)
		return -1;
	thread_calls(il->p.t, il->b.held.tid, &il->errand);
	return 0;
}
