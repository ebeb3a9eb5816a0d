/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of several functions of one name is called with these arguments: the
 * one that none beats, as C++ has it, but without conversions that the
 * program's own classes know. What is not clear is refused, and what there is
 * is listed.
 */
#include "private.h"

#include <string.h>

/* To a base is better than to void *, and a pointer as a truth is worse. */
enum rank {
	SAME, PROMOTED = 2, TO_BASE = 4, CONVERTED = 6, TO_TRUTH = 8,
	ELLIPSIS = 10, NEVER = 12,
	ADJUSTED = 1,		/* more: const is added */
};

/* ---- types --------------------------------------------------------------- */

static bool
is_reference(const struct type *t)
{
	return t->kind == TYPE_REFERENCE || t->kind == TYPE_RVALUE_REFERENCE;
}

static bool
is_class(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION;
}

bool
type_is_const(struct debug *d, struct type *t)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		if (t->kind == TYPE_CONST)
			return true;
		if (t->kind != TYPE_VOLATILE && t->kind != TYPE_TYPEDEF)
			break;
		t = type_target(d, t);
	}
	return false;
}

static bool
has_word(const struct type *t, const char *word)
{
	return t->name && strstr(t->name, word);
}

/* Compilers, and we, spell them in different ways. */
static bool
same_number(const struct type *a, const struct type *b)
{
	return a->kind == b->kind && a->size == b->size &&
		a->is_signed == b->is_signed &&
		has_word(a, "long long") == has_word(b, "long long") &&
		has_word(a, "signed char") == has_word(b, "signed char");
}

static bool
is_number(const struct type *t)
{
	return t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL ||
		t->kind == TYPE_INT || t->kind == TYPE_CHAR;
}

static bool
same(struct debug *d, struct type *a, struct type *b)
{
	a = type_strip(d, a);
	b = type_strip(d, b);
	return is_number(a) ? same_number(a, b) : type_same(d, a, b);
}

/* ---- one argument -------------------------------------------------------- */

static enum rank
rank_number(struct debug *d, struct type *to, struct type *from)
{
	if (same_number(to, from))
		return SAME;
	if (from->kind == TYPE_ENUM && from->has_die &&
	    attr_flag(&from->die, DW_AT_enum_class))
		return NEVER;
	if (!is_number(from) && from->kind != TYPE_ENUM)
		return to->kind == TYPE_BOOL && from->kind == TYPE_POINTER ?
			TO_TRUTH : NEVER;
	if (to->kind == TYPE_FLOAT)
		return from->kind == TYPE_FLOAT && from->size == 4 &&
			to->size == 8 ? PROMOTED : CONVERTED;
	return from->kind != TYPE_FLOAT && same_number(to,
		arithmetic_type(d, from, NULL)) ? PROMOTED : CONVERTED;
}

static bool
is_base(struct debug *d, struct type *base, struct type *of)
{
	return is_class(base) && is_class(of) && class_bases(d, of, base) == 1;
}

static enum rank
rank_pointer(struct debug *d, struct type *to, struct value *v)
{
	struct type *from = type_strip(d, v->type), *a, *b;
	uint64_t number;

	if (type_is_integral(from))
		return v->place == VALUE_TEMPORARY &&
			value_number(d, v, &number) == 0 && number == 0 ?
			CONVERTED : NEVER;
	if (from->kind == TYPE_FUNCTION)
		return type_strip(d, type_target(d, to))->kind ==
			TYPE_FUNCTION ? CONVERTED : NEVER;
	if (from->kind != TYPE_POINTER && from->kind != TYPE_ARRAY)
		return NEVER;
	a = type_target(d, to);
	b = type_target(d, from);
	if (type_is_const(d, b) && !type_is_const(d, a))
		return NEVER;

	const enum rank more = type_is_const(d, a) != type_is_const(d, b) ?
		ADJUSTED : SAME;

	if (same(d, a, b))
		return more;
	if (is_base(d, type_strip(d, a), type_strip(d, b)))
		return TO_BASE + more;
	return type_strip(d, a)->kind == TYPE_VOID ? CONVERTED + more : NEVER;
}

