/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that a handler does not count, or that are not the one in so many that
 * it waits for, are judged where threads are waited for. The first hit is judged
 * here: only where the thread stands then is it known what the names in the
 * condition are.
 */
#include "events.h"

void
filter_begin(struct shell *sh, struct handler *h)
{
	struct session_filter f = {
		.thread = h->thread, .limit = (uint64_t)h->count,
		.hits = (uint64_t)h->hits,
	};
	struct debug *d;

	if (h->filtered || h->no_filter || h->kind != EVENT_PLACE ||
	    h->spots_len != 1 || !spot_is_of_one(sh, h->spots[0]) ||
	    (!h->condition && !h->count && !h->thread))
		return;
	d = h->condition ? debuggee_now(sh) : NULL;
	h->no_filter = h->condition &&
		(!d || !debug_condition(d, h->condition, &f.condition));
	if (!h->no_filter)
		h->filtered = session_filter(sh->session,
					     spot_number(sh, h->spots[0]),
					     &f) == 0;
	h->no_filter = h->no_filter || !h->filtered;
	fail_clear();
}

/* Also of a process that has ended. */
static void
take_hits(struct shell *sh, struct handler *h, bool end)
{
	uint64_t hits;

	if (!h->filtered)
		return;
	if (sh->session && h->spots_len == 1 &&
	    session_hits(sh->session, spot_number(sh, h->spots[0]), end,
			 &hits) == 0)
		h->hits = (long long)hits;
	fail_clear();
	h->filtered = h->filtered && !end;
}

void
filter_look(struct shell *sh, struct handler *h)
{
	take_hits(sh, h, false);
}

void
filter_end(struct shell *sh, struct handler *h)
{
	take_hits(sh, h, true);
}

void
filters_end_at(struct shell *sh, uint64_t address)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->filtered && h->spots[0] == address)
			filter_end(sh, h);
	}
}
