/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread that waits: what in, and with which stack. It is not stopped:
 * the kernel tells its call, sp and pc in one moment, and its stack is copied
 * while it sleeps. If it had a turn on a processor meanwhile, the copy is no
 * good: then its stack is the one that it had before at that pc and sp, or has
 * there soon after, else the pc alone. To drop such looks would be to see long
 * waits only. A copy that is too small for a deep stack is made larger in the
 * same moment: what the thread has by the end of the last piece it had all the
 * time, or it had a turn.
 *
 *	stopped by a signal or a tracer		Stopped
 *	no call at all				a page fault: of text where
 *						the page of pc is missing
 *	a futex					User Lock
 *	any other call				Sleep
 *
 * Who may not read that (Yama) is told by the kernel's own wait channel.
 */
#include "waits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	SEEN_MAX = 1 << 16,
	TRIES = 16,		/* some 100 us, of a thread that runs */
};

/* Of stacks: enough for most that wait; for those of many threads; and as much
 * as a first thread usually may have. */
static const size_t copies[] = {
	8 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20,
};

#define PAGE_PRESENT	(UINT64_C(3) << 62)	/* in memory, or swapped */

/* FUTEX_WAITV and FUTEX_WAIT are newer than some headers. */
enum { CALL_FUTEX_WAITV = 449, CALL_FUTEX_WAIT = 455 };

/* ---- /proc --------------------------------------------------------------- */

