/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a snapshot copies of threads that stand: registers, used stacks, and
 * the words of memory that they wait at. It comes into memory that is there
 * already, and is given to its owners when they run again.
 */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum {
	BATCH = 1024,		/* UIO_MAXIOV */
	ARENA_STEP = 1 << 20,
	PAGE = 4096,		/* the smallest there is */
};
#define NOWHERE	SIZE_MAX
#define NOT_YET	(SIZE_MAX - 1)

size_t
shot_stack_extent(const struct shot *s, uint64_t base)
{
	const struct module *m = modules_find(&s->t->maps, base);

	if (!m || m->end - base > s->max_stack)
		return s->max_stack;
	return (size_t)(m->end - base);
}

bool
target_arena(struct target *t, size_t need)
{
	const size_t size = (need + ARENA_STEP) & ~(size_t)(ARENA_STEP - 1);
	void *p;

	if (need <= t->arena_size)
		return true;
	p = t->arena ? mremap(t->arena, t->arena_size, size, MREMAP_MAYMOVE) :
		mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	t->arena = p;
	t->arena_size = size;
	return true;
}

static struct snapshot_thread *
thread_of(struct shot *s, pid_t tid, size_t *listed)
{
	struct snapshot *snap = s->snap;

	for (size_t i = *listed; i < snap->len; i++)
		if (snap->threads[i].tid == tid) {
			*listed = i + 1;
			return &snap->threads[i];
		}
	for (size_t i = 0; i < snap->len; i++)
		if (snap->threads[i].tid == tid)
			return &snap->threads[i];
	/* born after the listing */
	snap->threads = xrealloc(snap->threads, (snap->len + 1) *
				 sizeof *snap->threads);

	struct snapshot_thread *th = &snap->threads[snap->len++];

	*th = (struct snapshot_thread){ .tid = tid,
		.facts = { .state = 'R', .syscall = -1 } };
	return th;
}

static void
copy_registers(struct shot *s, const struct hold *h, size_t *listed,
	       bool repair)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };
	struct snapshot_thread *th;

	if (!h->stopped || h->foreign || (s->only && h->tid != s->only))
		return;
	th = thread_of(s, h->tid, listed);
	if (th->ok || ptrace(PTRACE_GETREGSET, h->tid, 1, &iov) < 0 ||
	    iov.iov_len != sizeof regs)
		return;
	arch.from_ptrace(&regs, &th->regs);
	th->facts.pc = machine_pc(&regs);
	th->facts.sp = machine_sp(&regs);
	th->facts.syscall = machine_syscall(&regs);
	(void)machine_call(&regs, th->facts.args);
	th->facts.in_syscall = th->facts.syscall >= 0;
	if (th->facts.syscall == SYS_futex)
		snapshot_note_futex(th, machine_first_word(&regs));
	th->stack_base = th->facts.sp & ~UINT64_C(7);
	th->stack_size = shot_stack_extent(s, th->stack_base);
	th->tp = machine_thread_pointer(&regs);
	th->ok = true;
	/* it slept, and was on its way when it was stopped */
	if (h->sleeps && !th->facts.in_syscall)
		s->pack->ran_until = s->pack->asked_at;
	th->facts.waits = machine_waits(&regs) ||
		machine_interrupted(&regs) != INTERRUPTED_NO;
	if (repair && (machine_interrupted(&regs) != INTERRUPTED_NO ||
		       machine_sleeps_on(&regs)))
		hold_repair(s->t, pack_find(s->pack, h->tid));
}

/*
 * One call for up to a thousand stacks. It ends at the first memory that is
 * not there: that stack is as long as what came, and the rest is asked for
 * again.
 */
static void
read_batch(pid_t pid, pid_t tid, const struct iovec *to,
	   const struct iovec *from, struct snapshot_thread *const *of, size_t n)
{
	for (size_t i = 0; i < n;) {
		ssize_t got = pages_readv(pid, tid, to + i, from + i,
						n - i);

		got = got < 0 ? 0 : got;
		while (i < n && (size_t)got >= to[i].iov_len)
			got -= (ssize_t)to[i++].iov_len;
		if (i < n)
			of[i++]->stack_size = (size_t)got & ~(size_t)7;
	}
}

/* Of those whose place in the arena is not known yet. */
static void
copy_stacks(struct shot *s)
{
	const pid_t tid = s->pack->len ? s->pack->items[0].tid : s->t->pid;
	struct snapshot_thread *of[BATCH];
	struct iovec to[BATCH], from[BATCH];
	size_t n = 0;

	for (size_t i = 0; i < s->snap->len; i++) {
		struct snapshot_thread *th = &s->snap->threads[i];

		if (!th->stack_size || s->at[i] != NOWHERE)
			continue;
		s->at[i] = s->end;
		to[n] = (struct iovec){ s->t->arena + s->end, th->stack_size };
		from[n] = (struct iovec){ (void *)(uintptr_t)th->stack_base,
					  th->stack_size };
		of[n++] = th;
		s->end += th->stack_size;
		if (n == BATCH) {
			read_batch(s->t->pid, tid, to, from, of, n);
			n = 0;
		}
	}
	read_batch(s->t->pid, tid, to, from, of, n);
}

