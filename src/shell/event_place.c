/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where handlers wait: FUNCTION, [FILE:]LINE, &ADDRESS. Code of one line may
 * be in several functions (a header's, a template's): all of them are meant,
 * in each the place where that line begins.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void
add_spot(struct handler *h, uint64_t address)
{
	for (size_t i = 0; i < h->spots_len; i++)
		if (h->spots[i] == address)
			return;
	h->spots = xgrow(h->spots, &h->spots_cap, h->spots_len + 1,
			 sizeof *h->spots);
	h->spots[h->spots_len++] = address;
}

/* ---- lines --------------------------------------------------------------- */

struct search {
	struct handler *h;
	struct symfile *sf;
	const char *file;	/* as written: the end of a path */
	int line;		/* that is sought */
	int next;		/* the first behind it that has code */
	struct code {
		uint64_t function, vaddr;
	} *items;
	size_t len, cap;
	int last_line;		/* of the row before */
	bool collect;
};

static bool
is_file(const char *path, const char *file)
{
	const size_t n = strlen(path), m = strlen(file);

	return n >= m && strcmp(path + n - m, file) == 0 &&
		(n == m || path[n - m - 1] == '/');
}

/* In each function where it comes first. */
static void
note_code(struct search *s, uint64_t vaddr)
{
	struct symbol sym;
	const uint64_t function = symfile_find(s->sf, vaddr, &sym) ?
		sym.start : vaddr;

	for (size_t i = 0; i < s->len; i++) {
		if (s->items[i].function != function)
			continue;
		if (vaddr < s->items[i].vaddr)
			s->items[i].vaddr = vaddr;
		return;
	}
	s->items = xgrow(s->items, &s->cap, s->len + 1, sizeof *s->items);
	s->items[s->len++] = (struct code){ function, vaddr };
}

static bool
take_row(void *arg, const struct symfile_row *row)
{
	struct search *s = arg;

	if (!row->line || !row->file || !is_file(row->file, s->file))
		return true;
	if (s->collect && row->line == s->line)
		note_code(s, row->vaddr);
	if (!s->collect && row->line >= s->line && row->line < s->next)
		s->next = row->line;
	return true;
}

static void
each_unit(struct search *s)
{
	const size_t units = symfile_units(s->sf);

	for (size_t i = 1; i <= units; i++)
		symfile_unit_rows(s->sf, i, take_row, s);
}

static bool
was_searched(const struct handler *h, const struct symfile *sf)
{
	for (size_t i = 0; i < h->searched.len; i++)
		if (h->searched.items[i] == sf)
			return true;
	return false;
}

/* One that is pending asks each object once. */
static bool
seek_line(void *arg, struct symfile *sf)
{
	struct search *s = arg;

	if (was_searched(s->h, sf))
		return true;
	s->sf = sf;
	each_unit(s);
	if (s->next == INT_MAX)
		vec_push(&s->h->searched, sf);
	return true;
}

struct collecting {
	struct shell *sh;
	struct handler *h;
	struct search search;
};

static bool
collect_line(void *arg, struct symfile *sf)
{
	struct collecting *c = arg;
	struct live *l = live_of(c->sh);

	c->search.sf = sf;
	c->search.len = 0;
	each_unit(&c->search);
	for (size_t i = 0; i < c->search.len; i++) {
		const struct code *code = &c->search.items[i];
		const uint64_t addr = live_run_time(l, sf, code->vaddr);

		if (addr)
			add_spot(c->h, code->vaddr == code->function ?
				 place_behind_prologue(c->sh, addr) : addr);
	}
	return true;
}