static size_t
read_small(const struct looker *k, pid_t tid, const char *name, char *text,
	   size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);

	const int fd = openat(target_proc(k->target), path,
			      O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

int
look_at_turns(const struct target *t, const struct looked_at *th,
	      struct task_turns *turns)
{
	return th->anew ? target_thread_turns(t, th->tid, turns) :
		task_turns_at(th->schedstat, turns);
}

static int
call_of(const struct looker *k, const struct looked_at *th,
	struct task_call *p)
{
	return th->anew ? target_thread_call(k->target, th->tid, p, NULL) :
		task_call_at(th->syscall, p, NULL);
}

static bool
is_missing(const struct looker *k, uint64_t address)
{
	uint64_t entry;

	return pread(k->pagemap, &entry, sizeof entry,
		     (off_t)(address / PAGE * sizeof entry)) == sizeof entry &&
		!(entry & PAGE_PRESENT);
}

/* ---- what in ------------------------------------------------------------- */

static enum mstate
state_of_call(struct looker *k, const struct task_call *p)
{
	long call = p->nr;

	if (call < 0)
		return is_missing(k, p->pc) ?
			MSTATE_TEXT_FAULT : MSTATE_DATA_FAULT;
	if (call == SYS_restart_syscall)
		call = thread_sleeping_call(k->target, p->pc);
	return call == SYS_futex || call == CALL_FUTEX_WAITV ||
		call == CALL_FUTEX_WAIT ? MSTATE_LOCK : MSTATE_SLEEP;
}

static enum mstate
state_of_channel(const struct looker *k, pid_t tid)
{
	char text[64];

	if (!read_small(k, tid, "wchan", text, sizeof text))
		return MSTATE_SLEEP;
	if (str_starts(text, "futex"))
		return MSTATE_LOCK;
	return str_starts(text, "folio_wait") ||
		str_starts(text, "filemap_fault") ?
		MSTATE_DATA_FAULT : MSTATE_SLEEP;
}

/* ---- where --------------------------------------------------------------- */

/* From base on n bytes, of which there are had; how many there are then. */
static size_t
copy_more(struct copy *c, pid_t tid, uint64_t base, size_t had, size_t n)
{
	c->bytes = xgrow(c->bytes, &c->cap, n, 1);

	/* it ends where the stack's memory ends */
	const ssize_t got = pages_read(tid, tid, base + had, c->bytes + had,
				       n - had);

	return had + (got > 0 ? (size_t)got & ~(size_t)7 : 0);
}

/* Of this thread, by pc and sp, and the call: a place may make several. */
static uint64_t *
stack_seen(struct looker *k, pid_t tid, const struct task_call *p)
{
	const uint64_t key[] = { (uint64_t)tid, p->pc, p->sp,
				 (uint64_t)p->nr };

	if (k->seen.len > SEEN_MAX)
		map_fini(&k->seen);
	return map_slot_of(&k->seen, hash_bytes(key, sizeof key, 0));
}

/* The i-th copy of it. */
static uint64_t
walk(const struct looker *k, const struct task_call *p, size_t got,
     struct step_stack *under, size_t i)
{
	const struct step_stack stack = {
		.data = k->stack.bytes, .base = p->sp & ~UINT64_C(7), .size = got,
	};
	const bool last = i + 1 == ARRAY_LEN(copies);

	return recorder_waiting_stack(k->rec, p->pc, p->sp, &stack,
				      under->size ? under : NULL,
				      got == copies[i] ||
				      under->size == copies[i],
				      i == 0 ? COPY_FIRST : last ? COPY_LAST :
				      COPY_LARGER);
}

/* What a handler on an alternate stack interrupted. */
static struct step_stack
copy_under(struct looker *k, pid_t tid, uint64_t base, size_t got, size_t n)
{
	const uint64_t sp = under_find(k->stack.bytes, base, got);
	struct step_stack under = { .base = sp & ~UINT64_C(7) };

	if (sp)
		under.size = copy_more(&k->under, tid, under.base, 0, n);
	under.data = k->under.bytes;
	return under;
}

static bool
had_a_turn(const struct looker *k, const struct looked_at *th,
	   const struct task_turns *before)
{
	struct task_turns after;

	return look_at_turns(k->target, th, &after) < 0 ||
		after.switches != before->switches ||
		after.cpu_ns != before->cpu_ns;
}

/* Unwound and interned when the copy is known to be good. turns: from before
 * it was known to wait. 0: it had a turn, *moved; or is not to be read. */
static uint64_t
stack_now(struct looker *k, const struct looked_at *th,
	  const struct task_call *p, const struct task_turns *turns,
	  bool *moved)
{
	const uint64_t base = p->sp & ~UINT64_C(7);
	uint64_t frinfo = 0;
	size_t got = 0;

	*moved = false;
	for (size_t i = 0; i < ARRAY_LEN(copies) && !frinfo; i++) {
		struct step_stack under;

		got = copy_more(&k->stack, th->tid, base, got, copies[i]);
		if (!got)
			break;		/* not to be read */
		under = copy_under(k, th->tid, base, got, copies[i]);
		*moved = had_a_turn(k, th, turns);
		if (*moved)
			break;
		frinfo = walk(k, p, got, &under, i);
	}
	return frinfo;
}

/* In another wait at the same place, as who waits often and shortly is. */
static bool
waits_there(const struct looker *k, const struct looked_at *th,
	    const struct task_call *p, struct task_turns *turns)
{
	struct task_call now;

	return look_at_turns(k->target, th, turns) == 0 &&
		call_of(k, th, &now) == 1 && now.nr == p->nr &&
		now.pc == p->pc && now.sp == p->sp;
}

static uint64_t
stack_of(struct looker *k, const struct looked_at *th,
	 const struct task_call *p, const struct task_turns *turns)
{
	uint64_t *seen = stack_seen(k, th->tid, p);
	bool moved;
	uint64_t frinfo = stack_now(k, th, p, turns, &moved);

	if (moved && *seen && recorder_has_stack(k->rec, *seen))
		return *seen;
	for (int i = 0; moved && i < TRIES; i++) {
		struct task_turns again;

		if (waits_there(k, th, p, &again))
			frinfo = stack_now(k, th, p, &again, &moved);
	}
	if (frinfo)
		*seen = frinfo;
	return moved ? walk(k, p, 0, &(struct step_stack){ 0 }, 0) : frinfo;
}

static bool
is_stopped(char letter)
{
	return letter == 'T' || letter == 't';
}

/* Its name in the kernel is all that we may see. */
static struct look
look_from_afar(struct looker *k, const struct looked_at *th, char letter)
{
	return (struct look){
		.blocked = letter != 'R',
		.state = state_of_channel(k, th->tid),
	};
}

/* Of one that is gone: 0. */
static struct task_stat
stat_of(const struct looker *k, const struct looked_at *th)
{
	struct task_stat st;

	if (th->stat < 0)
		(void)target_thread_stat(k->target, th->tid, &st);
	else
		(void)task_stat_at(th->stat, &st);
	return st;
}

bool
look_is_blocked(const struct looker *k, const struct looked_at *th)
{
	struct task_call p;
	const int seen = call_of(k, th, &p);

	return seen >= 0 ? seen == 1 : stat_of(k, th).state != 'R';
}

struct look
look_at_waiting(struct looker *k, const struct looked_at *th,
		const struct task_turns *turns)
{
	struct look look = { .blocked = true };
	struct task_call p;
	const int seen = call_of(k, th, &p);
	const bool refused = seen < 0 && errno != ESRCH;

	if (seen != 1 && !refused)
		return (struct look){ 0 };
	if (!refused) {
		look.state = state_of_call(k, &p);
		look.frinfo = stack_of(k, th, &p, turns);
	}

	const struct task_stat st = stat_of(k, th);
	const char letter = st.state;

	if (letter == 0 || letter == 'Z' || letter == 'X')
		return (struct look){ .ended = true };
	if (refused)
		look = look_from_afar(k, th, letter);
	if (is_stopped(letter))
		look.state = MSTATE_STOPPED;
	/* by us, later than we waited for it: now it goes on */
	if (letter == 't')
		look.released = target_serve_late_of(k->target, th->tid);
	look.faults = st.field[STAT_MAJOR_FAULTS];
	return look;
}

void
looker_init(struct looker *k, struct recorder *rec, struct target *t)
{
	*k = (struct looker){ .rec = rec, .target = t };
	k->pagemap = openat(target_proc(t), "pagemap", O_RDONLY | O_CLOEXEC);
}

void
looker_fini(struct looker *k)
{
	free(k->stack.bytes);
	free(k->under.bytes);
	map_fini(&k->seen);
	if (k->pagemap >= 0)
		(void)close(k->pagemap);
}
