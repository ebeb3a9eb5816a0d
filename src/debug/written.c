/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names with the file or the object before them, which tell things of one name
 * apart: `a.c`count and `prog`a.c`count, as whereis writes them, and 'a.c'::count
 * of gdb. Names of functions alone are written.c's of the room symbol.
 */
#include "expression.h"

#include <ctype.h>
#include <string.h>

/* ---- in an expression ---------------------------------------------------- */

/* Behind the last ` of the scope that begins at ` ; between two of them is a
 * file, which ends in a letter: an operator would stand before another name. */
static const char *
scope_end(const char *at)
{
	const char *end = strchr(at + 1, '`'), *next;

	while (end && (next = strchr(end + 1, '`')) &&
	       !memchr(end + 1, ' ', (size_t)(next - end) - 1) &&
	       isalnum((unsigned char)next[-1]))
		end = next;
	return end ? end + 1 : NULL;
}

const char *
parse_written(struct parser *p)
{
	const struct token before = p->now;
	const char *at = p->now.start, *scope = NULL, *name;

	if (p->now.kind == TOKEN_BAD && *at == '`') {
		const char *end = scope_end(at);

		if (!end)
			return NULL;
		scope = arena_textn(&p->d->scratch, at, (size_t)(end - at));
		p->now.end = end;
	} else if (p->now.kind == TOKEN_CHARACTER && *at == '\'' &&
		   p->now.end > at + 2 && strncmp(p->now.end, "::", 2) == 0) {
		scope = arena_printf(&p->d->scratch, "`%.*s`",
				     (int)(p->now.end - at) - 2, at + 1);
		p->now.end += 2;
	} else {
		return NULL;
	}
	parser_advance(p);
	name = parse_qualified(p);
	if (name)
		return arena_printf(&p->d->scratch, "%s%s", scope, name);
	p->now = before;
	return NULL;
}

/* ---- what is meant ------------------------------------------------------- */

struct search {
	const char *written, *name;
	struct entry *found;
};

static bool
is_part(struct entry *e, const char *part, size_t n)
{
	const char *unit = die_name(&e->unit);
	const char *file = symbol_file(&e->die, DW_AT_decl_file);

	return (unit && str_path_ends(unit, part, n)) ||
		(file && str_path_ends(file, part, n)) ||
		str_path_ends(e->object->shown, part, n);
}

static bool
take(void *arg, struct entry *e)
{
	struct search *s = arg;
	const char *end;

	if (e->declaration || is_type_tag(dwarf_tag(&e->die)))
		return true;
	for (const char *at = s->written + 1; at < s->name; at = end + 1) {
		end = strchr(at, '`');
		if (!is_part(e, at, (size_t)(end - at)))
			return true;
	}
	s->found = e;
	return false;
}

/* Of an object's symbols, where it has no debug information. */
static struct value *
bare_value(struct debug *d, const struct search *s)
{
	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];
		const size_t n = (size_t)(s->name - s->written) - 2;
		struct symbol sym;
		bool text;

		if (!o->here || !str_path_ends(o->shown, s->written + 1, n))
			continue;
		text = symfile_named(o->symbols, s->name, 0, &sym);
		if (text || symfile_data_named(o->symbols, s->name, &sym))
			return value_at(d, type_basic(d, text ?
				"<text variable, no debug info>" :
				"<data variable, no debug info>"),
				sym.start + o->bias);
	}
	return NULL;
}

struct value *
written_value(struct debug *d, const char *written)
{
	struct search s = { .written = written,
			    .name = symfile_written_name(written) };
	struct value *v;

	index_each(d, s.name, take, &s);
	v = s.found ? entry_as_value(d, s.found) : bare_value(d, &s);
	if (v || s.found)
		return v;
	(void)fail(FAIL_MISSING, "No symbol %s.", written);
	(void)fail_remedy("whereis %s lists those that there are", s.name);
	return NULL;
}
