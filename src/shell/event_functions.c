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
	const char *name;	/* without the file that is written before it */
	const char *last;	/* of a qualified name */
	bool wild;		/* namespaces and classes may be missing, and
				 * arguments of templates */
};

static struct gathering
gathering_for(struct shell *sh, struct handler *h)
{
	const char *name = symfile_written_name(h->place);
	const char *colon = strrchr(name, ':');

	return (struct gathering){ .sh = sh, .h = h, .name = name,
				   .last = colon ? colon + 1 : name };
}

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
	if ((strcmp(name, g->name) == 0 || strcmp(sym->name, g->name) == 0) &&
	    symfile_written_here(g->sf, sym->start, g->h->place))
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
	    name_ends_so(sym->name, g->name) &&
	    symfile_written_here(g->sf, sym->start, g->h->place))
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
	bool same = strcmp(linkage, g->name) == 0 ||
		(g->wild && name_ends_so(linkage, g->name));

	for (int form = 0; form < 2 && !same; form++) {
		char *name = name_display(linkage, form ? NAME_SHORT :
					  NAME_LONG);

		same = strcmp(name, g->name) == 0;
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

	if (addr && symfile_written_here(g->sf, vaddr, g->h->place))
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
	plain = plain_name(g->name);
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
	struct gathering g = gathering_for(sh, h);

	if (h->kind == EVENT_PLACE && !h->of_file)
		live_each_object(live_of(sh), add_copies, &g);
}

/* A call that was inlined does not return. */
static bool
waits_for_inlined(struct shell *sh, struct handler *h)
{
	struct gathering g = gathering_for(sh, h);
	bool any;

	g.wild = true;
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
	struct gathering g = gathering_for(sh, h);

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

static bool
add_function(void *arg, uint64_t addr)
{
	struct gathering *g = arg;

	event_add_spot(g->h, place_behind_prologue(g->sh, addr));
	return true;
}

/* The functions of that name in the first object that has any (several where
 * they are private to files, or overloaded), and the copies of them; if there
 * is none, all whose names end so. */
int
event_find_function(struct shell *sh, struct handler *h)
{
	struct gathering g = gathering_for(sh, h);

	g.wild = true;
	(void)live_each_named(live_of(sh), h->place, add_function, &g);
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
