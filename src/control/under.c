/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A handler on an alternate stack (sigaltstack(2)): what it interrupted is on
 * another one, which a copy from sp upwards does not have. The kernel laid
 * both down where it stopped, in the signal's frame at the top of the
 * alternate stack:
 *
 *	alternate stack            interrupted stack
 *	+------------------+
 *	| signal's frame   |  sp   +------------------+
 *	|   bounds, sp ----|------>| copied, too      |
 *	+------------------+       | ...              |
 *	| the handler's    |
 * sp > +------------------+
 *
 * So the frame is looked for in the copy by what must be true of it: sp and
 * the frame are within the bounds that it tells, and the sp that it tells is
 * not. Where something else is mistaken for it, memory is copied that no walk
 * will ask for. Whoever stands on a stack of libc's own is not searched: the thread's
 * descriptor is above it in one piece. That is not said of the first thread,
 * whose descriptor is anywhere.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { FRAME_ALIGNMENT = 16 };
#define ALTERNATE_MAX	(UINT64_C(1) << 30)

static uint64_t
word_at(const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

uint64_t
under_find(const unsigned char *stack, uint64_t base, size_t size)
{
	const size_t stack_at = machine_signal_stack;
	const size_t first = (size_t)(-base & (FRAME_ALIGNMENT - 1));

	for (size_t at = first; at + machine_signal_size <= size;
	     at += FRAME_ALIGNMENT) {
		const uint64_t start = word_at(stack + at + stack_at);

		if (base - start >= ALTERNATE_MAX)
			continue;	/* as most words there are */

		const uint64_t bytes = word_at(stack + at + stack_at + 16);
		const uint64_t sp = word_at(stack + at + machine_signal_sp);

		if (base - start < bytes && base + at - start < bytes &&
		    sp - start >= bytes && sp - base >= size &&
		    bytes < ALTERNATE_MAX && machine_is_signal(stack + at))
			return sp;
	}
	return 0;
}

/* Its libc's, with its descriptor above. */
static bool
on_own_stack(const struct target *t, const struct snapshot_thread *th)
{
	return th->tp && th->tid != t->pid &&
		th->tp - th->stack_base < th->stack_size;
}

bool
under_is_there(const struct target *t, struct snapshot_thread *th,
	       const unsigned char *stack)
{
	const uint64_t sp = on_own_stack(t, th) ? 0 :
		under_find(stack, th->stack_base, th->stack_size);

	th->under_base = sp & ~UINT64_C(7);
	return sp != 0;
}

void
under_read(const struct target *t, struct snapshot_thread *th,
	   unsigned char *copy, size_t most)
{
	/* it ends where the stack's memory ends */
	const ssize_t n = pages_read(t->pid, th->tid, th->under_base, copy,
				     most);

	th->under_size = n > 0 ? (size_t)n & ~(size_t)7 : 0;
}

void
under_copy(const struct target *t, struct snapshot_thread *th,
	   const unsigned char *stack, size_t max_stack)
{
	if (!under_is_there(t, th, stack))
		return;
	th->under = xmalloc(max_stack);
	under_read(t, th, th->under, max_stack);
	th->under = xrealloc(th->under, th->under_size + 1);
}

void
snapshot_thread_keep(struct snapshot_thread *th)
{
	unsigned char *own = xmalloc(th->stack_size);

	memcpy(own, th->stack, th->stack_size);
	th->stack = own;
}

void
snapshot_thread_fini(struct snapshot_thread *th)
{
	free(th->stack);
	free(th->under);
	th->stack = th->under = NULL;
}
