/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that waits, of which the kernel tells only pc and sp. Functions
 * that are compiled with a frame pointer need that too, as soon as none of
 * those below them has saved it. It then points to where such a function
 * keeps its caller's, right below the return address:
 *
 *	sp ...  | caller's frame pointer | return address | ...
 *		^ the frame pointer
 *
 * So it is looked for from sp upwards: the first place where a return address
 * stands behind a call of just that function, from where the walk comes to
 * the outermost frame. What dead calls have left there are returns from other
 * functions. A function that is called through a pointer shows nothing of
 * that kind: then the first place that leads to the end must do. The end of
 * very many frames may lie above the window: they are as good.
 */
#include "space.h"

#include <string.h>

enum { LOOK_BYTES = 32 << 10, WALKS_MAX = 64, WORD = 8, MANY = 256 };

struct hunt {
	struct unwind_space *space;
	const struct step_stack *stack;
	unwind_memory memory;
	void *arg;
	struct arch_regs regs;
	size_t max_frames, walks;
	struct unwind_trace *trace;
	size_t known;		/* frames that need no frame pointer */
	uint64_t function;	/* where the last of them begins, 0 unknown */
};

static uint64_t
word_at(const struct step_stack *stack, uint64_t at)
{
	uint64_t word;

	memcpy(&word, stack->data + at, sizeof word);
	return word;
}

/* Where the call before this return address went. 0: there is none; 1: it
 * does not show. */
static uint64_t
called_from(struct unwind_space *space, uint64_t ret)
{
	unsigned char insn[16];
	const long i = space_index(space, ret - 1);

	if (i < 0 || !space->objects[i])
		return 0;

	const uint64_t call = unwind_call_address(space, ret);
	const size_t n = ret - call;

	if (n < 2 || n > sizeof insn || space_read(space, call, insn, n) != n)
		return 0;

	const uint64_t to = arch.call_target(insn, n, ret);

	return to ? to : 1;
}

/* There is more of it, which is not in the window or not wanted. */
static bool
goes_on(const struct unwind_trace *t)
{
	return t->end == UNWIND_TOO_DEEP || t->above;
}

static void
walk(struct hunt *h)
{
	unwind_walk(h->space, &h->regs, h->stack, h->memory, h->arg,
		    h->max_frames, h->trace);
}

static bool
leads_to_end(struct hunt *h, uint64_t fp)
{
	if (h->walks++ >= WALKS_MAX)
		return false;
	h->regs.reg[arch.reg_fp] = fp;
	walk(h);
	return h->trace->end == UNWIND_COMPLETE ?
		h->trace->len > h->known :
		goes_on(h->trace) && h->trace->len > h->known + MANY;
}

/* sure: by the call; else by what stands there alone. */
static bool
search(struct hunt *h, bool sure)
{
	const struct step_stack *s = h->stack;
	const uint64_t most = s->size < LOOK_BYTES ? s->size : LOOK_BYTES;

	h->walks = 0;
	for (uint64_t at = 0; at + 2 * WORD <= most; at += WORD) {
		const uint64_t saved = word_at(s, at);
		const uint64_t to = called_from(h->space,
						word_at(s, at + WORD));
		const bool fits = sure ? to > 1 && to == h->function :
			to == 1 && saved > s->base + at &&
			saved < s->base + s->size;

		if (fits && leads_to_end(h, s->base + at))
			return true;
	}
	return false;
}

static uint64_t
function_of(struct unwind_space *space, uint64_t pc)
{
	const struct frames *frames;
	uint64_t bias;
	const struct frame_fde *fde = space_fde(space, pc, &frames, &bias);

	return fde ? fde->start + bias : 0;
}

void
unwind_walk_waiting(struct unwind_space *space, uint64_t pc, uint64_t sp,
		    const struct step_stack *stack, unwind_memory memory,
		    void *arg, size_t max_frames, struct unwind_trace *trace)
{
	struct hunt h = { .space = space, .stack = stack, .memory = memory,
			  .arg = arg, .max_frames = max_frames, .trace = trace };

	h.regs.reg[arch.reg_pc] = pc;
	h.regs.reg[arch.reg_sp] = sp;
	walk(&h);
	if (trace->end == UNWIND_COMPLETE || goes_on(trace) || !trace->len ||
	    !stack->size)
		return;
	h.known = trace->len;
	h.function = function_of(space, trace->pcs[trace->len - 1]);
	if ((h.function && search(&h, true)) || search(&h, false))
		return;
	h.regs.reg[arch.reg_fp] = 0;
	walk(&h);
}
