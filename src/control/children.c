/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Children that the target makes, where its holder may want to follow one:
 *
 *	parent	stands behind its fork, or in its vfork	----> told
 *	child	stands before it has run, without our traps
 *
 * until one of them is let go. Should we be killed, the kernel lets both go.
 */
#include "private.h"

#include <signal.h>

/* It is ours, and nobody else's to wait for. false: it is let go as ever. */
static bool
keep_child(struct target *t, pid_t tid)
{
	struct hold *child = pack_find(&t->pack, tid);

	if (!child || !child->foreign)
		return false;
	child->want = WANT_ASIS;
	if (!child->stopped && hold_settle(&t->pack, tid,
				deadline_in_ms(STOP_LIMIT_MS)) != 1) {
		child = pack_find(&t->pack, tid);
		if (child)
			child->want = WANT_GONE;
		return false;
	}
	child = pack_find(&t->pack, tid);
	if (child->lift)
		child_lift(t, tid);
	child->lift = false;
	return true;
}

bool
child_note(struct target *t, pid_t parent, const struct event *ev)
{
	const pid_t tid = (pid_t)ev->message;
	struct hold *h;

	if (!t->wants.follow || ev->kind != EVENT_FORK || !keep_child(t, tid))
		return false;
	h = pack_find(&t->pack, parent);
	h->tell = TELL_FORKS;
	h->child = tid;
	h->in_kernel = (unsigned)ev->status >> 16 == PTRACE_EVENT_VFORK;
	return true;
}

void
child_let_go(struct target *t, pid_t child)
{
	struct hold *h = pack_find(&t->pack, child);

	if (!h || !h->foreign || h->want != WANT_ASIS)
		return;
	h->want = WANT_GONE;
	(void)hold_let_go(&t->pack, child);
}

void
children_let_go(struct target *t)
{
	for (size_t i = t->pack.len; i-- > 0;)
		if (i < t->pack.len)
			child_let_go(t, t->pack.items[i].tid);
}

void
target_let_children_go(struct target *t)
{
	children_let_go(t);
}

struct target *
target_adopt(struct target *old, pid_t child)
{
	const struct hold *was = pack_find(&old->pack, child);
	struct target *t = was && was->stopped ? target_open(child) : NULL;
	struct hold *h;

	if (!t)
		return NULL;
	h = pack_add(&t->pack, child, WANT_STOPPED);
	h->stopped = true;
	h->stopped_at = t->pack.asked_at = now_ns();
	t->held = true;
	t->no_traps = old->no_traps;
	pack_drop(&old->pack, child);
	return t;
}

struct target *
target_follow(struct target *old, pid_t child)
{
	struct target *t = target_adopt(old, child);

	if (!t)
		return NULL;
	(void)target_release_all(old);
	target_close(old);
	return t;
}
