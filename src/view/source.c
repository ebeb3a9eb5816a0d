/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source file with what each of its lines cost. A line's cost comes from all
 * code made of it, counted once for each stack. Before the line where a
 * function begins stands the function, with what it has from elsewhere: code
 * inlined from other files, and instructions without line numbers.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct entry {			/* a function that begins in the file */
	int line;
	uint64_t start;
	const struct profile_object *object;
	char *name;
};

struct page {
	struct viewer *v;
	const struct subject *subject;
	const struct source_cost *costs;
	size_t costs_len;
	struct map functions;	/* start in that object -> profile's + 1 */
	struct map declared;	/* start in that object -> line */
	struct map units;	/* hash of object and unit, seen */
	const struct profile_object *object;	/* that is walked */
	struct entry *entries;
	size_t entries_len, entries_cap;
	bool *has_code;		/* by line */
	size_t lines, lines_cap;
	const struct cost **at;	/* by line */
};

static void
grow_lines(struct page *p, int line)
{
	const size_t before = p->lines_cap;

	if ((size_t)line < p->lines)
		return;
	p->lines = (size_t)line + 1;
	p->has_code = xgrow(p->has_code, &p->lines_cap, p->lines,
			    sizeof *p->has_code);
	memset(p->has_code + before, 0, p->lines_cap - before);
}

/* ---- functions that begin here -------------------------------------- */

static uint64_t
function_key(const struct profile_object *obj, uint64_t start)
{
	return hash_word((uintptr_t)obj) ^ start;
}

static void
index_functions(struct page *p)
{
	const size_t n = profile_function_count(p->v->prof);

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_function *fn =
			profile_function(p->v->prof, i);

		if (fn->object->symbols && fn->start)
			map_put(&p->functions, function_key(fn->object,
							    fn->start), i + 1);
	}
}

static void
add_entry(struct page *p, int line, const struct symbol *sym)
{
	uint64_t id;
	uint64_t declared;
	const uint64_t key = function_key(p->object, sym->start);
	const bool known = map_get(&p->functions, key, &id);

	if (map_get(&p->declared, key, &declared) && (int)declared < line)
		line = (int)declared;

	p->entries = xgrow(p->entries, &p->entries_cap, p->entries_len + 1,
			   sizeof *p->entries);
	p->entries[p->entries_len++] = (struct entry){
		.line = line, .start = sym->start, .object = p->object,
		.name = known ? xstrdup(viewer_name(p->v, (uint32_t)id - 1)) :
				name_display(sym->name, p->v->form),
	};
}

/* People look for a function where it is declared: the first instruction may
 * be of the brace below. */
static void
take_function(void *arg, uint64_t start, const char *file, int line)
{
	struct page *p = arg;

	if (line > 0 && !strcmp(file, p->subject->file))
		map_put(&p->declared, function_key(p->object, start),
			(uint64_t)line);
}

static bool
take_row(void *arg, const struct symfile_row *row)
{
	enum { LINE_MAX_ = 1 << 24 };	/* larger numbers are damage */
	struct page *p = arg;
	struct symbol sym;

	if (!row->file || row->line <= 0 || row->line > LINE_MAX_ ||
	    (row->file != p->subject->file &&
	     strcmp(row->file, p->subject->file)))
		return true;
	grow_lines(p, row->line);
	p->has_code[row->line] = true;
	if (symfile_find(p->object->symbols, row->vaddr, &sym) &&
	    sym.start == row->vaddr && !sym.is_plt)
		add_entry(p, row->line, &sym);
	return true;
}

static void
walk_unit(struct page *p, const struct profile_object *obj, size_t unit)
{
	uint64_t *seen = map_slot_of(&p->units, function_key(obj, unit));

	if (!unit || *seen)
		return;
	*seen = 1;
	p->object = obj;
	symfile_unit_functions(obj->symbols, unit, take_function, p);
	symfile_unit_rows(obj->symbols, unit, take_row, p);
}

/* Units that have code of the file: the subject's, and those of functions
 * that begin in it. */
static void
walk_units(struct page *p)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(p->v->prof, &costs);
	const char *file;
	int line;

	walk_unit(p, p->subject->object, p->subject->unit);
	for (size_t i = 0; i < n; i++) {
		const struct profile_function *fn =
			profile_function(p->v->prof, costs[i].function);

		if (fn->object->symbols && fn->start &&
		    symfile_declared(fn->object->symbols, fn->start, &file,
				     &line) && !strcmp(file, p->subject->file))
			walk_unit(p, fn->object, symfile_unit_at(
				fn->object->symbols, fn->start));
	}
}

static int
by_line(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const int order = x->line != y->line ? (x->line < y->line ? -1 : 1) :
					       strcmp(x->name, y->name);

	if (order)
		return order;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Several rows may say that it begins there. */
static void
sort_entries(struct page *p)
{
	size_t kept = 0;

	if (p->entries_len)
		qsort(p->entries, p->entries_len, sizeof *p->entries, by_line);
	for (size_t i = 0; i < p->entries_len; i++)
		if (kept && p->entries[kept - 1].start == p->entries[i].start &&
		    p->entries[kept - 1].object == p->entries[i].object)
			free(p->entries[i].name);
		else
			p->entries[kept++] = p->entries[i];
	p->entries_len = kept;
}

/* ---- costs ---------------------------------------------------------- */

static void
place_costs(struct page *p)
{
	for (size_t i = 0; i < p->costs_len; i++)
		if (p->costs[i].line > 0)
			grow_lines(p, p->costs[i].line);
	p->at = xcalloc(p->lines + 1, sizeof *p->at);
	for (size_t i = 0; i < p->costs_len; i++)
		if (p->costs[i].line > 0)
			p->at[p->costs[i].line] = &p->costs[i].cost;
}

static int
by_file(const void *a, const void *b)
{
	const struct source_cost *const *x = a, *const *y = b;

	if (!(*x)->file || !(*y)->file)
		return (*x)->file ? -1 : (*y)->file != NULL;
	return strcmp((*x)->file, (*y)->file);
}

static void
list_elsewhere(struct page *p, struct listing *l, const struct entry *e)
{
	const struct source_cost **parts =
		xcalloc(p->costs_len + 1, sizeof *parts);
	uint64_t id = 0;
	size_t n = 0;

	(void)map_get(&p->functions, function_key(e->object, e->start), &id);
	for (size_t i = 0; id && i < p->costs_len; i++)
		if (!p->costs[i].line && p->costs[i].function == id - 1)
			parts[n++] = &p->costs[i];
	if (n)
		qsort(parts, n, sizeof *parts, by_file);
	for (size_t i = 0; i < n; i++)
		listing_index(l, parts[i]->file ?
			xasprintf("<Function: %s, instructions from source "
				  "file %s>", e->name,
				  path_base(parts[i]->file)) :
			xasprintf("%s -- <instructions without line numbers>",
				  e->name), &parts[i]->cost);
	free(parts);
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
	/* without the text only what has code is worth a line */
	if (text->len || has_code || cost)
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
}

static void
page_fini(struct page *p)
{
	for (size_t i = 0; i < p->entries_len; i++)
		free(p->entries[i].name);
	free(p->entries);
	free(p->has_code);
	free(p->at);
	map_fini(&p->functions);
	map_fini(&p->declared);
	map_fini(&p->units);
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
	index_functions(&p);
	walk_units(&p);
	sort_entries(&p);
	place_costs(&p);
	write_page(v, &p, out);
	page_fini(&p);
	return 0;
}