static enum rank
rank_plain(struct debug *d, struct type *to, struct value *v)
{
	struct type *from = type_strip(d, v->type);

	if (is_number(to))
		return rank_number(d, to, from);
	if (to->kind == TYPE_POINTER)
		return rank_pointer(d, to, v);
	if (same(d, to, from))
		return SAME;
	return is_base(d, to, from) ? TO_BASE : NEVER;
}

static enum rank
rank_argument(struct debug *d, struct type *param, struct value *v)
{
	struct type *to = type_strip(d, param), *target;
	const bool lasting = v->place == VALUE_MEMORY;
	enum rank rank;

	if (!is_reference(to))
		return rank_plain(d, to, v);
	target = type_target(d, to);
	rank = rank_plain(d, type_strip(d, target), v);
	if (to->kind == TYPE_RVALUE_REFERENCE)
		return lasting && rank < PROMOTED ? NEVER : rank;
	if (type_is_const(d, target))
		return rank != NEVER && !(lasting &&
					  type_is_const(d, v->type)) ?
			rank + ADJUSTED : rank;
	if (!lasting || type_is_const(d, v->type) ||
	    (rank != SAME && !is_base(d, type_strip(d, target),
				      type_strip(d, v->type))))
		return NEVER;
	return rank;
}

/* The object itself, of a method. */
static enum rank
rank_self(struct debug *d, struct type *this, struct value *self)
{
	const bool takes_const = type_is_const(d, type_target(d,
						type_strip(d, this)));

	if (takes_const == type_is_const(d, self->type))
		return SAME;
	return takes_const ? ADJUSTED : NEVER;
}

/* ---- all of them --------------------------------------------------------- */

/* operands: with the object, where there is one. */
static bool
rank_all(struct debug *d, struct value *f, struct value **operands, size_t n,
	 enum rank *out)
{
	struct type *t = type_strip(d, f->type);
	const size_t mine = f->self ? 1 : 0, theirs = t->is_method ? 1 : 0;
	const size_t params = t->field_len - (f->self ? theirs : 0);

	if (n - mine < params || (n - mine > params && !t->is_varargs))
		return false;
	if (mine)
		out[0] = theirs ? rank_self(d, t->fields[0].type, f->self) :
			SAME;
	for (size_t i = mine; i < n; i++) {
		const size_t at = i - mine + (f->self ? theirs : 0);

		out[i] = at < t->field_len ?
			rank_argument(d, t->fields[at].type, operands[i]) :
			ELLIPSIS;
	}
	for (size_t i = 0; i < n; i++)
		if (out[i] == NEVER)
			return false;
	return true;
}

static bool
beats(const enum rank *a, const enum rank *b, size_t n)
{
	bool better = false;

	for (size_t i = 0; i < n; i++) {
		if (a[i] > b[i])
			return false;
		better |= a[i] < b[i];
	}
	return better;
}

static void
list_arguments(struct debug *d, struct value **args, size_t n, struct str *out)
{
	str_add(out, "(");
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s%s", i ? ", " : "",
			 type_text(d, args[i]->type));
	str_add(out, ")");
}

static struct value *
unclear(struct overloads *o, bool several, struct value **operands, size_t n)
{
	const size_t self = !o->is_operator && o->n && o->items[0]->self && n ?
		1 : 0;
	struct str taken = {0}, list = {0};

	list_arguments(o->d, operands + self, n - self, &taken);
	for (size_t i = 0; i < o->n && i < 8; i++)
		str_addf(&list, "%s%s", i ? ", " : "",
			 type_text(o->d, o->items[i]->type));
	(void)fail(FAIL_USAGE, several ? "more than one %s is as good for %s" :
		   "no %s takes %s", o->name, str_text(&taken));
	(void)fail_remedy("there %s %s%s", o->n == 1 ? "is" : "are",
			  str_text(&list), o->n > 8 ? ", ..." : "");
	str_fini(&taken);
	str_fini(&list);
	return NULL;
}

