/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits of watches: told once each, whatever else the thread is stopped for.
 *
 *	its signal, at the address	told; it passes when it goes on
 *	its signal, elsewhere		told, late: the thread had it blocked
 *	another signal or stop first	taken back: it hits once more
 *	no stop at all			told, late, by a look now and then
 *	data, and another stop first	told when the thread is to run on, which
 *					stands until then
 *
 * A hit is untold while the event counts more than we have seen; so nothing
 * depends on signals that are lost, merged with the program's own, or stale.
 * After a late one the breakpoint is a trap, which no thread can hold back.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <signal.h>

enum { LOOK_MS = 200 };

/* The watch that has a new hit at this pc. */
static struct watch *
hit_at(const struct target *t, pid_t tid, uint64_t pc, struct breakpoint **of)
{
	struct breakpoint *bp = breakpoint_at(t, pc);
	struct watch *w = bp ? watches_find(&bp->watches, tid) : NULL;

	if (!w || !watch_hits(w))
		return NULL;
	*of = bp;
	return w;
}

/* Data that this thread has touched, and nobody was told. */
static struct breakpoint *
touched(const struct target *t, pid_t tid, struct watch **of)
{
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		*of = bp->data ? watches_find(&bp->watches, tid) : NULL;
		if (*of && watch_hits(*of))
			return bp;
	}
	return NULL;
}

static struct watch *
watch_of_signal(const struct target *t, pid_t tid, const siginfo_t *info,
		struct breakpoint **of)
{
	if (!t->signal || info->si_signo != t->signal ||
	    info->si_code < POLL_IN || info->si_code > POLL_HUP)
		return NULL;
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next) {
		struct watch *w = watches_find(&bp->watches, tid);

		if (w && w->fd == info->si_fd) {
			*of = bp;
			return w;
		}
	}
	return NULL;
}

bool
breakpoint_owns_signal(pid_t tid, const siginfo_t *info)
{
	const struct target *t = info->si_signo == SIGURG ||
		info->si_signo == SIGWINCH ? target_of_tid(tid, NULL) : NULL;
	struct breakpoint *bp;

	return t && watch_of_signal(t, tid, info, &bp);
}

/* It is to be a trap. Where none is allowed the thread is watched anew, and its
 * next hit comes late, too. */
static struct breakpoint *
came_late(struct target *t, struct breakpoint *bp, pid_t tid)
{
	struct watch *w = watches_find(&bp->watches, tid);
	struct hold *h = pack_find(&t->pack, tid);

	if (w)
		w->seen += watch_hits(w);
	if (bp->data)
		return bp;
	t->choose_again = true;
	if (!t->no_traps) {
		breakpoint_must_trap(t, bp, "a thread blocks signals where it "
				     "hits it");
		return bp;
	}
	watches_disarm(&bp->watches, tid);
	if (h)
		h->armed = false;
	return bp;
}

struct breakpoint *
breakpoint_take_watch(struct target *t, pid_t tid, const siginfo_t *info)
{
	struct user_regs_struct regs;
	struct breakpoint *bp;
	struct watch *w;

	if (!t->signal || info->si_signo != t->signal ||
	    thread_get_regs(tid, &regs) < 0)
		return NULL;
	w = hit_at(t, tid, machine_pc(&regs), &bp);
	if (w) {
		w->seen += watch_hits(w);
		return bp;
	}
	bp = touched(t, tid, &w);
	if (bp) {
		w->seen += watch_hits(w);
		return bp;
	}
	w = watch_of_signal(t, tid, info, &bp);
	return w && watch_hits(w) ? came_late(t, bp, tid) : NULL;
}

/* Is it to hit the watch at which it stands once more? */
static struct watch *
untold_hit(const struct target *t, pid_t tid, struct user_regs_struct *regs)
{
	struct breakpoint *bp;

	if (!t->signal || thread_get_regs(tid, regs) < 0)
		return NULL;
	return hit_at(t, tid, machine_pc(regs), &bp);
}

void
breakpoint_take_back(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct watch *w = untold_hit(t, tid, &regs);

	if (!w)
		return;
	machine_meet_again(&regs);
	if (thread_set_regs(tid, &regs) == 0)
		w->seen += watch_hits(w);
}

