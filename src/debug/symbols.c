/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a name means here: a local variable, a member of this, a name of the
 * function's namespaces, of the unit, of the program; last a symbol that no
 * debug information is about.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

/* An enumerator's value is of its enum. */
static struct value *
enumerator_value(struct debug *d, struct object *o, Dwarf_Die *die)
{
	Dwarf_Die around;
	uint64_t addr;
	int64_t n = 0;

	(void)attr_signed(die, DW_AT_const_value, &n);
	if (map_get(&d->enums, (uintptr_t)die->addr, &addr) &&
	    dwarf_die_addr_die(dwarf_cu_getdwarf(die->cu),
			       (void *)(uintptr_t)addr, &around))
		return value_int(d, type_of_die(d, o, &around), (uint64_t)n);
	return value_int(d, type_basic(d, "int"), (uint64_t)n);
}

struct value *
entry_as_value(struct debug *d, struct entry *e)
{
	if (dwarf_tag(&e->die) == DW_TAG_enumerator)
		return enumerator_value(d, e->object, &e->die);
	return variable_value(d, e->object, NULL, &e->die);
}

/* false: there is none by that name. NULL and a failure: it cannot be read, and
 * nothing else is meant. */
static bool
member_of_this(struct debug *d, const struct frame *f, const char *name,
	       struct value **out)
{
	struct value *this;
	struct type *t;
	Dwarf_Die die;

	if (!scope_find(d, f, "this", WANT_VALUE, &die))
		return false;
	t = type_strip(d, type_of_attr(d, f->at->object, &die));
	this = variable_value(d, f->at->object, f, &die);
	this = this ? value_deref(d, this) : NULL;
	*out = this ? value_named_member(d, this, name) : NULL;
	if (*out || type_has_member(d, type_target(d, t), name))
		return true;
	fail_clear();
	return false;
}

static struct entry *
find_in_scopes(struct debug *d, const struct frame *f, const char *name,
	       enum entry_wanted want, Dwarf_Die *unit)
{
	const char *function = frame_function(d, f);
	char *scope = arena_text(&d->scratch, function ? function : "");
	struct entry *e = NULL;

	while (!e) {
		char *colons = NULL;

		for (char *at = scope; (at = strstr(at, "::")); at++)
			colons = at;
		if (!colons)
			return NULL;
		*colons = '\0';
		e = index_find(d, arena_printf(&d->scratch, "%s::%s", scope,
					       name), want, unit);
	}
	return e;
}

struct entry *
entry_meant(struct debug *d, const struct frame *f, const char *name,
	    enum entry_wanted want)
{
	Dwarf_Die *unit = f && f->at->scope_len ?
		&f->at->scopes[f->at->scope_len - 1] : NULL;
	struct entry *e = NULL;

	if (f && frame_is_cxx(d))
		e = find_in_scopes(d, f, name, want, unit);
	return e ? e : index_find(d, name, want, unit);
}

struct ending {
	struct entry *best, *other;
};

/* A declaration and its definition are the same. */
static bool
take_ending(void *arg, struct entry *e)
{
	struct ending *s = arg;

	if (is_type_tag(dwarf_tag(&e->die)))
		return true;
	if (s->best && strcmp(s->best->scope, e->scope) != 0)
		s->other = e;
	else if (!s->best || (s->best->declaration && !e->declaration))
		s->best = e;
	return !s->other;
}

int
entry_ending(struct debug *d, const char *name, struct entry **out)
{
	struct ending s = {0};

	*out = NULL;
	if (!strstr(name, "::"))
		return 0;
	index_each_anywhere(d, name, take_ending, &s);
	*out = s.best;
	if (!s.other)
		return 0;
	(void)fail(FAIL_MISSING, "\"%s\" is of several: %s::%s, %s::%s", name,
		   s.best->scope, s.best->name, s.other->scope, s.other->name);
	return fail_remedy("write one of them; whereis %s lists all", name);
}

static struct value *
value_ending(struct debug *d, const char *name)
{
	struct entry *e;

	return entry_ending(d, name, &e) == 0 && e ? entry_as_value(d, e) :
		NULL;
}

