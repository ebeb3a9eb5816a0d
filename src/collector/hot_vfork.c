/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has children.
 *
 * A child of vfork runs in its parent's memory, as that one's thread, until it
 * becomes another program: what it reads, writes, opens and closes is its own.
 * Threads that have called vfork are remembered. While one is, its number
 * tells parent and child apart; the first call that is the parent's ends it.
 * So who never calls vfork makes no system call that is not its own; nor does
 * one that a filter confines, whose children are taken for itself.
 */
#include "hooks_io.h"

#include <asm/unistd.h>

enum { PARENTS = 64 };

static uint64_t parents[PARENTS];	/* by thread pointer; 0: nobody */
static uint32_t remembered;

static int
find(uint64_t pointer)
{
	int i;

	for (i = 0; i < PARENTS; i++)
		if (__atomic_load_n(&parents[i], __ATOMIC_RELAXED) == pointer)
			return i;
	return -1;
}

static void
remember(uint64_t pointer)
{
	int i;

	if (find(pointer) >= 0)
		return;
	for (i = 0; i < PARENTS; i++) {
		uint64_t nobody = 0;

		if (__atomic_compare_exchange_n(&parents[i], &nobody, pointer,
						false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			__atomic_fetch_add(&remembered, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

bool
hot_vfork_is_child(const struct trace_turn *turn)
{
	int i;

	if (__builtin_expect(!__atomic_load_n(&remembered, __ATOMIC_RELAXED),
			     true))
		return false;
	i = find(turn->th->pointer);
	if (i < 0 || hot_is_confined(turn->area))
		return false;
	if (sys4(__NR_getpid, 0, 0, 0, 0) != (int64_t)turn->area->pid)
		return true;
	__atomic_store_n(&parents[i], 0, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&remembered, 1, __ATOMIC_RELAXED);
	return false;
}

/* What it stands before. */
void *
hot_vfork_begin(void)
{
	struct trace_turn turn;

	if (hot_trace_begin(&turn, TRACE_IO, hot_trace_now())) {
		if (turn.area->pid && !hot_is_confined(turn.area))
			remember(turn.th->pointer);
		hot_trace_end(&turn);
	}
	return hot_originals[TRACE_VFORK];
}

/* No frame of ours may be there when it returns for the first time: the child
 * writes over it. */
__attribute__((naked)) void
hook_VFORK(void)
{
	__asm__("subq $8, %rsp\n\t"
		".cfi_adjust_cfa_offset 8\n\t"
		"call hot_vfork_begin\n\t"
		"addq $8, %rsp\n\t"
		".cfi_adjust_cfa_offset -8\n\t"
		"jmp *%rax");
}

/*
 * The memory for records is not a child's. But where a handler forks that has
 * interrupted a hook, the child returns into that hook: it gets the memory,
 * too, writes there what its parent writes, and passes through from then on.
 */
int
hook_FORK(void)
{
	const struct trace_thread *th = hot_trace_thread();
	const bool inside = th && th->inside != th->stale;
	int r;

	if (inside)
		trace_share(true);
	r = ((int (*)(void))hot_originals[TRACE_FORK])();
	if (inside && r != 0)
		trace_share(false);
	return r;
}
