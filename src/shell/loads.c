/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that come and go while the process runs (dlopen, dlclose). While a
 * handler wants to know there is a breakpoint where the loader tells debuggers;
 * who meets it makes us compare the loader's list with the one before.
 *
 *	a place that is not there	the handler is pending
 *	an object has come		it is placed, if that has the place
 *	its object has gone		it is pending again
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct objects {
	struct session_object *items;
	size_t len;
};

struct loads {
	bool on;		/* there is that breakpoint */
	bool busy;		/* handlers change just now */
	uint64_t notify;
	struct objects known;
	char *list, *object;	/* $dllist, $dlobj */
};

static void
free_objects(struct objects *o)
{
	session_objects_free(o->items, o->len);
	*o = (struct objects){0};
}

static int
read_objects(struct shell *sh, uint64_t *notify, struct objects *o)
{
	const ssize_t n = session_loader(sh->session, notify, &o->items);

	o->len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

static struct loads *
loads_of(struct shell *sh)
{
	if (!sh->loads)
		sh->loads = xcalloc(1, sizeof *sh->loads);
	return sh->loads;
}

static void
set_names(struct loads *l, char *list, const char *object)
{
	free(l->list);
	free(l->object);
	l->list = list;
	l->object = object ? xstrdup(object) : NULL;
}

void
loads_forget(struct shell *sh)
{
	if (!sh->loads)
		return;
	free_objects(&sh->loads->known);
	set_names(sh->loads, NULL, NULL);
	free(sh->loads);
	sh->loads = NULL;
}

const char *
loads_variable(const struct shell *sh, const char *name)
{
	if (!sh->loads)
		return NULL;
	if (strcmp(name, "dllist") == 0)
		return sh->loads->list;
	return strcmp(name, "dlobj") == 0 ? sh->loads->object : NULL;
}

/* ---- who wants to know --------------------------------------------------- */

static bool
hears_loads(const struct handler *h)
{
	return h->kind == EVENT_DLOPEN || h->kind == EVENT_DLCLOSE;
}

int
loads_watch(struct shell *sh)
{
	struct loads *l = loads_of(sh);

	if (l->on)
		return 0;
	free_objects(&l->known);
	if (read_objects(sh, &l->notify, &l->known) < 0 ||
	    spot_take(sh, l->notify, false) < 0)
		return -1;
	l->on = true;
	/* what came before the breakpoint did is nobody's news */
	free_objects(&l->known);
	return read_objects(sh, &l->notify, &l->known);
}

void
loads_review(struct shell *sh)
{
	if (!sh->loads || !sh->loads->on || sh->loads->busy)
		return;
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (!h->disabled && (h->late || hears_loads(h)))
			return;
	}
	sh->loads->on = false;
	spot_drop(sh, sh->loads->notify);
}

/* ---- what has changed ---------------------------------------------------- */

static bool
has(const struct objects *o, const struct session_object *one)
{
	for (size_t i = 0; i < o->len; i++)
		if (o->items[i].base == one->base &&
		    strcmp(o->items[i].name, one->name) == 0)
			return true;
	return false;
}

/* Those of a that are not in b. */
static struct objects
without(const struct objects *a, const struct objects *b)
{
	struct objects out = {0};
	size_t cap = 0;

	for (size_t i = 0; i < a->len; i++) {
		if (has(b, &a->items[i]))
			continue;
		out.items = xgrow(out.items, &cap, out.len + 1,
				  sizeof *out.items);
		out.items[out.len++] = (struct session_object){
			a->items[i].base, xstrdup(a->items[i].name) };
	}
	return out;
}

/* LIB is a path, a file's name, or that up to a dot: libz, libz.so.1. */
static bool
is_meant(const char *path, const char *lib)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const size_t n = strlen(lib);

	if (strchr(lib, '/'))
		return strcmp(path, lib) == 0;
	return strncmp(name, lib, n) == 0 && (!name[n] || name[n] == '.');
}

static const char *
meant_by(const struct objects *o, const struct handler *h)
{
	for (size_t i = 0; i < o->len; i++)
		if (!h->place || is_meant(o->items[i].name, h->place))
			return o->items[i].name;
	return NULL;
}

static char *
listed(char sign, const struct objects *o)
{
	struct str s = {0};

	str_addf(&s, "%c", sign);
	for (size_t i = 0; i < o->len; i++)
		str_addf(&s, " %s", str_tame(o->items[i].name));
	return str_take(&s);
}

/* By number: a body may remove any of them. */
static bool
tell(struct shell *sh, enum event_kind kind, const struct objects *o,
     pid_t tid)
{
	const pid_t pid = session_pid(sh->session);
	bool over = false;

	for (int number = 1; o->len && number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);
		const char *name = h && h->kind == kind ? meant_by(o, h) : NULL;

		if (!name || !handler_counts(sh, h, tid))
			continue;
		set_names(loads_of(sh), listed(kind == EVENT_DLOPEN ? '+' : '-',
					       o), h->place ? name : NULL);
		shell_note(sh, "%s", sh->loads->list);
		sh->thread = tid;
		over = handler_fire(sh, h) || over;
		if (!sh->session || session_pid(sh->session) != pid)
			return true;
	}
	return over;
}

/* ---- handlers that are pending ------------------------------------------- */

static bool
is_of_code(const struct handler *h)
{
	return (h->kind == EVENT_PLACE || h->kind == EVENT_RETURNS) &&
		(*h->place != '&' || !isdigit((unsigned char)h->place[1]));
}

static bool
has_gone(struct shell *sh, const struct handler *h)
{
	struct live_place at;

	for (size_t i = 0; i < h->spots_len; i++)
		if (!live_find(live_of(sh), h->spots[i], &at) ||
		    (h->object && strcmp(at.path, h->object) != 0))
			return true;
	return false;
}

static void
place_pending(struct shell *sh, bool some_went)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (!is_of_code(h) || h->disabled)
			continue;
		if (h->spots_len && some_went && has_gone(sh, h)) {
			handler_unplace(sh, h);
			h->late = true;
			shell_note(sh, "(%d) is pending again: its object was "
				   "unloaded", h->number);
		}
		if (!h->late || h->spots_len)
			continue;
		if (handler_place(sh, h) < 0) {
			fail_in("(%d) %s", h->number, h->what);
			shell_print_failure(sh);
		}
	}
}

bool
loads_meet(struct shell *sh, uint64_t address, pid_t tid)
{
	struct loads *l = sh->loads;
	struct objects now = {0}, came, went;
	uint64_t notify;
	bool over;

	if (!l || !l->on || address != l->notify)
		return false;
	if (read_objects(sh, &notify, &now) < 0) {
		shell_print_failure(sh);
		return false;
	}
	came = without(&now, &l->known);
	went = without(&l->known, &now);
	free_objects(&l->known);
	l->known = now;
	l->busy = true;
	if (came.len || went.len)
		place_pending(sh, went.len);
	l->busy = false;
	over = tell(sh, EVENT_DLCLOSE, &went, tid);
	if (sh->session && !sh->quitting)
		over = tell(sh, EVENT_DLOPEN, &came, tid) || over;
	free_objects(&came);
	free_objects(&went);
	if (sh->session)
		loads_review(sh);
	return over;
}
