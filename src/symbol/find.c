/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions to the table of functions: by address, by name, all.
 */
#include "symfile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char static_mark[] = "<static>@0x";

/* The names of a function; those of nameless ones are made when asked for. */
static const char **
names_of(struct symfile *sf, struct function *fn)
{
	if (fn->names)
		return fn->names;

	char *name = xasprintf("%s%llx", static_mark,
			       (unsigned long long)fn->start);
	const char **names = xcalloc(2, sizeof *names);

	names[0] = name;
	vec_push(&sf->functions.made, name);
	vec_push(&sf->functions.made, names);
	fn->names = names;
	return names;
}

static void
fill_symbol(struct symfile *sf, struct function *fn, const char *name,
	    struct symbol *out)
{
	*out = (struct symbol){
		.name = name ? name : names_of(sf, fn)[0],
		.start = fn->start, .size = fn->size,
		.is_plt = fn->is_plt, .is_static = fn->is_static,
	};
}

/* How many pieces start at or before vaddr. */
static size_t
pieces_upto(const struct functions *fns, uint64_t vaddr)
{
	const struct piece *pieces = fns->pieces;
	size_t low = 0, high = fns->piece_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (pieces[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool
symfile_find(struct symfile *sf, uint64_t vaddr, struct symbol *out)
{
	functions_load(sf);

	const struct piece *pieces = sf->functions.pieces;
	const size_t n = pieces_upto(&sf->functions, vaddr);

	if (n == 0 || vaddr >= pieces[n - 1].end)
		return false;
	fill_symbol(sf, &sf->functions.items[pieces[n - 1].function], NULL,
		    out);
	return true;
}

bool
symfile_gap(struct symfile *sf, uint64_t vaddr, struct symbol *out)
{
	const struct functions *fns = &sf->functions;
	const struct section *sec = symfile_section(sf, vaddr);

	if (!sec || symfile_find(sf, vaddr, out))
		return false;

	struct range at = sec->at;
	const size_t n = pieces_upto(fns, vaddr);

	if (n > 0 && fns->pieces[n - 1].end > at.start)
		at.start = fns->pieces[n - 1].end;
	if (n < fns->piece_len && fns->pieces[n].start < at.end)
		at.end = fns->pieces[n].start;

	char *name = xasprintf("%s%llx", static_mark,
			       (unsigned long long)at.start);

	vec_push(&sf->functions.made, name);
	*out = (struct symbol){
		.name = name, .start = at.start, .size = at.end - at.start,
		.is_plt = sec->is_plt, .is_static = true,
	};
	return true;
}

static struct function *
function_at(struct symfile *sf, uint64_t start)
{
	struct functions *fns = &sf->functions;
	size_t low = 0, high = fns->len;

	functions_load(sf);
	high = fns->len;
	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (fns->items[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == fns->len || fns->items[low].start != start)
		return NULL;
	return &fns->items[low];
}

const char *const *
symfile_aliases(struct symfile *sf, uint64_t start)
{
	static const char *const none[] = { NULL };
	struct function *fn = function_at(sf, start);

	return fn ? (const char *const *)names_of(sf, fn) : none;
}

/*
 * The last word of the path a person wrote, which the linkage name must
 * contain as well: `push_back` of `vec<int>::push_back(int)`. Empty where
 * mangling may abbreviate or rename it.
 */
static char *
last_word(const char *name)
{
	const size_t len = strcspn(name, "(<");
	size_t from = len;

	while (from > 0 && (isalnum((unsigned char)name[from - 1]) ||
			    name[from - 1] == '_'))
		from--;
	if (str_starts(name, "std::") || strstr(name, "operator"))
		return xstrdup("");
	return xstrndup(name + from, len - from);
}

static bool
is_mangled(const char *linkage)
{
	return str_starts(linkage, "_Z") || str_starts(linkage, "_R");
}

static bool
displays_as(const char *linkage, enum name_form form, const char *name)
{
	char *shown = name_display(linkage, form);
	const bool same = strcmp(shown, name) == 0;

	free(shown);
	return same;
}

static bool
is_called(const char *linkage, const char *name, const char *word)
{
	if (strcmp(linkage, name) == 0)
		return true;
	/* demangling costs microseconds, and there may be a million names */
	if (!is_mangled(linkage) || !strstr(linkage, word))
		return false;
	return displays_as(linkage, NAME_SHORT, name) ||
		displays_as(linkage, NAME_LONG, name);
}

/* `<static>@0x123` names the nameless function that starts there. */
static bool
find_static(struct symfile *sf, const char *name, unsigned n,
	    struct symbol *out)
{
	char *end;
	const char *hex = name + sizeof static_mark - 1;
	const uint64_t start = strtoull(hex, &end, 16);
	struct function *fn = function_at(sf, start);

	if (n > 0 || end == hex || *end || !fn || !fn->is_static)
		return false;
	fill_symbol(sf, fn, NULL, out);
	return true;
}

/* f.constprop.0 is all that is left of f, or beside it. */
static bool
is_copy_called(const char *linkage, const char *name, const char *word)
{
	char *base = strchr(linkage, '.') && strstr(linkage, word) ?
		name_copied(linkage) : NULL;
	const bool same = base && is_called(base, name, word);

	free(base);
	return same;
}

typedef bool called_fn(const char *linkage, const char *name, const char *word);

struct naming {
	struct symfile *sf;
	const char *written, *name, *word;
	bool (*visit)(void *arg, const struct symbol *sym);
	void *arg;
};

static bool
visit_called(const struct naming *w, called_fn *called)
{
	struct symfile *sf = w->sf;

	for (size_t i = 0; i < sf->functions.len; i++) {
		struct function *fn = &sf->functions.items[i];
		const char **at = fn->is_static ? NULL : fn->names;
		struct symbol sym;

		while (at && *at && !called(*at, w->name, w->word))
			at++;
		if (!at || !*at ||
		    !symfile_written_here(sf, fn->start, w->written))
			continue;
		fill_symbol(sf, fn, *at, &sym);
		if (!w->visit(w->arg, &sym))
			return false;
	}
	return true;
}

void
symfile_each_named(struct symfile *sf, const char *written,
		   bool (*visit)(void *arg, const struct symbol *sym),
		   void *arg)
{
	const char *name = symfile_written_name(written);
	char *word = last_word(name);
	const struct naming w = { sf, written, name, word, visit, arg };

	functions_load(sf);
	if (visit_called(&w, is_called))
		(void)visit_called(&w, is_copy_called);
	free(word);
}

struct nth {
	unsigned n;
	struct symbol *out;
	bool found;
};

static bool
take_nth(void *arg, const struct symbol *sym)
{
	struct nth *s = arg;

	if (s->n-- > 0)
		return true;
	*s->out = *sym;
	s->found = true;
	return false;
}

bool
symfile_named(struct symfile *sf, const char *name, unsigned n,
	      struct symbol *out)
{
	struct nth s = { n, out, false };

	if (str_starts(name, static_mark))
		return find_static(sf, name, n, out);
	symfile_each_named(sf, name, take_nth, &s);
	return s.found;
}

void
symfile_each(struct symfile *sf,
	     bool (*visit)(void *arg, const struct symbol *sym), void *arg)
{
	functions_load(sf);
	for (size_t i = 0; i < sf->functions.len; i++) {
		struct function *fn = &sf->functions.items[i];
		struct symbol sym;

		if (fn->is_static || fn->is_plt)
			continue;
		for (const char **at = fn->names; *at; at++) {
			fill_symbol(sf, fn, *at, &sym);
			if (!visit(arg, &sym))
				return;
		}
	}
}