static int
find_line(struct shell *sh, struct handler *h, const char *file, int line)
{
	struct search first = { .h = h, .file = file, .line = line, .next = INT_MAX };
	struct collecting c = { .sh = sh, .h = h };

	live_each_object(live_of(sh), seek_line, &first);
	if (first.next == INT_MAX) {
		live_fail_missing(live_of(sh),
				  xasprintf("code of %s:%d", file, line));
		return fail_remedy("compile it with -g; loadobject lists what "
				   "is loaded");
	}
	c.search = (struct search){ .file = file, .line = first.next,
				    .collect = true };
	live_each_object(live_of(sh), collect_line, &c);
	free(c.search.items);
	return 0;
}

/* A line alone is one of the source that is looked at now, and remains so. */
void
event_pin(struct shell *sh, struct handler *h)
{
	const char *file = *h->place == '&' || strchr(h->place, ':') ?
		NULL : list_file(sh);
	char *place;

	if (!file)
		return;
	place = xasprintf("%s:%s", file, h->place);
	free(h->place);
	h->place = place;
}

/* "12", "file.c:12" */
static int
find_place(struct shell *sh, struct handler *h)
{
	const char *colon;
	char *file;
	long long line;
	int r;

	event_pin(sh, h);
	colon = strrchr(h->place, ':');
	if (!str_number(colon ? colon + 1 : h->place, 1, INT_MAX, &line)) {
		fail(FAIL_USAGE, "'%s' is no line", h->place);
		return fail_remedy("stop at FILE:LINE, or stop at &ADDRESS");
	}
	if (!colon) {
		fail(FAIL_USAGE, "line %lld of which file?", line);
		return fail_remedy("stop at FILE:%lld", line);
	}
	file = xstrndup(h->place, (size_t)(colon - h->place));
	r = find_line(sh, h, file, (int)line);
	free(file);
	return r;
}

static int
find_address(struct shell *sh, struct handler *h)
{
	const bool named = !isdigit((unsigned char)h->place[1]);
	const uint64_t begins = named ?
		live_address(live_of(sh), h->place + 1) : 0;
	char *end;

	if (named) {
		if (begins)
			add_spot(h, begins);
		return begins ? 0 : -1;
	}
	errno = 0;

	const uint64_t addr = strtoull(h->place + 1, &end, 0);

	if (errno || *end || end == h->place + 1)
		return fail(FAIL_USAGE, "'%s' is no address", h->place);
	add_spot(h, addr);
	return 0;
}

/* ---- many functions ------------------------------------------------------ */

struct gathering {
	struct shell *sh;
	struct handler *h;
	struct symfile *sf;
	const char *last;	/* of a qualified name */
};

static void
gather(struct gathering *g, uint64_t vaddr)
{
	const uint64_t addr = live_run_time(live_of(g->sh), g->sf, vaddr);

	if (addr)
		add_spot(g->h, place_behind_prologue(g->sh, addr));
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
	if (file && is_file(file, g->h->place))
		gather(g, start);
}

static bool
gather_object(void *arg, struct symfile *sf)
{
	struct gathering *g = arg;
	const size_t before = g->h->spots_len;

	if (was_searched(g->h, sf))
		return true;
	g->sf = sf;
	if (g->h->of_name)
		symfile_each(sf, take_named, g);
	for (size_t i = 1; g->h->of_file && i <= symfile_units(sf); i++)
		symfile_unit_functions(sf, i, take_of_file, g);
	if (g->h->spots_len == before)
		vec_push(&g->h->searched, sf);
	return true;
}

static int
find_all(struct shell *sh, struct handler *h)
{
	const char *colon = strrchr(h->place, ':');
	struct gathering g = { .sh = sh, .h = h,
			       .last = colon ? colon + 1 : h->place };

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

int
event_find(struct shell *sh, struct handler *h)
{
	uint64_t addr;

	h->spots_len = 0;
	if (h->at_line)
		return *h->place == '&' ? find_address(sh, h) : find_place(sh, h);
	if (h->of_name || h->of_file)
		return find_all(sh, h);
	addr = live_address(live_of(sh), h->place);
	if (!addr)
		return -1;
	add_spot(h, place_behind_prologue(sh, addr));
	return 0;
}
