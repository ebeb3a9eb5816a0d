/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that a stop would cut short, and that are to stand with all others.
 * A look (partial.c) finds those that are blocked in such a call; but right
 * after it many begin the next one. So each that was seen, and one that is
 * alone, is met by a sentry (sentry.c) in user mode:
 *
 *	look --> post --> all others are seized --> wait --> all are stopped
 *
 * Who is not met is stopped all the same where that must be (a breakpoint was
 * hit, the program is to be let go), and else nobody is.
 */
#include "hazard.h"
#include "private.h"

#include <stdlib.h>

enum {
	BEHIND_MS = 100,	/* somebody stands already, and it may need him */
};

static bool
is_insisted(const struct pack *p)
{
	bool stands = p->insist;

	for (size_t i = 0; i < p->len; i++)
		stands = stands || (p->items[i].stopped &&
				    !p->items[i].sentry);
	return stands;
}

/* ---- the posts ---------------------------------------------------------- */

/* Nobody can wait for it in user mode. */
static int
wait_out(struct target *t, pid_t tid, bool known, bool insist)
{
	if (insist)
		return 0;
	if (partial_await(t, tid) < 0)
		return -1;
	return known ? 0 : partial_look_long(t, tid);
}

/* One that cannot be stopped, as a parent in vfork, stands for the program. */
static int
post(struct target *t, pid_t tid, bool insist)
{
	const struct hold *known = pack_find(&t->pack, tid);
	const char state = proc_thread_state(t, tid);

	if (!state_alive(state) || state == 'D' ||
	    (known && (known->stopped || known->asked ||
		       known->want == WANT_ASIS)))
		return 0;
	switch (sentry_post(t, tid, deadline_in_ms(STOP_LIMIT_MS))) {
	case 0:
		return wait_out(t, tid, known, insist);
	case 1:
		return 0;
	default:
		return state_alive(proc_thread_state(t, tid)) ? -1 : 0;
	}
}

static size_t
living(const struct target *t, const pid_t *tids, ssize_t n)
{
	size_t alive = 0;

	for (ssize_t i = 0; i < n && alive < 2; i++)
		alive += state_alive(proc_thread_state(t, tids[i]));
	return alive;
}

static int
post_all(struct target *t, const struct map *seen, bool insist)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);
	const bool alone = living(t, tids, n) == 1;
	int r = n < 0 ? -1 : 0;
	uint64_t one;

	for (ssize_t i = 0; (r == 0 || insist) && i < n; i++)
		if (alone || map_get(seen, (uint64_t)tids[i], &one))
			r = post(t, tids[i], insist);
	free(tids);
	return r;
}

/* ---- waiting ------------------------------------------------------------ */

static void
note_stand(struct pack *p, pid_t tid, uint64_t *deadline)
{
	const struct hold *h = pack_find(p, tid);
	const uint64_t behind = deadline_in_ms(BEHIND_MS);

	if (!h || !h->stopped)
		return;
	if (!p->asked_at || h->stopped_at < p->asked_at)
		p->asked_at = h->stopped_at;
	*deadline = behind < *deadline ? behind : *deadline;
}

static unsigned
ms_until(uint64_t deadline)
{
	const uint64_t now = now_ns();

	return now < deadline ? (unsigned)((deadline - now) / NS_PER_MS) : 0;
}

/* Whatever it bears meanwhile stands with it. A copy: the pack may move. */
static size_t
posted(struct pack *p, pid_t **tids)
{
	size_t n = 0;

	*tids = xcalloc(p->len + 1, sizeof **tids);
	for (size_t i = 0; i < p->len; i++) {
		if (!p->items[i].sentry)
			continue;
		p->items[i].want = WANT_STOPPED;
		(*tids)[n++] = p->items[i].tid;
	}
	return n;
}

static int
wait_all(struct target *t, bool insist)
{
	struct pack *p = &t->pack;
	uint64_t deadline = deadline_in_ms(STOP_LIMIT_MS);
	pid_t *tids;
	const size_t n = posted(p, &tids);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const unsigned left = ms_until(deadline);
		const unsigned limit = insist ? PARTIAL_GRACE_MS :
			PARTIAL_LIMIT_MS;

		if (!pack_find(p, tids[i]))
			continue;
		if (sentry_wait(t, tids[i], deadline,
				left < limit ? left : limit) == 0)
			note_stand(p, tids[i], &deadline);
		else if (!pack_find(p, tids[i]) || insist)
			fail_clear();	/* it has ended, or is cut */
		else
			r = -1;
	}
	free(tids);
	return r;
}

/* Those that ran seized do so again. */
static void
run_on(struct target *t)
{
	for (size_t i = 0; i < t->pack.len; i++) {
		struct hold *h = &t->pack.items[i];

		sentry_sleep(h->sentry);
		if (h->want != WANT_STOPPED)
			continue;
		h->want = WANT_RUNNING;
		if (h->stopped)
			hold_run_on(t, h);
	}
	t->pack.asked_at = 0;
}

int
meet_all(struct target *t)
{
	struct pack *p = &t->pack;
	const bool insist = is_insisted(p), ran = pack_runs(p);
	struct map seen = { 0 };

	p->asked_at = 0;
	if (!p->len && handled(HAZARD_FROZEN) && target_check_frozen(t) < 0)
		return -1;

	int r = partial_find(t, &seen);

	if (r == 0 && handled(HAZARD_TRANSFER))
		r = post_all(t, &seen, insist);
	map_fini(&seen);
	if (r == 0 || insist)
		r = pack_seize(p);
	if (r == 0 || insist)
		r = wait_all(t, insist);
	if (insist) {
		fail_clear();
		return 0;
	}
	if (r < 0 && ran)
		run_on(t);
	return r;
}
