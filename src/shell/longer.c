/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `in F longer TIME`: each call that lasts longer is told once, when it ends,
 * however that is: it returns; a jump leads past it, which is seen when its
 * thread enters F again; its thread ends; the process does, or becomes another.
 *
 *	runs --- due: on the stack? ---yes---> late, noted ---> told at its end
 *	  \                         \--no----> left by a jump in time: forgotten
 *	   \--- its end, too late but before we looked ---> told
 *
 * What cannot be known (a stack that ends early) counts as late.
 */
#include "events.h"

#include <stdlib.h>
#include <string.h>

bool
longer_lasted(struct shell *sh, struct handler *h, uint64_t ns)
{
	if (!h->longer_ns)
		return true;
	if (!h->calls++ || ns < h->shortest_ns)
		h->shortest_ns = ns;
	if (ns <= h->longer_ns)
		return false;
	snprintf(sh->level, sizeof sh->level, "%.1f", (double)ns / 1e6);
	shell_note(sh, "(%d) a call of %s lasted %s ms, our two stops included "
		   "(shortest of %llu calls: %.2f ms)", h->number, h->place,
		   sh->level, (unsigned long long)h->calls,
		   (double)h->shortest_ns / 1e6);
	return true;
}

static void
forget(struct shell *sh, struct handler *h, size_t i)
{
	spot_drop(sh, h->pending[i].address);
	h->pending_len--;
	memmove(&h->pending[i], &h->pending[i + 1],
		(h->pending_len - i) * sizeof *h->pending);
}

/* ---- left by a jump? ----------------------------------------------------- */

enum { CALL_BYTES = 16 };	/* no instruction is longer */

/* Frames that return there, from that one outwards. */
static size_t
returning_to(const struct session_stack *st, size_t from, uint64_t address)
{
	size_t n = 0;

	for (size_t i = from; i < st->len; i++)
		n += st->pcs[i] < address && address - st->pcs[i] <= CALL_BYTES;
	return n;
}

/* Those that it was called by, and itself. */
static size_t
calls_to(const struct handler *h, const struct pending *p)
{
	size_t n = 0;

	for (size_t i = 0; i < h->pending_len; i++)
		n += h->pending[i].tid == p->tid &&
			h->pending[i].address == p->address &&
			h->pending[i].least_sp >= p->least_sp;
	return n;
}

/* entered: the innermost frame is a call that is not pending yet. */
static bool
is_on_stack(struct shell *sh, const struct handler *h, const struct pending *p,
	    bool entered)
{
	struct session_stacks st;
	bool is = true;

	if (session_where(sh->session, p->tid, LOOK_GENTLY, &st) < 0) {
		fail_clear();
		return true;
	}
	for (size_t i = 0; i < st.len; i++)
		if (st.items[i].tid == p->tid && st.items[i].complete)
			is = returning_to(&st.items[i], entered ? 2 : 1,
					  p->address) >= calls_to(h, p);
	session_stacks_fini(&st);
	return is;
}

bool
longer_entered(struct shell *sh, struct handler *h, pid_t tid, uint64_t sp)
{
	const uint64_t now = now_ns();
	uint64_t longest = 0;

	for (size_t i = h->pending_len; h->longer_ns && i-- > 0;) {
		const struct pending *p = &h->pending[i];

		if (p->tid != tid || (p->least_sp != sp + 1 &&
		     (!p->late || is_on_stack(sh, h, p, true))))
			continue;
		if (p->late && now - p->since_ns > longest)
			longest = now - p->since_ns;
		forget(sh, h, i);
	}
	return longest && longer_lasted(sh, h, longest);
}

/* ---- while it runs ------------------------------------------------------- */

static void
look(struct shell *sh, struct handler *h, uint64_t now)
{
	for (size_t i = h->pending_len; i-- > 0;) {
		struct pending *p = &h->pending[i];

		if (p->late || now - p->since_ns <= h->longer_ns)
			continue;
		p->late = is_on_stack(sh, h, p, false);
		if (p->late)
			shell_note(sh, "(%d) thread %d is in %s for longer than "
				   "%g ms; told when that ends", h->number,
				   (int)p->tid, h->place,
				   (double)h->longer_ns / 1e6);
		else
			forget(sh, h, i);
	}
}

void
longer_look(struct shell *sh)
{
	const uint64_t now = now_ns();

	for (size_t i = 0; target_alive(sh) && i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->longer_ns)
			look(sh, h, now);
	}
}

uint64_t
longer_due(const struct shell *sh)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		for (size_t k = 0; h->longer_ns && k < h->pending_len; k++) {
			const struct pending *p = &h->pending[k];
			const uint64_t at = p->since_ns + h->longer_ns;

			if (!p->late && at < due)
				due = at;
		}
	}
	return due;
}

/* ---- its thread has ended ------------------------------------------------ */

/* Without a process no condition can be looked at: it counts. */
static bool
counts(struct shell *sh, struct handler *h, pid_t tid)
{
	if (target_alive(sh))
		return handler_counts(sh, h, tid);
	h->hits++;
	return !h->disabled && (!h->count || h->hits % h->count == 0);
}

/* The first of them that has. false: none. */
static bool
take_ended(struct shell *sh, struct handler *h, pid_t tid, pid_t *whose,
	   uint64_t *ns)
{
	for (size_t i = 0; i < h->pending_len; i++) {
		const struct pending p = h->pending[i];

		if (tid && p.tid != tid)
			continue;
		*whose = p.tid;
		*ns = now_ns() - p.since_ns;
		forget(sh, h, i);
		return true;
	}
	return false;
}

bool
longer_ended(struct shell *sh, pid_t tid)
{
	bool over = false;

	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h;
		pid_t whose;
		uint64_t ns;

		/* a body may remove any of them */
		while ((h = handler_numbered(sh, number)) && h->longer_ns &&
		       take_ended(sh, h, tid, &whose, &ns))
			if (longer_lasted(sh, h, ns) && counts(sh, h, whose) &&
			    !handler_fire_of(sh, h, whose, &over))
				return true;
	}
	return over;
}
