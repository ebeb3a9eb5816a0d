/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dynamic_cast: to a base by the types alone, to all else by what the object
 * says that it is (rtti.c). What C++ refuses is refused in gdb's words.
 */
#include "private.h"

#include <string.h>

static struct value *
refused(const char *why)
{
	(void)fail(FAIL_USAGE, "%s", why);
	return NULL;
}

static bool
is_class(const struct type *t)
{
	return t->kind == TYPE_STRUCT;
}

/* Has it a table of virtual functions, or of virtual bases? */
static bool
is_dynamic(struct debug *d, struct type *type, int depth)
{
	struct type *t = type_strip(d, type);

	if (!is_class(t) || depth > NEST_MAX || d->work++ > WORK_MAX)
		return false;
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (f->is_base ? f->is_virtual ||
				 is_dynamic(d, f->type, depth + 1) :
		    f->name && str_starts(f->name, "_vptr"))
			return true;
	}
	return false;
}

static unsigned
count_bases(struct debug *d, struct type *type, struct type *to,
	    bool *virtual_seen, bool in_virtual, int depth)
{
	struct type *t = type_strip(d, type);
	unsigned n = 0;

	if (!is_class(t) || depth > NEST_MAX || d->work++ > WORK_MAX)
		return 0;
	if (t == to || type_same(d, t, to)) {
		n = !(in_virtual && *virtual_seen);
		*virtual_seen |= in_virtual;
		return n;
	}
	type_fill(d, t);
	for (size_t i = 0; i < t->field_len && t->fields[i].is_base; i++)
		n += count_bases(d, t->fields[i].type, to, virtual_seen,
				 t->fields[i].is_virtual, depth + 1);
	return n;
}

unsigned
class_bases(struct debug *d, struct type *of, struct type *to)
{
	bool seen = false;

	return count_bases(d, of, to, &seen, false, 0);
}

int
fail_ambiguous(struct type *base, struct type *of)
{
	return fail(FAIL_USAGE, "base class '%s' is ambiguous in type '%s'",
		    base->name ? base->name : "{...}",
		    of->name ? of->name : "{...}");
}

/* to NULL: the whole object. *at 0: it is none. */
static int
cast_address(struct debug *d, struct type *from, struct type *to, uint64_t *at)
{
	const unsigned bases = to ? class_bases(d, from, to) : 0;
	struct value *base;

	if (bases > 1)
		return fail_ambiguous(to, from);
	if (!*at)
		return 0;
	if (bases == 1) {
		base = value_base(d, value_at(d, from, *at), to);
		*at = base ? base->addr : 0;
		return base ? 0 : -1;
	}
	if (!is_dynamic(d, from, 0))
		return fail(FAIL_USAGE, "the argument of dynamic_cast is of "
			    "class %s, which has no virtual functions",
			    from->name ? from->name : "{...}");
	return rtti_cast(d, from, *at, to, at);
}

static struct value *
cast_pointer(struct debug *d, struct type *t, struct value *v)
{
	struct type *to = type_strip(d, type_target(d, type_strip(d, t)));
	struct type *from = type_strip(d, v->type);
	uint64_t at;

	if (!is_class(to) && to->kind != TYPE_VOID)
		return refused("Argument to dynamic_cast must be pointer to "
			       "class or `void *'");
	if (from->kind != TYPE_POINTER)
		return refused("Argument to dynamic_cast does not have pointer "
			       "type");
	from = type_strip(d, type_target(d, from));
	if (!is_class(from))
		return refused("Argument to dynamic_cast does not have pointer "
			       "to class type");
	if (value_number(d, v, &at) < 0 ||
	    cast_address(d, from, to->kind == TYPE_VOID ? NULL : to, &at) < 0)
		return NULL;
	return value_int(d, t, at);
}

static struct value *
cast_reference(struct debug *d, struct type *t, struct value *v)
{
	struct type *to = type_strip(d, type_target(d, type_strip(d, t)));
	struct type *from = type_strip(d, v->type);
	uint64_t at = v->addr;

	if (!is_class(to) || !is_class(from))
		return refused("Argument to dynamic_cast does not have class "
			       "type");
	if (v->place != VALUE_MEMORY)
		return refused("the argument of dynamic_cast is not in "
			       "memory");
	if (cast_address(d, from, to, &at) < 0)
		return NULL;
	return at ? value_int(d, t, at) : refused("dynamic_cast failed");
}

struct value *
value_dynamic_cast(struct debug *d, struct type *t, struct value *v)
{
	const enum type_kind kind = type_strip(d, t)->kind;

	v = value_unref(d, v);
	if (!v)
		return NULL;
	if (kind == TYPE_POINTER)
		return cast_pointer(d, t, v);
	if (kind == TYPE_REFERENCE || kind == TYPE_RVALUE_REFERENCE)
		return cast_reference(d, t, v);
	return refused("Argument to dynamic_cast must be a pointer or "
		       "reference type");
}
