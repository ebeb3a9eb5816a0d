/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where handlers wait: FUNCTION, [FILE:]LINE, &ADDRESS. Code of one line may
 * be in several functions (a header's, a template's): all of them are meant,
 * in each the place where that line begins.
 */
#include "event_place.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void
event_add_spot(struct handler *h, uint64_t address)
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

bool
event_is_file(const char *path, const char *file)
{
	return str_path_ends(path, file, strlen(file));
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

	if (!row->line || !row->file || !event_is_file(row->file, s->file))
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

bool
event_was_searched(const struct handler *h, const struct symfile *sf)
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

	if (event_was_searched(s->h, sf))
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
			event_add_spot(c->h, code->vaddr == code->function ?
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
		live_function(live_of(sh), h->place + 1) : 0;
	char *end;

	if (named) {
		if (begins)
			event_add_spot(h, begins);
		return begins ? 0 : -1;
	}
	errno = 0;

	const uint64_t addr = strtoull(h->place + 1, &end, 0);

	if (errno || *end || end == h->place + 1)
		return fail(FAIL_USAGE, "'%s' is no address", h->place);
	event_add_spot(h, addr);
	return 0;
}

int
event_find(struct shell *sh, struct handler *h)
{
	h->spots_len = 0;
	if (h->at_line)
		return *h->place == '&' ? find_address(sh, h) : find_place(sh, h);
	if (h->of_name || h->of_file)
		return event_find_all(sh, h);
	return event_find_function(sh, h);
}