/* function::variable: one that is static in it. */
static struct value *
static_of_function(struct debug *d, const char *name)
{
	const char *colons = NULL;
	struct entry *e;
	Dwarf_Die child;

	for (const char *at = name; (at = strstr(at, "::")); at++)
		colons = at;
	if (!colons)
		return NULL;
	e = index_find(d, arena_textn(&d->scratch, name,
				      (size_t)(colons - name)),
		       WANT_VALUE, NULL);
	if (!e || dwarf_tag(&e->die) != DW_TAG_subprogram ||
	    dwarf_child(&e->die, &child) != 0)
		return NULL;
	do
		if (dwarf_tag(&child) == DW_TAG_variable &&
		    die_name(&child) &&
		    strcmp(die_name(&child), colons + 2) == 0)
			return variable_value(d, e->object, NULL, &child);
	while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

/* A function by another of its names. */
static struct value *
function_at(struct debug *d, struct object *o, uint64_t vaddr)
{
	struct physical at = { .object = o };
	uint64_t entry;

	scopes_at(d, o, vaddr, &at);
	for (size_t i = 0; i < at.scope_len; i++)
		if (dwarf_tag(&at.scopes[i]) == DW_TAG_subprogram &&
		    die_entry(&at.scopes[i], &entry) && entry == vaddr)
			return variable_value(d, o, NULL, &at.scopes[i]);
	return NULL;
}

/* STT_GNU_IFUNC */
bool
is_chooser(const struct symbol *sym)
{
	return strstr(sym->name, " [resolver]") != NULL;
}

static struct value *
bare_symbol(struct debug *d, const char *name)
{
	struct symbol sym;
	struct value *v;
	struct type *t;

	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];
		bool text, data;

		if (!o->here)
			continue;
		text = symfile_named(o->symbols, name, 0, &sym) && !sym.is_plt;
		data = !text && symfile_data_named(o->symbols, name, &sym);
		if (!text && !data)
			continue;

		const bool chooser = text && is_chooser(&sym);

		if (text && !chooser &&
		    (v = function_at(d, o, sym.start)) != NULL)
			return v;
		t = type_basic(d, text ? "<text variable, no debug info>" :
			       "<data variable, no debug info>");
		v = value_at(d, t, sym.start + o->bias);
		v->text = arena_text(&d->scratch, name);
		v->is_chooser = chooser;
		return v;
	}
	return NULL;
}

static struct value *
visible(struct debug *d, const struct frame *f, const char *name)
{
	struct value *v;
	struct entry *e;
	Dwarf_Die die;

	if (f && f->at->object &&
	    scope_find(d, f, name, WANT_VALUE, &die)) {
		if (dwarf_tag(&die) == DW_TAG_enumerator)
			return enumerator_value(d, f->at->object, &die);
		return variable_value(d, f->at->object, f, &die);
	}
	if (f && member_of_this(d, f, name, &v))
		return v;
	e = entry_meant(d, f, name, WANT_VALUE);
	if (!e)
		return NULL;
	/* what is private to another file may be local or private here */
	if (f && !e->external && !frame_has_data(f))
		return NULL;
	return entry_as_value(d, e);
}

struct value *
symbol_value(struct debug *d, const char *name)
{
	const struct frame *f = frame_selected(d);
	const char *reason;
	struct value *v;

	fail_clear();
	if (*name == '`')
		return written_value(d, name);
	if (str_starts(name, "::"))
		name += 2;
	v = visible(d, f, name);
	if (v)
		return v;
	reason = fail_last()->reason;
	if (f && *reason && fail_last()->kind != FAIL_NONE)
		return NULL;
	v = static_of_function(d, name);
	if (!v)
		v = bare_symbol(d, name);
	if (!v && !(v = value_ending(d, name)) &&
	    fail_last()->kind != FAIL_NONE)
		return NULL;
	if (!v && (!f || frame_has_data(f))) {
		(void)fail(FAIL_MISSING, "No symbol \"%s\" in current "
			   "context.", name);
		(void)fail_remedy("locals, up, whereis NAME");
	}
	return v;
}
