/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call the library's entry while the program stands: no thread of ours could
 * pass the locks that standing threads hold, and at the very start there is no
 * libc yet to make a thread with. The library needs no libc, so a borrowed
 * thread calls it, on its own stack, below the frame by which the kernel puts
 * it back:
 *
 *	sp of the program
 *	  red zone
 *	  words		the call, then room for a name
 *	  signal frame	entry returns into sigreturn, where we stop it
 *	  stack of the entry
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "hazard.h"
#include "private.h"

enum {
	RED_ZONE = 128,
	CALL_ROOM = 128, NAME_ROOM = 64,
	FRAME_ROOM = 20 * 1024, STACK_ROOM = 32 * 1024,
	SIGRETURN_LENGTH = 9,	/* mov $15, %rax; syscall */
	DIRECTION_AND_TRAP = 0x500,
};
#define CALL_TIMEOUT_NS	UINT64_C(10000000000)
_Static_assert(sizeof(struct collector_call) <= CALL_ROOM, "room");

static uint64_t
words_of(const struct borrow *b)
{
	return (b->regs.rsp - RED_ZONE - CALL_ROOM - NAME_ROOM) & ~15ull;
}

/* 1 ready, 0 not on this thread's stack, -1 failed. */
static int
make_room(struct borrow *b)
{
	const uint64_t words = words_of(b);

	if (!borrow_stack_is_plain(b->p, b->regs.rsp, FRAME_ROOM +
				   STACK_ROOM))
		return 0;
	if (borrow_write_frame(b, words - FRAME_ROOM, FRAME_ROOM) < 0)
		return -1;
	return b->frame ? 1 : 0;
}

/* The entry came back: the thread is about to enter sigreturn. */
static bool
has_returned(const struct borrow *b)
{
	struct user_regs_struct r;

	return thread_get_regs(b->held.tid, &r) == 0 &&
	       r.orig_rax == SYS_rt_sigreturn &&
	       r.rip == b->p->restore_rt + SIGRETURN_LENGTH;
}

static int
run_to_return(struct borrow *b)
{
	const uint64_t deadline = now_ns() + CALL_TIMEOUT_NS;

	while (now_ns() < deadline) {
		if (run_to_syscall_stop(b->held.tid, NULL, b) < 0)
			return -1;
		if (has_returned(b))
			return 0;
	}
	return fail(FAIL_UNSUITABLE, "the collector did not return within "
		    "%llu s", (unsigned long long)(CALL_TIMEOUT_NS /
						   1000000000));
}

static int
enter(struct borrow *b, struct collector_call *call)
{
	const uint64_t at = words_of(b);
	struct user_regs_struct r = b->regs;

	call->result = -EINTR;
	call->helper = 0;
	if (target_write(b->p->t, at, call, sizeof *call) < 0)
		return -1;
	r.rsp = b->frame;
	r.rip = b->p->library + b->p->library_entry;
	r.rdi = at;
	r.rsi = sizeof *call;
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~(uint64_t)DIRECTION_AND_TRAP;
	if (thread_set_regs(b->held.tid, &r) < 0 || run_to_return(b) < 0)
		return -1;
	return target_read(b->p->t, at, call, sizeof *call);
}

/*
 * The thread is about to enter sigreturn, which must not be: the kernel would
 * forget what sleep it interrupted, and the thread would see EINTR. Another
 * call steps off it: the end of the descriptor that prepare made, as the
 * mapping has its own hold on the file.
 */
static int
leave_entry(struct borrow *b, struct errand *e)
{
	const int32_t fd = e->block.area_fd;
	const bool close_it = fd >= 0 &&
		descriptor_is_there(e, b->held.tid, AREA_FILE);
	const uint64_t args[6] = { close_it ? (uint64_t)fd : UINT64_MAX };
	int64_t result;

	e->block.area_fd = -1;
	if (!close_it && !handled(HAZARD_SIGRETURN))
		return 0;
	return borrow_syscall(b, SYS_close, args, &result, NULL);
}

static int
call_entry(struct borrow *b, struct errand *e)
{
	struct user_regs_struct r;
	int result = borrow_begin(b, &r);

	e->block.area_fd = -1;
	e->name_at = words_of(b) + CALL_ROOM;
	if (result == 0 && e->prepare)
		result = e->prepare(e, b->held.tid, &r);
	if (result == 0)
		result = enter(b, e->call);
	e->result = e->call->result;
	if (result == 0 && e->result == 0 && e->then) {
		result = enter(b, e->then);
		e->result = e->then->result;
	}
	if (leave_entry(b, e) < 0)
		result = -1;
	return result;
}

int
standing_call(struct errand *e)
{
	struct borrow *b = xcalloc(1, sizeof *b);
	const uint64_t since = now_ns();
	const bool single = e->p->single;
	bool cut;
	int r;

	/* Nothing of libc is called: any point will do that is not ours. */
	e->p->single = false;
	e->p->standing = true;
	r = donor_take(e->p, e->seed, b, e->report) < 0 ? -1 : 1;
	if (r == 1) {
		/* where it stays unknown, no calls are traced */
		if (e->p->by_hand)
			(void)by_hand_find_tid(e->p, b->held.tid,
					       b->regs.fs_base);
		r = make_room(b);
		if (r == 1 && call_entry(b, e) < 0)
			r = -1;
		cut = r < 0;
		if (borrow_return(b, e->report) < 0)
			r = -1;
		else if (cut)
			owner_end_turn(e->p, b->held.tid);
	}
	e->report->total_ns += now_ns() - since;
	free(b);
	/* else a helper does it, and so another borrow */
	e->p->single = single;
	e->p->standing = false;
	return r;
}
