/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bodies that only drive the recording: `collector resume`, `pause` and `sample
 * record`. They can be carried out where the recording is, without us; whatever
 * else is in a body is for the loop that runs commands.
 */
#include "events.h"
#include "script.h"

#include <string.h>

/* The words as they stand there: nothing in them is to be replaced. */
static bool
is_plain(const struct shell *sh, const struct words *w)
{
	if (w->out || w->in || w->is_group || w->joined || w->len < 2 ||
	    w->len > 4 || function_find(sh, w->items[0]) ||
	    shell_alias(sh, w->items[0]))
		return false;
	for (size_t i = 0; i < w->len; i++)
		if (strpbrk(w->items[i], "$`*?[~"))
			return false;
	return true;
}

static bool
take_deed(const struct words *w, struct session_deed *deed)
{
	if (strcmp(w->items[0], "collector") != 0)
		return false;
	if (w->len == 2 && strcmp(w->items[1], "resume") == 0)
		deed->what = DEED_RESUME;
	else if (w->len == 2 && strcmp(w->items[1], "pause") == 0)
		deed->what = DEED_PAUSE;
	else if (w->len >= 3 && strcmp(w->items[1], "sample") == 0 &&
		 strcmp(w->items[2], "record") == 0)
		deed->what = DEED_SAMPLE;
	else
		return false;
	if (w->len < 4)
		return true;
	if (strlen(w->items[3]) >= sizeof deed->label)
		return false;
	strcpy(deed->label, w->items[3]);
	return true;
}

unsigned
deeds_of(const struct shell *sh, const char *body, struct session_deed *deeds)
{
	size_t at = 0;
	unsigned n = 0;
	struct words w;
	bool taken = true;
	int r;

	while (taken && (r = words_next(body, &at, &w, NULL, NULL)) == 1) {
		if (w.len) {
			taken = n < SESSION_DEEDS && is_plain(sh, &w) &&
				take_deed(&w, &deeds[n]);
			n++;
		}
		words_fini(&w);
	}
	fail_clear();
	return taken && r == 0 ? n : 0;
}

/* One line for each, unless nobody could read them. */
void
deeds_told(struct shell *sh, int number, uint64_t times)
{
	enum { FEW = 10 };
	const struct handler *h = handler_numbered(sh, number);

	if (!h)
		return;
	for (uint64_t i = 0; times <= FEW && i < times; i++)
		shell_note(sh, "(%d) %s", h->number, h->what);
	if (times > FEW)
		shell_note(sh, "(%d) %s   (%llu times)", h->number, h->what,
			   (unsigned long long)times);
}

/* It comes before the answer to any question. */
void
deeds_settle(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (!h->filtered)
			continue;
		filter_look(sh, h);
		wait_poll(sh);
		return;
	}
}
