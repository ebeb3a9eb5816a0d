/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source file with what each of its lines cost. A line's cost comes from all
 * code made of it, counted once for each stack. Before the line where a
 * function begins stands the function, with what it has from elsewhere: code
 * inlined from other files, and instructions without line numbers.
 */
#include "listing.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

/* ---- costs ---------------------------------------------------------- */

/* What a function has from another file, or without a line. */
static bool
is_elsewhere(const struct source_cost *cost)
{
	return cost->function != FUNCTION_TOTAL;
}

static int
by_place(const void *a, const void *b)
{
	const struct source_cost *const *pa = a, *const *pb = b;
	const struct source_cost *x = *pa, *y = *pb;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (!x->file || !y->file)
		return x->file ? -1 : y->file != NULL;
	return strcmp(x->file, y->file);
}

static void
place_costs(struct page *p)
{
	for (size_t i = 0; i < p->costs_len; i++)
		if (p->costs[i].line > 0 && p->costs[i].line <= LINE_LAST)
			page_grow(p, p->costs[i].line);
	p->at = xcalloc(p->lines + 1, sizeof *p->at);
	p->parts = xcalloc(p->costs_len + 1, sizeof *p->parts);
	for (size_t i = 0; i < p->costs_len; i++)
		if (is_elsewhere(&p->costs[i]))
			p->parts[p->parts_len++] = &p->costs[i];
		else if (p->costs[i].line <= LINE_LAST)
			p->at[p->costs[i].line] = &p->costs[i].cost;
	if (p->parts_len)
		qsort(p->parts, p->parts_len, sizeof *p->parts, by_place);
}

static void
list_part(struct page *p, struct listing *l, const struct source_cost *part)
{
	const char *name = viewer_name(p->v, part->function);

	listing_index(l, part->file ?
		xasprintf("<Function: %s, instructions from source file %s>",
			  name, path_base(part->file)) :
		xasprintf("%s -- <instructions without line numbers>", name),
		&part->cost);
}

/* Parts of which no line is known: where their function begins. */
static void
list_elsewhere(struct page *p, struct listing *l, const struct entry *e)
{
	uint64_t id = 0;

	(void)map_get(&p->functions, page_key(e->object, e->start), &id);
	for (size_t i = 0; i < p->parts_len && !p->parts[i]->line; i++)
		if (id && p->parts[i]->function == id - 1)
			list_part(p, l, p->parts[i]);
}

static void
list_called(struct page *p, struct listing *l, int line)
{
	while (p->inline_at < p->inlined_len &&
	       p->inlined[p->inline_at].line < line)
		p->inline_at++;
	for (; p->inline_at < p->inlined_len &&
	     p->inlined[p->inline_at].line == line; p->inline_at++) {
		char *name = name_display(p->inlined[p->inline_at].name,
					  NAME_SHORT);

		listing_index(l, xasprintf("<%s is inlined here>", name),
			      NULL);
		free(name);
	}
	while (p->part < p->parts_len && p->parts[p->part]->line < line)
		p->part++;
	for (; p->part < p->parts_len && p->parts[p->part]->line == line;
	     p->part++)
		list_part(p, l, p->parts[p->part]);
}

static void
list_line(struct page *p, struct listing *l, const struct source_text *text,
	  int line, size_t *entry)
{
	static const struct cost zero;
	const bool has_code = (size_t)line < p->lines && p->has_code[line];
	const struct cost *cost = (size_t)line < p->lines ? p->at[line] : NULL;

	for (; *entry < p->entries_len && p->entries[*entry].line == line;
	     ++*entry) {
		listing_index(l, xasprintf("<Function: %s>",
					   p->entries[*entry].name), NULL);
		list_elsewhere(p, l, &p->entries[*entry]);
	}
	list_called(p, l, line);
	/* without its text only what has code is worth a line */
	if ((size_t)line <= text->len || has_code || cost)
		listing_source(l, line, text_line(text, line),
			       cost ? cost : has_code ? &zero : NULL);
}

static void
list_page(struct page *p, struct listing *l, const struct source_text *text)
{
	const size_t last = text->len + 1 > p->lines ? text->len + 1 :
						       p->lines;
	size_t entry = 0;

	if (p->v->source_shows & SHOW_FLAGS)
		listing_flags(l, p->subject->object, p->subject->unit);
	for (size_t line = 1; line < last; line++)
		list_line(p, l, text, (int)line, &entry);
	for (size_t i = 0; i < p->costs_len; i++)
		if (p->costs[i].line > LINE_LAST && !is_elsewhere(&p->costs[i]))
			listing_index(l, xasprintf("<line %d: no such line>",
						   p->costs[i].line),
				      &p->costs[i].cost);
}

static void
write_page(struct viewer *v, struct page *p, FILE *out)
{
	const struct subject *s = p->subject;
	struct found_source found;
	struct source_text text;
	struct listing l;

	(void)source_find(v, s->file, &found);
	source_trouble(v, s->file, &found);
	text_read(&text, found.path);
	listing_header(s->file, found.path, s->object, out);
	listing_init(&l, v, v->source_threshold, 0);
	list_page(p, &l, &text);
	listing_write(&l, out);
	listing_fini(&l);
	text_fini(&text);
	found_source_fini(&found);
}

int
view_source(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct subject subject;

	if (subject_choose(v, n, words, &subject) < 0)
		return -1;

	struct page p = { .v = v, .subject = &subject };

	p.costs_len = profile_source(v->prof, subject.file, &p.costs);
	page_collect(&p);
	place_costs(&p);
	write_page(v, &p, out);
	page_fini(&p);
	return 0;
}
