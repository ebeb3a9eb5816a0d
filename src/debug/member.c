/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Members by name: a struct's own, those of anonymous members in it, those of
 * its bases. Structs that contain themselves are hostile; depth ends them.
 */
#include "private.h"

#include <string.h>

struct step {
	const struct field *fields[NEST_MAX];
	size_t len;
};

static bool
is_struct(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION;
}

static bool
find(struct debug *d, struct type *t, const char *name, struct step *path)
{
	if (path->len >= NEST_MAX || d->work++ > WORK_MAX)
		return false;
	t = type_strip(d, t);
	if (!is_struct(t))
		return false;
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (!f->name || f->is_base || strcmp(f->name, name) != 0)
			continue;
		path->fields[path->len++] = f;
		return true;
	}
	for (size_t i = 0; i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (f->name && !f->is_base)
			continue;
		path->fields[path->len++] = f;
		if (find(d, f->type, name, path))
			return true;
		path->len--;
	}
	return false;
}

struct value *
value_method(struct debug *d, struct entry *e, struct value *self)
{
	struct value *v = variable_value(d, e->object, NULL, &e->die);
	struct context c = { .d = d, .object = e->object };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!v)
		return NULL;
	v->self = self;
	v->is_virtual = dwarf_attr_integrate(&e->die,
				DW_AT_vtable_elem_location, &attr) &&
		dwarf_getlocation(&attr, &ops, &n) == 0 && n > 0 &&
		number_of_ops(&c, &attr, ops, n, &v->slot_in_table) == 0;
	return v;
}

bool
type_has_member(struct debug *d, struct type *t, const char *name)
{
	struct step path = { .len = 0 };

	return find(d, t, name, &path);
}

/* A method: the function of that name whose scope is the class, or a base. */
static struct value *
find_method(struct debug *d, struct value *self, const char *name, int depth)
{
	struct type *t = type_strip(d, self->type);
	struct entry *e;

	if (depth > 16 || !is_struct(t) || !t->name || !t->is_cxx ||
	    d->work++ > WORK_MAX)
		return NULL;
	e = index_find(d, arena_printf(&d->scratch, "%s::%s", t->name, name),
		       WANT_VALUE, NULL);
	if (e && dwarf_tag(&e->die) == DW_TAG_subprogram)
		return value_method(d, e, self);
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len && t->fields[i].is_base; i++) {
		struct value *v = value_member(d, self, &t->fields[i]);

		v = v ? find_method(d, v, name, depth + 1) : NULL;
		if (v)
			return v;
	}
	return NULL;
}

struct value *
value_named_method(struct debug *d, struct value *v, const char *name)
{
	return find_method(d, v, name, 0);
}

struct sought {			/* a class: that one, or by name */
	struct type *type;
	const char *name;
	size_t n;
};

static bool
is_sought(struct debug *d, struct type *t, const struct sought *s)
{
	if (s->type)
		return t == s->type || type_same(d, t, s->type);
	return t->name && strlen(t->name) == s->n &&
		memcmp(t->name, s->name, s->n) == 0;
}

/* The part of v that is of that class: v itself, or a base. */
static struct value *
as_class(struct debug *d, struct value *v, const struct sought *s, int depth)
{
	struct type *t = type_strip(d, v->type);

	if (depth > 16 || !is_struct(t) || d->work++ > WORK_MAX)
		return NULL;
	if (is_sought(d, t, s))
		return v;
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len && t->fields[i].is_base; i++) {
		struct value *base = value_member(d, v, &t->fields[i]);

		base = base ? as_class(d, base, s, depth + 1) : NULL;
		if (base)
			return base;
	}
	return NULL;
}

struct value *
value_base(struct debug *d, struct value *v, struct type *t)
{
	return as_class(d, v, &(struct sought){ .type = type_strip(d, t) }, 0);
}

struct value *
value_named_member(struct debug *d, struct value *v, const char *name)
{
	struct step path = { .len = 0 };
	struct type *t;

	v = value_unref(d, v);
	if (!v)
		return NULL;
	t = type_strip(d, v->type);
	if (!is_struct(t)) {
		(void)fail(FAIL_USAGE, "Attempt to extract a component of a "
			   "value that is not a structure.");
		return NULL;
	}

	const char *colons = NULL;

	for (const char *at = name; (at = strstr(at, "::")) != NULL; at++)
		colons = at;
	if (colons) {
		const struct sought by_name = {
			.name = name, .n = (size_t)(colons - name),
		};
		struct value *base = as_class(d, v, &by_name, 0);

		if (base)
			return value_named_member(d, base, colons + 2);
	}
	if (!find(d, t, name, &path)) {
		struct value *method = find_method(d, v, name, 0);

		if (method)
			return method;
		(void)fail(FAIL_MISSING, t->is_declaration ?
			   "<incomplete type>" :
			   "There is no member named %s.", name);
		return NULL;
	}
	for (size_t i = 0; v && i < path.len; i++)
		v = value_member(d, v, path.fields[i]);
	return v;
}
