/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Timers of `when`. They know the time for which the process was waited for:
 * at the prompt, and while other commands work, none goes on. One comes once
 * for each process; with -count it comes again and again, as often as it would
 * have in that time if nothing took any, and each so many times it is told.
 *
 *	0 --- a wait ---> due ---> never (UINT64_MAX)
 *	^                  |  \--- -count ---> due again
 *	+--- switched off -+
 */
#include "events.h"

void
timers_reset(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++)
		((struct handler *)sh->handlers.items[i])->due_ns = 0;
	levels_reset(sh);
}

static bool
is_armed(const struct handler *h)
{
	return h->kind == EVENT_TIMER && h->due_ns && h->due_ns != UINT64_MAX;
}

void
timers_begin(struct shell *sh)
{
	const uint64_t stood = now_ns() - sh->waited_until_ns;

	if (sh->waits++)
		return;
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (is_armed(h))
			h->due_ns += stood;
	}
}

void
timers_end(struct shell *sh)
{
	if (!--sh->waits)
		sh->waited_until_ns = now_ns();
}

void
timers_arm(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->kind != EVENT_TIMER)
			continue;
		if (h->disabled && is_armed(h))
			h->due_ns = 0;
		if (!h->disabled && !h->due_ns)
			h->due_ns = now_ns() + h->period_ns;
	}
}

static struct handler *
next(struct shell *sh)
{
	struct handler *next = NULL;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (is_armed(h) && !h->disabled &&
		    (!next || h->due_ns < next->due_ns))
			next = h;
	}
	return next;
}

uint64_t
timers_due(struct shell *sh)
{
	const struct handler *h = next(sh);

	return h ? h->due_ns : UINT64_MAX;
}

/* Each once at most: others have their turn, whatever a body takes. */
bool
timers_fire(struct shell *sh)
{
	const uint64_t now = now_ns();
	struct handler *h;

	while ((h = next(sh)) && h->due_ns <= now) {
		const uint64_t late = now - h->due_ns;

		h->due_ns = !h->count ? UINT64_MAX :
			now - late % h->period_ns + h->period_ns;
		if (handler_counts(sh, h, 0) && handler_fire(sh, h))
			return true;
	}
	return false;
}
