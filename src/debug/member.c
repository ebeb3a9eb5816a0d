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
	if (path->len >= NEST_MAX || d->work++ > 200000)
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
	if (!find(d, t, name, &path)) {
		(void)fail(FAIL_MISSING, t->is_declaration ?
			   "<incomplete type>" :
			   "There is no member named %s.", name);
		return NULL;
	}
	for (size_t i = 0; v && i < path.len; i++)
		v = value_member(d, v, path.fields[i]);
	return v;
}
