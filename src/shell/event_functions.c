/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where handlers wait that name functions: the one of that name, each that has
 * it, all of a file; and wherever they were inlined.
 */
#include "event_place.h"

#include <stdlib.h>
#include <string.h>

/* ---- many functions ------------------------------------------------------ */

struct gathering {
	struct shell *sh;
	struct handler *h;
	struct symfile *sf;
	const char *last;	/* of a qualified name */
	bool wild;		/* namespaces and classes may be missing, and
				 * arguments of templates */
};

static void
gather(struct gathering *g, uint64_t vaddr)
{
	const uint64_t addr = live_run_time(live_of(g->sh), g->sf, vaddr);

	if (addr)
		event_add_spot(g->h, place_behind_prologue(g->sh, addr));
}

/* f is also f(int) and f(char); ns::f only what is there. */
static bool
take_named(void *arg, const struct symbol *sym)
{
	struct gathering *g = arg;
	char *name;

	if (sym->is_plt || !strstr(sym->name, g->last))
		return true;
	name = name_display(sym->name, NAME_SHORT);
	if (strcmp(name, g->h->place) == 0 ||
	    strcmp(sym->name, g->h->place) == 0)
		gather(g, sym->start);
	free(name);
	return true;
}

static void
take_of_file(void *arg, uint64_t start, const char *file, int line)
{
	struct gathering *g = arg;

	(void)line;
	if (file && event_is_file(file, g->h->place))
		gather(g, start);
}

/* One that is pending asks each object once. */
static void
seek_once(struct gathering *g, struct symfile *sf,
	  void (*seek)(struct gathering *g))
{
	const size_t before = g->h->spots_len;

	if (event_was_searched(g->h, sf))
		return;
	g->sf = sf;
	seek(g);
	if (g->h->spots_len == before)
		vec_push(&g->h->searched, sf);
}

static void
seek_all(struct gathering *g)
{
	if (g->h->of_name)
		symfile_each(g->sf, take_named, g);
	for (size_t i = 1; g->h->of_file && i <= symfile_units(g->sf); i++)
		symfile_unit_functions(g->sf, i, take_of_file, g);
}

static bool
gather_object(void *arg, struct symfile *sf)
{
	seek_once(arg, sf, seek_all);
	return true;
}

/* ---- names that are not whole ------------------------------------------- */

static bool
take_ending(void *arg, const struct symbol *sym)
{
	struct gathering *g = arg;

	if (!sym->is_plt && strstr(sym->name, g->last) &&
	    name_ends_so(sym->name, g->h->place))
		gather(g, sym->start);
	return true;
}

/* ---- copies that were inlined -------------------------------------------- */

/* What a name ends with, behind namespaces and before its parameters. */
static char *
plain_name(const char *place)
{
	const size_t n = strcspn(place, "(<");
	size_t from = n;

	while (from > 0 && place[from - 1] != ':')
		from--;
	return xstrndup(place + from, n - from);
}

static bool
is_meant(void *arg, const char *linkage)
{
	const struct gathering *g = arg;
	bool same = strcmp(linkage, g->h->place) == 0 ||
		(g->wild && name_ends_so(linkage, g->h->place));

	for (int form = 0; form < 2 && !same; form++) {
		char *name = name_display(linkage, form ? NAME_SHORT :
					  NAME_LONG);

		same = strcmp(name, g->h->place) == 0;
		free(name);
	}
	return same;
}

/* They have no prologue. */
static void
add_copy(void *arg, uint64_t vaddr)
{
	struct gathering *g = arg;
	const uint64_t addr = live_run_time(live_of(g->sh), g->sf, vaddr);

	if (addr)
		event_add_spot(g->h, addr);
}

static bool
add_copies(void *arg, struct symfile *sf)
{
	struct gathering *g = arg;
	char *plain;

	if (event_was_searched(g->h, sf))
		return true;
	g->sf = sf;
	plain = plain_name(g->h->place);
	symfile_copies(sf, plain, is_meant, add_copy, g);
	free(plain);
	return true;
}

static void
seek_endings(struct gathering *g)
{
	symfile_each(g->sf, take_ending, g);
	if (g->h->kind == EVENT_PLACE)
		(void)add_copies(g, g->sf);
}

static bool
gather_endings(void *arg, struct symfile *sf)
{
	seek_once(arg, sf, seek_endings);
	return true;
}

static void
find_copies(struct shell *sh, struct handler *h)
{
	struct gathering g = { .sh = sh, .h = h };

	if (h->kind == EVENT_PLACE && !h->of_file)
		live_each_object(live_of(sh), add_copies, &g);
}

/* A call that was inlined does not return. */
static bool
waits_for_inlined(struct shell *sh, struct handler *h)
{
	struct gathering g = { .sh = sh, .h = h, .wild = true };
	bool any;

	if (h->kind != EVENT_RETURNS)
		return false;
	live_each_object(live_of(sh), add_copies, &g);
	any = h->spots_len > 0;
	h->spots_len = 0;
	return any;
}

int
event_find_all(struct shell *sh, struct handler *h)
{
	const char *colon = strrchr(h->place, ':');
	struct gathering g = { .sh = sh, .h = h,
			       .last = colon ? colon + 1 : h->place };

	find_copies(sh, h);
	live_each_object(live_of(sh), gather_object, &g);
	if (h->spots_len)
		return 0;
	live_fail_missing(live_of(sh),
			  xasprintf("function %s'%s'", h->of_file ?
				    "of file " : "", h->place));
	return fail_remedy(h->of_file ? "compile it with -g; loadobject lists "
			   "what is loaded" : "loadobject lists what is loaded; "
			   "a stripped object has only exported names");
}

/* The function of that name, and its copies; if there is none, all whose names
 * end so. */
int
event_find_function(struct shell *sh, struct handler *h)
{
	const char *colon = strrchr(h->place, ':');
	struct gathering g = { .sh = sh, .h = h, .wild = true,
			       .last = colon ? colon + 1 : h->place };
	const uint64_t addr = live_address(live_of(sh), h->place);

	if (addr)
		event_add_spot(h, place_behind_prologue(sh, addr));
	find_copies(sh, h);
	if (h->spots_len) {
		fail_clear();
		return 0;
	}

	struct failure *why = fail_keep();

	const bool inlined = waits_for_inlined(sh, h);

	live_each_object(live_of(sh), gather_endings, &g);
	fail_again(why);
	if (h->spots_len) {
		fail_clear();
		return 0;
	}
	if (!inlined)
		return -1;
	fail(FAIL_UNSUITABLE, "%s was inlined wherever it is called, and "
	     "returns from nowhere", h->place);
	return fail_remedy("when in %s, when at LINE behind it", h->place);
}
