/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that a handler does not count, that are not the one in so many that it
 * waits for, or at which it only drives the recording, are judged where threads
 * are waited for. The first hit is judged here: only where the thread stands
 * then is it known what the names in the condition are, and where a function
 * returns to.
 */
#include "events.h"

#include <string.h>

static bool
has_site(const struct handler *h, uint64_t address)
{
	for (size_t i = 0; i < h->sites_len; i++)
		if (h->sites[i] == address)
			return true;
	return false;
}

bool
filter_is_at(const struct handler *h, uint64_t address)
{
	return h->filtered && (h->spots[0] == address || has_site(h, address));
}

/* ---- it begins ----------------------------------------------------------- */

static bool
drives_only(const struct shell *sh, const struct handler *h)
{
	struct session_deed deeds[SESSION_DEEDS];

	return h->does == DOES_RUN && h->body && deeds_of(sh, h->body, deeds);
}

static bool
may_be_filtered(const struct shell *sh, const struct handler *h)
{
	if (h->filtered || h->no_filter || h->disabled || h->once ||
	    h->within || h->spots_len != 1)
		return false;
	if (h->kind == EVENT_PLACE)
		return h->condition || h->count || h->thread ||
			drives_only(sh, h);
	return h->kind == EVENT_RETURNS && !h->longer_ns && h->pending_len &&
		h->pending_len <= SESSION_PENDING && drives_only(sh, h);
}

/* Where it returns to now, and lately: the last ones. */
static void
note_sites(struct handler *h, const struct session_pending *now)
{
	if (has_site(h, now->address))
		return;
	if (h->sites_len == SESSION_SITES) {
		memmove(h->sites, h->sites + 1,
			(SESSION_SITES - 1) * sizeof h->sites[0]);
		h->sites_len--;
	}
	h->sites[h->sites_len++] = now->address;
}

/* What is to return goes there, and a breakpoint stays where it does. false: at
 * more places than there may be breakpoints. */
static bool
hand_over(struct shell *sh, struct handler *h, struct session_filter *f)
{
	for (size_t i = 0; i < h->pending_len; i++) {
		const struct pending *p = &h->pending[i];

		f->pending[i] = (struct session_pending){
			p->tid, p->address, p->least_sp, p->since_ns,
		};
		note_sites(h, &f->pending[i]);
	}
	for (size_t i = 0; i < h->pending_len; i++)
		if (!has_site(h, f->pending[i].address))
			return false;
	f->pending_count = (unsigned)h->pending_len;
	for (size_t i = 0; i < h->sites_len;) {
		const uint64_t at = h->sites[i];

		if (spot_users(sh, at))
			spot_share(sh, at);
		/* of an earlier call; there may be no room for one more */
		if (spot_users(sh, at) || spot_take(sh, at, h->may_trap) == 0) {
			i++;
			continue;
		}
		h->sites_len--;
		memmove(&h->sites[i], &h->sites[i + 1],
			(h->sites_len - i) * sizeof h->sites[0]);
	}
	for (size_t i = 0; i < h->pending_len; i++)
		spot_drop(sh, h->pending[i].address);
	h->pending_len = 0;
	for (size_t i = 0; i < h->sites_len; i++)
		f->sites[i] = (struct session_site){
			.number = spot_number(sh, h->sites[i]),
			.users = spot_users(sh, h->sites[i]),
			.address = h->sites[i],
		};
	f->site_count = (unsigned)h->sites_len;
	return true;
}

/* What is to return is known here again. */
static void
take_back(struct shell *sh, struct handler *h,
	  const struct session_pending *pending, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct session_pending *p = &pending[i];

		if (spot_take(sh, p->address, h->may_trap) < 0)
			continue;
		h->pending = xgrow(h->pending, &h->pending_cap,
				   h->pending_len + 1, sizeof *h->pending);
		h->pending[h->pending_len++] = (struct pending){
			.tid = p->tid, .address = p->address,
			.least_sp = p->least_sp, .since_ns = p->since_ns,
		};
	}
	for (size_t i = 0; i < h->sites_len; i++)
		spot_drop(sh, h->sites[i]);
}

/* Of the pending one that the thread has just entered. */
static bool
find_return(struct shell *sh, struct handler *h, struct debug *d,
	    struct session_filter *f)
{
	const struct pending *last = &h->pending[h->pending_len - 1];

	f->returns = true;
	return last->tid == sh->thread && d &&
		debug_return_address(d, last->address, &f->to) &&
		hand_over(sh, h, f);
}

static void
filter_begin(struct shell *sh, struct handler *h)
{
	struct session_filter f = {
		.who = h->number, .thread = h->thread,
		.limit = (uint64_t)h->count, .hits = (uint64_t)h->hits,
	};
	const bool returns = h->kind == EVENT_RETURNS;
	struct debug *d;

	if (h->does == DOES_RUN && h->body)
		f.deed_count = deeds_of(sh, h->body, f.deeds);
	d = h->condition || returns ? debuggee_now(sh) : NULL;
	/* a condition of what returns is of another place */
	h->no_filter = (h->condition &&
		(returns || !d ||
		 !debug_condition(d, h->condition, &f.condition))) ||
		(returns && !find_return(sh, h, d, &f));
	f.users = spot_users(sh, h->spots[0]);
	if (!h->no_filter) {
		h->filtered = session_filter(sh->session,
					     spot_number(sh, h->spots[0]),
					     &f) == 0;
		if (!h->filtered)	/* by engine remote, for one */
			take_back(sh, h, f.pending, f.pending_count);
	}
	h->no_filter = h->no_filter || !h->filtered;
	fail_clear();
}

/* A body may have moved it. */
static bool
still_stands_at(struct shell *sh, uint64_t address, pid_t tid)
{
	struct session_step at;

	return tid && session_state(sh->session) == SESSION_STOPPED &&
		session_at(sh->session, tid, &at) == 0 && at.pc == address;
}

void
filters_begin_at(struct shell *sh, uint64_t address, pid_t tid)
{
	const pid_t thread = sh->thread;
	bool stands = false;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (!may_be_filtered(sh, h) || h->spots[0] != address)
			continue;
		if (!stands && !still_stands_at(sh, address, tid))
			break;
		stands = true;
		sh->thread = tid;
		filter_begin(sh, h);
		sh->thread = thread;
	}
	fail_clear();
}

/* ---- it ends ------------------------------------------------------------- */

/* Also of a process that has ended. */
static bool
take_hits(struct shell *sh, struct handler *h, bool end,
	  struct session_hits *hits)
{
	if (!h->filtered)
		return false;
	if (!sh->session ||
	    session_hits(sh->session, h->number, end, hits) < 0) {
		fail_clear();
		return false;
	}
	h->hits = (long long)hits->hits;
	return true;
}

void
filter_look(struct shell *sh, struct handler *h)
{
	struct session_hits hits;

	(void)take_hits(sh, h, false, &hits);
}

void
filter_end(struct shell *sh, struct handler *h)
{
	struct session_hits hits = { .pending_count = 0 };

	if (!h->filtered)
		return;
	(void)take_hits(sh, h, true, &hits);
	h->filtered = false;
	take_back(sh, h, hits.pending, hits.pending_count);
	fail_clear();
}

void
filter_forget(struct shell *sh, struct handler *h)
{
	struct session_hits hits;

	(void)take_hits(sh, h, true, &hits);
	h->filtered = false;
	h->sites_len = 0;
}

void
filters_end_at(struct shell *sh, uint64_t address)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (filter_is_at(h, address))
			filter_end(sh, h);
	}
}