struct value *
overloads_choose(struct overloads *o, struct value **operands, size_t n)
{
	enum rank (*ranks)[n + 1] = arena_alloc(&o->d->scratch,
		(o->n + 1) * sizeof *ranks);
	struct value *best = NULL;
	size_t at = 0;
	bool tie = false;

	for (size_t i = 0; i < o->n; i++)
		if (!rank_all(o->d, o->items[i], operands, n, ranks[i]))
			ranks[i][0] = NEVER;
	for (size_t i = 0; i < o->n; i++) {
		if (n && ranks[i][0] == NEVER)
			continue;
		if (!n && type_strip(o->d, o->items[i]->type)->field_len)
			continue;
		if (!best || beats(ranks[i], ranks[at], n)) {
			best = o->items[i];
			at = i;
		}
	}
	for (size_t i = 0; i < o->n && best; i++)
		tie |= i != at && n && ranks[i][0] != NEVER &&
			!beats(ranks[at], ranks[i], n);
	if (best && !tie)
		return best;
	return unclear(o, best != NULL, operands, n);
}

/* What has the same type is the same, declared and defined. */
void
overloads_add(struct overloads *o, struct value *f)
{
	const char *text = type_text(o->d, f->type);

	for (size_t i = 0; i < o->n; i++) {
		struct value *other = o->items[i];

		if (!f->self != !other->self ||
		    strcmp(type_text(o->d, other->type), text) != 0)
			continue;
		if (other->place != VALUE_MEMORY && f->place == VALUE_MEMORY)
			o->items[i] = f;
		return;
	}
	type_fill(o->d, type_strip(o->d, f->type));
	if (o->n < OVERLOADS_MAX)
		o->items[o->n++] = f;
}

void
overloads_add_entry(struct overloads *o, struct entry *e, struct value *self)
{
	struct value *f;

	if (dwarf_tag(&e->die) != DW_TAG_subprogram || !die_is_cxx(&e->die))
		return;
	f = self ? value_method(o->d, e, self) :
		variable_value(o->d, e->object, NULL, &e->die);
	if (f && type_strip(o->d, f->type)->kind == TYPE_FUNCTION)
		overloads_add(o, f);
}

struct adding {
	struct overloads *o;
	struct value *self;
};

static bool
add_entry(void *arg, struct entry *e)
{
	const struct adding *a = arg;

	overloads_add_entry(a->o, e, a->self);
	return a->o->d->work++ < WORK_MAX;
}

void
overloads_add_like(struct overloads *o, struct value *f)
{
	struct type *t = type_strip(o->d, f->type);
	struct adding a = { .o = o, .self = f->self };
	const char *name;

	overloads_add(o, f);
	if (!t->has_die || !die_is_cxx(&t->die) ||
	    !(name = die_full_name(o->d, &t->die)))
		return;
	o->name = name;
	index_each(o->d, name, add_entry, &a);
	fail_clear();
}

struct value *
overload_of(struct debug *d, struct value *f, struct value **args, size_t n)
{
	struct overloads o = { .d = d, .name = f->text ? f->text : "" };
	struct value **operands = arena_alloc(&d->scratch,
					      (n + 1) * sizeof *operands);
	const size_t self = f->self ? 1 : 0;

	if (type_strip(d, f->type)->kind != TYPE_FUNCTION)
		return f;
	overloads_add_like(&o, f);
	if (o.n < 2)
		return f;
	operands[0] = f->self;
	for (size_t i = 0; i < n; i++)
		if (!(operands[i + self] = value_unref(d, args[i])))
			return NULL;
	return overloads_choose(&o, operands, n + self);
}
