/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a program, told before it: its memory is there still, and how it
 * ends is decided. Each thread stops in its own end (PTRACE_EVENT_EXIT), with
 * the wait status as message; a thread may as well end alone, or make room for
 * an exec, which the kernel tells the others by status 0 (do_group_exit, 6.18):
 *
 *	status says a signal, or not 0, and it made no call exit	the end
 *	exit, and nobody else lives					the end
 *	exit_group							the end
 *	0, and another thread is in execve				no end
 *	0, else								the end
 *
 * The first one is told. While the holder looks the others stand in their ends
 * as well, else a leader would be gone, and /proc of the process with it. Should
 * we be killed all go on to their ends, with the status that they had.
 */
#include "private.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

enum { LOOKS = 50, LOOK_NS = 1000 * 1000 };

static bool
ends_already(const struct target *t, pid_t tid)
{
	const struct hold *h = pack_find(&t->pack, tid);

	return (h && h->exits) || !state_alive(proc_thread_state(t, tid)) ||
		target_is_worker(t, tid);
}

static bool
is_last(struct target *t, pid_t self)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);
	bool last = n >= 0;

	for (ssize_t i = 0; i < n; i++)
		last = last && (tids[i] == self || ends_already(t, tids[i]));
	free(tids);
	return last;
}

enum seen { SEEN_NOTHING, SEEN_EXEC, SEEN_RUNNING };

/* It waits in its call until the others are gone. */
static enum seen
look_for_exec(struct target *t, pid_t self)
{
	enum seen seen = SEEN_NOTHING;
	struct task_call c;
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n && seen != SEEN_EXEC; i++) {
		uint64_t args[6];

		if (tids[i] == self || ends_already(t, tids[i]))
			continue;

		const int r = target_thread_call(t, tids[i], &c, args);

		if (r == 1 && (c.nr == SYS_execve || c.nr == SYS_execveat))
			seen = SEEN_EXEC;
		else if (r == 0)
			seen = SEEN_RUNNING;	/* it soon stands, or waits */
	}
	free(tids);
	return seen;
}

static bool
makes_room(struct target *t, pid_t self)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	enum seen seen = look_for_exec(t, self);

	for (int i = 0; i < LOOKS && seen == SEEN_RUNNING; i++) {
		(void)nanosleep(&pause, NULL);
		seen = look_for_exec(t, self);
	}
	fail_clear();
	return seen == SEEN_EXEC;
}

/* 0: its registers cannot be read. */
static long
last_call(pid_t tid)
{
	struct user_regs_struct regs;

	return thread_get_regs(tid, &regs) < 0 ? 0 : machine_syscall(&regs);
}

static bool
is_the_end(struct target *t, const struct hold *h)
{
	const long nr = last_call(h->tid);

	if (WIFSIGNALED(h->end) || nr == SYS_exit_group)
		return true;
	if (nr == SYS_exit)
		return is_last(t, h->tid);
	return h->end || !makes_room(t, h->tid);
}

void
rites_note(struct target *t, struct hold *h, const struct event *ev)
{
	h->exits = true;
	if (!t->wants.dies || h->foreign || t->rites == RITES_OVER)
		return;
	h->end = (int)ev->message;
	h->last = t->rites == RITES_STAND || is_the_end(t, h);
	if (!h->last || t->rites == RITES_STAND)
		return;
	h->tell = TELL_DIES;
	t->rites = RITES_STAND;
}

void
rites_go_on(struct target *t)
{
	if (t->rites != RITES_STAND)
		return;
	for (size_t i = 0; i < t->pack.len; i++)
		if (t->pack.items[i].tell == TELL_DIES)
			return;		/* it stands until that is told */
	t->rites = RITES_OVER;
}

/* It got the signal that ends all (zap_threads, since 5.17). */
static bool
dumps_core(const struct target *t, pid_t tid)
{
	enum { DUMPS = 0x200 };
	struct task_stat st;

	return target_thread_stat(t, tid, &st) == 0 &&
		st.field[STAT_FLAGS] & DUMPS;
}

pid_t
target_ended_by(const struct target *t)
{
	pid_t found = 0;

	for (size_t i = 0; i < t->pack.len; i++) {
		const struct hold *h = &t->pack.items[i];

		if (!h->last || !h->stopped)
			continue;
		if (last_call(h->tid) == SYS_exit_group ||
		    dumps_core(t, h->tid))
			return h->tid;
		if (h->tid == t->pid)
			found = h->tid;
	}
	return found;
}
