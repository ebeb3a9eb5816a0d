/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handlers of events: how they come into a process. What they do when the event
 * comes: firing.c.
 */
#include "event_place.h"

#include <stdlib.h>
#include <string.h>

void
handler_free(struct handler *h)
{
	free(h->what);
	free(h->body);
	free(h->file);
	free(h->condition);
	free(h->within);
	free(h->code);
	free(h->place);
	free(h->spots);
	free(h->pending);
	free(h->level.seen);
	free(h->object);
	vec_fini(&h->searched);
	data_free(h->data);
	free(h);
}

struct handler *
handler_add(struct shell *sh, enum event_kind kind, enum handler_does does)
{
	struct handler *h = xcalloc(1, sizeof *h);

	h->number = sh->next_handler++;
	h->kind = kind;
	h->does = does;
	vec_push(&sh->handlers, h);
	return h;
}

bool
handlers_want(const struct shell *sh, enum event_kind kind)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (h->kind == kind && !h->disabled)
			return true;
	}
	return false;
}

struct handler *
handler_numbered(struct shell *sh, long long number)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->number == number)
			return h;
	}
	return NULL;
}

/* ---- in the process ------------------------------------------------------ */

static void
forget_places(struct shell *sh, struct handler *h)
{
	filter_forget(sh, h);
	h->no_filter = false;
	h->spots_len = h->pending_len = 0;
	h->late = false;
	free(h->object);
	h->object = NULL;
	vec_fini(&h->searched);
}

void
handler_unplace(struct shell *sh, struct handler *h)
{
	data_unplace(sh, h);
	filter_end(sh, h);
	for (size_t i = 0; i < h->spots_len; i++)
		spot_drop(sh, h->spots[i]);
	for (size_t i = 0; i < h->pending_len; i++)
		spot_drop(sh, h->pending[i].address);
	forget_places(sh, h);
	loads_review(sh);
	if (signals_review(sh) < 0 || wants_review(sh) < 0)
		fail_clear();	/* it has ended */
}

static void
unplace(struct shell *sh, void *h)
{
	handler_unplace(sh, h);
}

static void
review(struct shell *sh, void *arg)
{
	(void)arg;
	loads_review(sh);
	if (signals_review(sh) < 0 || wants_review(sh) < 0)
		fail_clear();
}

void
handler_remove(struct shell *sh, struct handler *h)
{
	size_t i = 0;

	while (i < sh->handlers.len && sh->handlers.items[i] != h)
		i++;
	if (i == sh->handlers.len)
		return;
	handler_unplace(sh, h);
	processes_each(sh, unplace, h);
	processes_forget(sh, h->number);
	handler_free(h);
	sh->handlers.len--;
	memmove(&sh->handlers.items[i], &sh->handlers.items[i + 1],
		(sh->handlers.len - i) * sizeof *sh->handlers.items);
	review(sh, NULL);
	processes_each(sh, review, NULL);
}

/* The process is gone: functions are sought again in the next one. */
void
handlers_drop_breakpoints(struct shell *sh)
{
	data_forget(sh);
	for (size_t i = 0; i < sh->handlers.len; i++)
		forget_places(sh, sh->handlers.items[i]);
	sh->until = (struct until){0};
	sh->at_exec = false;
	sh->caught = 0;
	sh->wants = (struct session_wants){0};
	spots_forget(sh);
	loads_forget(sh);
}

static bool
has_place(const struct handler *h)
{
	return h->kind == EVENT_PLACE || h->kind == EVENT_RETURNS;
}

static int
take_spots(struct shell *sh, struct handler *h)
{
	size_t taken = 0;

	while (taken < h->spots_len &&
	       spot_take(sh, h->spots[taken], h->may_trap) == 0)
		taken++;
	if (taken && taken == h->spots_len &&
	    (!h->longer_ns || wants_review(sh) == 0))
		return 0;
	h->spots_len = taken;
	handler_unplace(sh, h);
	return -1;
}

/* Its object may come later. -1: that would not be heard of. */
static int
wait_for_load(struct shell *sh, struct handler *h)
{
	char *why = xstrdup(fail_last()->reason);
	int found;

	if (loads_watch(sh) < 0) {
		fail(FAIL_MISSING, "%s, and what is loaded later is not heard "
		     "of: %s", why, fail_last()->reason);
		free(why);
		return -1;
	}
	h->late = true;
	found = event_find(sh, h);	/* it may have come meanwhile */
	if (found < 0)
		shell_note(sh, "(%d) is pending: %s; when an object is loaded "
			   "that has it, it is placed there", h->number, why);
	free(why);
	fail_clear();
	return found < 0 ? 0 : take_spots(sh, h);
}

/* It has been pending, and is looked for once more. */
static int
place_late(struct shell *sh, struct handler *h)
{
	struct live_place at;

	if (event_find(sh, h) < 0) {
		fail_clear();
		return 0;
	}
	if (take_spots(sh, h) < 0) {
		h->late = true;
		return -1;
	}
	if (live_find(live_of(sh), h->spots[0], &at)) {
		char *name = str_tame(xstrdup(at.path));

		free(h->object);
		h->object = xstrdup(at.path);
		shell_note(sh, "(%d) is placed in %s", h->number, name);
		free(name);
	}
	return 0;
}

int
handler_place(struct shell *sh, struct handler *h)
{
	if (h->disabled || !target_alive(sh))
		return 0;
	/* objects are not loaded yet, and that is soon heard of */
	if (sh->at_exec && h->kind < EVENT_THR_CREATE)
		return 0;
	if (h->kind == EVENT_DLOPEN || h->kind == EVENT_DLCLOSE)
		return loads_watch(sh);
	if (h->kind == EVENT_SIG || h->kind == EVENT_FAULT)
		return signals_review(sh);
	if (h->kind >= EVENT_THR_CREATE)
		return wants_review(sh);
	if (h->kind == EVENT_CHANGE || h->kind == EVENT_ACCESS)
		return data_place(sh, h);
	if (!has_place(h) || h->spots_len)
		return 0;
	if (h->late)
		return place_late(sh, h);
	if (event_find(sh, h) == 0)
		return take_spots(sh, h);
	return fail_last()->kind == FAIL_MISSING ? wait_for_load(sh, h) : -1;
}

/* What is watched is data of the current one. */
static void
place_in_other(struct shell *sh, void *arg)
{
	struct handler *h = arg;

	if (h->kind == EVENT_CHANGE || h->kind == EVENT_ACCESS ||
	    handler_place(sh, h) == 0)
		return;
	fail_in("(%d) %s: process %d", h->number, h->what,
		session_pid(sh->session));
	shell_print_failure(sh);
}

int
handler_place_all(struct shell *sh, struct handler *h)
{
	if (handler_place(sh, h) < 0)
		return -1;
	processes_each(sh, place_in_other, h);
	return 0;
}

void
handler_unplace_all(struct shell *sh, struct handler *h)
{
	handler_unplace(sh, h);
	processes_each(sh, unplace, h);
}

int
handlers_place(struct shell *sh)
{
	int result = 0;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (handler_place(sh, h) == 0) {
			event_note_within(sh, h);
			continue;
		}
		fail_in("(%d) %s", h->number, h->what);
		result = fail_remedy("delete %d, or give the name of a "
				     "function that is loaded", h->number);
	}
	if (wants_review(sh) < 0)
		result = fail_in("dbxenv follow_fork_mode");
	return result;
}
