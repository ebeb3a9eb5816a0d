/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A blocked thread without a stop. The kernel tells its sp and pc in
 * /proc/PID/task/TID/syscall; its stack is copied while it sleeps; and if it
 * was put on a processor meanwhile, its count of that has moved and the copy
 * is thrown away. Nothing in the target notices.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Most stacks are short. Where more than 16 pages are asked for, the kernel
 * makes room for a list of as many as there could be: 0.5 to 1.4 us. So what
 * is above these comes where there is more.
 */
enum {
	FIRST = 60 << 10,
	PAGE = 4096,		/* the smallest there is */
};

/* From there as far as there is memory: the stack's end cuts it. */
static ssize_t
copy_upwards(const struct target *t, pid_t tid, uint64_t base,
	     unsigned char *to, size_t n)
{
	return pages_read(t->pid, tid, base, to, n);
}

static ssize_t
copy_stack(const struct target *t, pid_t tid, uint64_t base, unsigned char *to,
	   size_t max)
{
	const size_t first = max < FIRST ? max : FIRST;
	const ssize_t n = copy_upwards(t, tid, base, to, first);

	if (n < (ssize_t)first || first == max)
		return n;

	const ssize_t more = copy_upwards(t, tid, base + first, to + first,
					  max - first);

	return more > 0 ? n + more : n;
}

/* Within its page, since the next may not be there. */
void
snapshot_note_futex(struct snapshot_thread *th, uint64_t word)
{
	const uint64_t page = word & ~(uint64_t)(PAGE - 1);
	uint64_t end = word + FUTEX_BYTES - FUTEX_BEFORE;

	th->futex_at = word - FUTEX_BEFORE;
	if (th->futex_at < page || word < FUTEX_BEFORE)
		th->futex_at = page;
	if (end > page + PAGE)
		end = page + PAGE;
	th->futex_size = word % 4 == 0 ? (size_t)(end - th->futex_at) : 0;
}

/* While it sleeps: what it waits at is of the moment of its stack. */
static void
copy_word(const struct target *t, struct snapshot_thread *th)
{
	if (th->facts.syscall != SYS_futex)
		return;
	snapshot_note_futex(th, th->facts.args[0]);
	if (th->futex_size &&
	    copy_upwards(t, th->tid, th->futex_at, th->futex, th->futex_size) !=
	    (ssize_t)th->futex_size)
		th->futex_size = 0;
}

static int
peek(struct target *t, pid_t tid, int schedstat, size_t max_stack,
     struct snapshot_thread *out)
{
	struct thread_facts after = { 0 };

	if (facts_read_blocked(t, tid, schedstat, &out->facts) < 0)
		return -1;
	if (!target_arena(t, max_stack))
		return fail(FAIL_GENERAL, "no memory for a stack of %zu bytes",
			    max_stack);
	out->stack_base = out->facts.sp & ~UINT64_C(7);

	const ssize_t n = copy_stack(t, tid, out->stack_base, t->arena, max_stack);

	if (n < 0)
		return fail_errno("read the stack of thread %d", (int)tid);
	out->stack_size = (size_t)n & ~(size_t)7;
	under_copy(t, out, t->arena, max_stack);
	copy_word(t, out);
	if (facts_read_switches(t, tid, schedstat, &after) < 0 ||
	    after.switches != out->facts.switches ||
	    after.cpu_ns != out->facts.cpu_ns)
		return fail(FAIL_GENERAL, "thread %d runs", (int)tid);
	out->stack = xmalloc(out->stack_size);
	memcpy(out->stack, t->arena, out->stack_size);
	out->regs.reg[arch.reg_pc] = out->facts.pc;
	out->regs.reg[arch.reg_sp] = out->facts.sp;
	out->ok = true;
	return 0;
}

int
peek_thread(struct target *t, pid_t tid, size_t max_stack,
	    struct snapshot_thread *out)
{
	const int schedstat = facts_open_switches(t, tid);

	*out = (struct snapshot_thread){ .tid = tid };

	const int r = peek(t, tid, schedstat, max_stack, out);

	if (r < 0)
		snapshot_thread_fini(out);
	if (schedstat >= 0)
		close(schedstat);
	return r;
}