bool
breakpoint_signal_queued(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct proc_status st;

	if (breakpoint_trap_queued(t, tid))
		return true;
	if (!untold_hit(t, tid, &regs))
		return false;
	if (proc_status_tid(tid, &st) == 0 &&
	    (st.sig_pending & ~st.sig_blocked) >> (t->signal - 1) & 1)
		return true;
	breakpoint_take_back(t, tid);
	return false;
}

/* ---- data ---------------------------------------------------------------- */

bool
breakpoint_touches(struct target *t, struct hold *h)
{
	struct watch *w;

	h->touches = (t->signal && !h->group_signal &&
		      touched(t, h->tid, &w)) || signal_to_tell(t, h) ||
		h->tell || thread_is_back(t, h->tid);
	t->touches = t->touches || h->touches;
	return h->touches;
}

bool
breakpoint_take_touch(struct target *t, struct event *ev)
{
	for (size_t i = 0; t->touches && !t->held && i < t->pack.len; i++) {
		struct hold *h = &t->pack.items[i];
		struct breakpoint *bp;
		struct watch *w;
		siginfo_t info;

		if (!h->touches)
			continue;
		h->touches = false;
		if (!h->stopped || h->want != WANT_RUNNING)
			continue;
		if (wants_tell(h, ev))
			return true;
		if (thread_is_back(t, h->tid)) {
			*ev = (struct event){ .kind = EVENT_ERRAND,
					      .tid = h->tid };
			return true;
		}
		if (signal_to_tell(t, h)) {
			h->told = true;
			*ev = (struct event){
				.kind = EVENT_SIGNAL, .tid = h->tid,
				.signal = thread_due_signal(h->tid, &info),
				.stands = true,
			};
			return true;
		}
		bp = touched(t, h->tid, &w);
		if (!bp) {
			hold_run_on(t, h);
			continue;
		}
		w->seen += watch_hits(w);
		*ev = (struct event){ .kind = EVENT_BREAKPOINT, .tid = h->tid,
				      .breakpoint = bp };
		return true;
	}
	t->touches = false;
	return false;
}

/* ---- hits that made no stop --------------------------------------------- */

/* Untold at two looks in a row: nothing is on its way. */
static bool
is_missed(const struct target *t, struct watch *w)
{
	const struct hold *h = pack_find(&t->pack, w->tid);
	const bool untold = h && !h->stopped && h->want == WANT_RUNNING &&
		watch_hits(w);
	const bool again = untold && w->looked_at == w->seen;

	w->looked_at = untold ? w->seen : UINT64_MAX;
	return again;
}

static struct breakpoint *
find_missed(const struct target *t, pid_t *tid)
{
	for (struct breakpoint *bp = t->breakpoints; bp; bp = bp->next)
		for (size_t i = 0; i < bp->watches.len; i++) {
			*tid = bp->watches.items[i].tid;
			if (is_missed(t, &bp->watches.items[i]))
				return bp;
		}
	return NULL;
}

/* A hit of a watch that stopped nobody. */
static struct breakpoint *
look(struct target *t, pid_t *tid)
{
	const uint64_t now = now_ns();

	if (!t->signal || t->held || now < t->look_at ||
	    !handled(HAZARD_BREAKPOINT_BLOCKED))
		return NULL;
	t->look_at = now + (uint64_t)LOOK_MS * NS_PER_MS;
	t->choose_again = t->choose_again || watch_signal_is_taken(t);

	struct breakpoint *bp = find_missed(t, tid);

	return bp ? came_late(t, bp, *tid) : NULL;
}

/* The thread may be anywhere by now. */
bool
breakpoint_take_missed(struct target *t, struct event *ev)
{
	pid_t tid;
	struct breakpoint *bp = look(t, &tid);
	const struct hold *h;

	if (!bp || target_hold_all(t) < 0)
		return false;
	h = pack_find(&t->pack, tid);
	if (h && h->stopped && t->breakpoints) {
		*ev = (struct event){ .kind = EVENT_BREAKPOINT, .tid = tid,
				      .breakpoint = bp };
		return true;
	}
	(void)target_continue_all(t);
	return false;
}

int
target_look_ms(const struct target *t)
{
	if (t->held || t->gone)
		return -1;
	if (t->touches || t->more)
		return 0;
	return t->breakpoints && t->signal ? LOOK_MS : -1;
}
