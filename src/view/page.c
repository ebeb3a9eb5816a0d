/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What debug information tells of one source file: which of its lines have
 * code, which functions begin where, what was inlined into its lines. It is
 * asked of the compilation units that have code of the file.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

void
page_grow(struct page *p, int line)
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

uint64_t
page_key(const struct profile_object *obj, uint64_t start)
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
			map_put(&p->functions, page_key(fn->object,
							    fn->start), i + 1);
	}
}

static void
add_entry(struct page *p, int line, const struct symbol *sym)
{
	uint64_t id, declared;
	const uint64_t key = page_key(p->object, sym->start);
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
	struct symbol sym;

	if (line <= 0 || line > LINE_LAST || strcmp(file, p->subject->file))
		return;
	page_grow(p, line);
	map_put(&p->declared, page_key(p->object, start), (uint64_t)line);
	if (symfile_find(p->object->symbols, start, &sym) &&
	    sym.start == start && !sym.is_plt)
		add_entry(p, line, &sym);
}

static void
take_inlined(struct page *p, uint64_t vaddr)
{
	enum { DEPTH_MAX = 32 };
	struct symfile_inlined in[DEPTH_MAX];
	const size_t n = symfile_inlines(p->object->symbols, vaddr, in,
					 DEPTH_MAX);

	for (size_t i = 0; i < n; i++) {
		if (!in[i].call_file || in[i].call_line <= 0 ||
		    strcmp(in[i].call_file, p->subject->file))
			continue;
		p->inlined = xgrow(p->inlined, &p->inlined_cap,
				   p->inlined_len + 1, sizeof *p->inlined);
		p->inlined[p->inlined_len++] = (struct inlined){
			in[i].call_line, in[i].name };
	}
}

static bool
take_row(void *arg, const struct symfile_row *row)
{
	struct page *p = arg;
	struct symbol sym;

	if (p->v->source_shows & SHOW_INLINES)
		take_inlined(p, row->vaddr);
	if (!row->file || row->line <= 0 || row->line > LINE_LAST ||
	    (row->file != p->subject->file &&
	     strcmp(row->file, p->subject->file)))
		return true;
	page_grow(p, row->line);
	p->has_code[row->line] = true;
	if (symfile_find(p->object->symbols, row->vaddr, &sym) &&
	    sym.start == row->vaddr && !sym.is_plt)
		add_entry(p, row->line, &sym);
	return true;
}

static void
walk_unit(struct page *p, const struct profile_object *obj, size_t unit)
{
	uint64_t *seen = map_slot_of(&p->units, page_key(obj, unit));

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

static int
by_call(const void *a, const void *b)
{
	const struct inlined *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Each name once for a line. */
static void
sort_inlined(struct page *p)
{
	size_t kept = 0;

	if (p->inlined_len)
		qsort(p->inlined, p->inlined_len, sizeof *p->inlined, by_call);
	for (size_t i = 0; i < p->inlined_len; i++)
		if (!kept || by_call(&p->inlined[kept - 1], &p->inlined[i]))
			p->inlined[kept++] = p->inlined[i];
	p->inlined_len = kept;
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

void
page_collect(struct page *p)
{
	index_functions(p);
	walk_units(p);
	sort_entries(p);
	sort_inlined(p);
}

void
page_fini(struct page *p)
{
	for (size_t i = 0; i < p->entries_len; i++)
		free(p->entries[i].name);
	free(p->entries);
	free(p->has_code);
	free(p->at);
	free(p->parts);
	free(p->inlined);
	map_fini(&p->functions);
	map_fini(&p->declared);
	map_fini(&p->units);
}