/* Whoever gets no room has no stack. */
static void
make_room(struct shot *s)
{
	size_t need = s->end;

	s->at = xrealloc(s->at, s->snap->len * sizeof *s->at);
	s->under_at = xrealloc(s->under_at, s->snap->len * sizeof *s->under_at);
	for (; s->places < s->snap->len; s->places++) {
		s->at[s->places] = NOWHERE;
		s->under_at[s->places] = NOT_YET;
	}
	for (size_t i = 0; i < s->snap->len; i++)
		if (s->at[i] == NOWHERE)
			need += s->snap->threads[i].stack_size;
	if (target_arena(s->t, need))
		return;
	for (size_t i = 0; i < s->snap->len; i++)
		if (s->at[i] == NOWHERE)
			s->snap->threads[i].stack_size = 0;
}

/* Of those whose stack was copied, and is an alternate one: what a handler on
 * it interrupted. Few do that, and so each is read alone. */
static void
copy_interrupted(struct shot *s)
{
	for (size_t i = 0; i < s->snap->len; i++) {
		struct snapshot_thread *th = &s->snap->threads[i];

		if (s->at[i] == NOWHERE || s->under_at[i] != NOT_YET)
			continue;
		s->under_at[i] = NOWHERE;
		if (!under_is_there(s->t, th, s->t->arena + s->at[i]))
			continue;

		const size_t most = shot_stack_extent(s, th->under_base);

		if (!target_arena(s->t, s->end + most))
			continue;
		s->under_at[i] = s->end;
		under_read(s->t, th, s->t->arena + s->end, most);
		s->end += th->under_size;
	}
}

void
shot_copy(struct shot *s, bool repair)
{
	size_t listed = 0;

	for (size_t i = 0; i < s->pack->len; i++)
		copy_registers(s, &s->pack->items[i], &listed, repair);
	make_room(s);
	copy_stacks(s);
	copy_interrupted(s);
}

void
shot_forget_ended(struct shot *s)
{
	for (size_t i = 0; i < s->places; i++) {
		struct snapshot_thread *th = &s->snap->threads[i];

		if (!s->pack->execed && pack_find(s->pack, th->tid))
			continue;
		th->ok = false;
		th->stack_size = th->under_size = th->futex_size = 0;
		s->at[i] = NOWHERE;
		s->under_at[i] = NOT_YET;
	}
}

/* Who was read in part, and those behind, is not known. */
static void
read_words(pid_t pid, pid_t tid, const struct iovec *to,
	   const struct iovec *from, struct snapshot_thread *const *of, size_t n)
{
	ssize_t got = n ? pages_readv(pid, tid, to, from, n) : 0;

	for (size_t i = 0; i < n; i++) {
		if (got < (ssize_t)to[i].iov_len)
			of[i]->futex_size = 0;
		got -= (ssize_t)to[i].iov_len;
	}
}

/* What threads wait at, for who wants to know who held it then. */
void
shot_copy_words(struct shot *s)
{
	const pid_t tid = s->pack->len ? s->pack->items[0].tid : s->t->pid;
	struct snapshot_thread *of[BATCH];
	struct iovec to[BATCH], from[BATCH];
	size_t n = 0;

	for (size_t i = 0; i < s->snap->len; i++) {
		struct snapshot_thread *th = &s->snap->threads[i];

		if (!th->futex_size)
			continue;
		to[n] = (struct iovec){ th->futex, th->futex_size };
		from[n] = (struct iovec){ (void *)(uintptr_t)th->futex_at,
					  th->futex_size };
		of[n++] = th;
		if (n == BATCH) {
			read_words(s->t->pid, tid, to, from, of, n);
			n = 0;
		}
	}
	read_words(s->t->pid, tid, to, from, of, n);
}

void
shot_keep_stacks(struct shot *s)
{
	for (size_t i = 0; i < s->snap->len; i++) {
		struct snapshot_thread *th = &s->snap->threads[i];

		if (!th->ok || !th->stack_size)
			continue;
		th->stack = xmalloc(th->stack_size);
		memcpy(th->stack, s->t->arena + s->at[i], th->stack_size);
		if (!th->under_size)
			continue;
		th->under = xmalloc(th->under_size);
		memcpy(th->under, s->t->arena + s->under_at[i],
		       th->under_size);
	}
	free(s->at);
	free(s->under_at);
}
