/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a name is: all that have it, and the one that an expression means.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct where {
	struct debug *d;
	struct str *out;
	size_t n;
};

/* A name, whose newline would make a row of its own. */
static const char *
tame(struct debug *d, const char *name)
{
	return name ? str_tame(arena_printf(&d->scratch, "%s", name)) : "?";
}

static bool
say_entry(void *arg, struct entry *e)
{
	struct where *w = arg;
	const int tag = dwarf_tag(&e->die);
	const char *unit = die_name(&e->unit);
	const char *what = tag == DW_TAG_subprogram ? "function" :
		is_type_tag(tag) ? "type" :
		tag == DW_TAG_enumerator ? "enumerator" : "variable";
	struct str text = {0};
	int line = 0;

	if (e->declaration)
		return true;
	(void)dwarf_decl_line(&e->die, &line);
	str_addf(&text, "%s:\t`%s`%s`%s%s%s", what,
		 tame(w->d, e->object->shown), tame(w->d, unit),
		 tame(w->d, e->scope), *e->scope ? "::" : "",
		 tame(w->d, e->name));
	if (line)
		str_addf(&text, "\tline %d", line);
	str_add(&text, "\n");
	/* a constructor has several entries */
	if (!strstr(str_text(w->out), str_text(&text))) {
		str_add(w->out, str_text(&text));
		w->n++;
	}
	str_fini(&text);
	return w->n < MEMBERS_MAX;
}

static void
say_symbols(struct debug *d, const char *name, struct where *w, size_t most)
{
	struct symbol sym;

	for (size_t i = 0; i < d->objects.len && w->n < most; i++) {
		struct object *o = d->objects.items[i];
		const bool text = o->here && symfile_named(o->symbols, name, 0,
							   &sym);

		if (!text && !(o->here && symfile_data_named(o->symbols, name,
							     &sym)))
			continue;
		str_addf(w->out, "%s:\t`%s`%s\t0x%" PRIx64
			 ", no debug information\n",
			 text ? "function" : "variable", tame(d, o->shown), name,
			 sym.start + o->bias);
		w->n++;
	}
}

int
debug_whereis(struct debug *d, const char *name, struct str *out)
{
	struct where w = { .d = d, .out = out };
	const struct frame *f;
	Dwarf_Die die;

	debug_begin(d);
	f = frame_selected(d);
	if (f && scope_find(d, f, name, WANT_ANY, &die)) {
		int line = 0;
		char *function = name_display(frame_function(d, f) ?
					      frame_function(d, f) : "?",
					      NAME_SHORT);

		(void)dwarf_decl_line(&die, &line);
		str_addf(out, "local:\t`%s`%s`%s\tline %d\n",
			 tame(d, f->at->object ? f->at->object->shown : NULL),
			 function,
			 name, line);
		free(function);
		w.n++;
	}
	index_each_anywhere(d, name, say_entry, &w);
	if (w.n == 0)
		say_symbols(d, name, &w, MEMBERS_MAX);
	if (w.n == 0)
		return fail(FAIL_MISSING, "No symbol \"%s\" in the program.",
			    name);
	return 0;
}

/* By the rule of expressions. What has no debug information is of the first
 * object that has it. */
int
debug_which(struct debug *d, const char *name, struct str *out)
{
	struct where w = { .d = d, .out = out };
	struct entry *e;

	debug_begin(d);
	e = entry_meant(d, frame_selected(d), name, WANT_VALUE);
	if (!e)
		e = entry_meant(d, frame_selected(d), name, WANT_TYPE);
	if (!e && entry_ending(d, name, &e) < 0)
		return -1;
	if (e)
		(void)say_entry(&w, e);
	if (w.n == 0)
		say_symbols(d, name, &w, 1);
	if (w.n == 0)
		return fail(FAIL_MISSING, "No symbol \"%s\" in the program.",
			    name);
	return 0;
}

typedef bool find_fn(struct symfile *sf, const char *name, struct symbol *out);

static bool
by_name(struct symfile *sf, const char *name, struct symbol *out)
{
	return symfile_named(sf, name, 0, out);
}

static bool
code_of(struct debug *d, const char *name, find_fn *find,
	struct debug_code *out)
{
	struct symbol sym;

	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (!o->here || !find(o->symbols, name, &sym))
			continue;
		*out = (struct debug_code){ .start = sym.start + o->bias,
					    .size = sym.size,
					    .name = sym.name };
		if (!symfile_declared(o->symbols, sym.start, &out->file,
				      &out->line))
			out->file = NULL;
		return true;
	}
	return false;
}

/* One that is nowhere but where it was inlined has a line, at least. */
static bool
take_declared(void *arg, struct entry *e)
{
	struct debug_code *out = arg;

	if (dwarf_tag(&e->die) != DW_TAG_subprogram ||
	    dwarf_decl_line(&e->die, &out->line) != 0)
		return true;
	out->name = e->name;
	out->file = symbol_file(&e->die, DW_AT_decl_file);
	return !out->file;
}

int
debug_function(struct debug *d, const char *name, struct debug_code *out)
{
	debug_begin(d);
	objects_load(d);
	if (code_of(d, name, by_name, out) ||
	    code_of(d, name, symfile_ending, out))
		return 0;
	*out = (struct debug_code){0};
	index_each_anywhere(d, name, take_declared, out);
	if (out->file)
		return 0;
	(void)fail(FAIL_MISSING, "there is no function '%s'", name);
	return fail_remedy("whereis NAME; a stripped object has only exported "
			   "names");
}
