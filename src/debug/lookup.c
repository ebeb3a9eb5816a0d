/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of the names that whole objects have is meant. To unpack and walk the
 * debug information of libraries costs more than all else that a short visit
 * does: where only one object can have the answer, only that is asked.
 */
#include "private.h"

#include <string.h>

static bool
entry_fits(struct entry *e, enum entry_wanted want)
{
	const bool type = is_type_tag(dwarf_tag(&e->die));

	return want == WANT_ANY || (want == WANT_TYPE) == type;
}

static bool
is_prefix(const char *scope, const char *name, size_t n)
{
	return scope && strlen(scope) == n && memcmp(scope, name, n) == 0;
}

/* The last :: outside of <...>. */
static const char *
last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if (*at == '>' || *at == ')')
			depth--;
		else if (depth == 0 && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

/* Does that scope end so? "A::B" ends in "B", and all in nothing. */
static bool
ends_in(const char *scope, const char *name, size_t n)
{
	const size_t len = scope ? strlen(scope) : 0;

	return len >= n && memcmp(scope + len - n, name, n) == 0 &&
		(n == 0 || len == n || scope[len - n - 1] == ':');
}

typedef bool scope_fn(const char *scope, const char *name, size_t n);

struct question {
	const char *name, *last;
	size_t scope_len;
	uint64_t hash;
	scope_fn *is_in;
};

static struct question
question_for(const char *name, scope_fn *is_in)
{
	const char *last = last_part(name);

	return (struct question){
		.name = name, .last = last, .is_in = is_in,
		.scope_len = last == name ? 0 : (size_t)(last - name) - 2,
		.hash = index_hash(last),
	};
}

/* The last entry first; false: visit has had enough. */
static bool
each_in(struct object *o, const struct question *q,
	bool (*visit)(void *arg, struct entry *e), void *arg)
{
	const struct index *x = &o->index;

	for (struct entry *e = x->slot_len ? x->slots[q->hash % x->slot_len] :
	     NULL; e; e = e->next)
		if (strcmp(e->name, q->last) == 0 &&
		    (q->is_in(e->scope, q->name, q->scope_len) ||
		     q->is_in(e->short_scope, q->name, q->scope_len)) &&
		    !visit(arg, e))
			return false;
	return true;
}

/* The last object first. */
static void
each_named(struct debug *d, const char *name, scope_fn *is_in,
	   bool (*visit)(void *arg, struct entry *e), void *arg)
{
	const struct question q = question_for(name, is_in);

	index_scan_all(d);
	for (size_t i = d->objects.len; i-- > 0;) {
		struct object *o = d->objects.items[i];

		if (o->here && !each_in(o, &q, visit, arg))
			return;
	}
}

void
index_each(struct debug *d, const char *name,
	   bool (*visit)(void *arg, struct entry *e), void *arg)
{
	each_named(d, name, is_prefix, visit, arg);
}

void
index_each_anywhere(struct debug *d, const char *name,
		    bool (*visit)(void *arg, struct entry *e), void *arg)
{
	each_named(d, name, ends_in, visit, arg);
}

static bool
each_begun_in(struct object *o, const char *name,
	      bool (*visit)(void *arg, struct entry *e), void *arg)
{
	for (size_t i = 0; i < o->index.slot_len; i++)
		for (struct entry *e = o->index.slots[i]; e; e = e->next)
			if (str_starts(e->name, name) && !visit(arg, e))
				return false;
	return true;
}

void
index_each_begun(struct debug *d, const char *name,
		 bool (*visit)(void *arg, struct entry *e), void *arg)
{
	index_scan_all(d);
	for (size_t i = d->objects.len; i-- > 0;) {
		struct object *o = d->objects.items[i];

		if (o->here && !each_begun_in(o, name, visit, arg))
			return;
	}
}

enum {
	SCORE_THERE = 1, SCORE_EXTERNAL = 2, SCORE_UNIT = 4, SCORE_DEFINED = 8,
	/* of the unit that asks, and defined: no other has as much */
	SCORE_BEST = SCORE_THERE + SCORE_UNIT + SCORE_DEFINED,
};

struct choice {
	enum entry_wanted want;
	Dwarf_Die *unit;
	struct entry *best;
	int score;
};

/* Of the unit that asks before all, what is global before what is private to
 * another unit, what is somewhere before what is only declared. */
static bool
choose(void *arg, struct entry *e)
{
	struct choice *c = arg;
	int score = SCORE_THERE;

	if (!entry_fits(e, c->want))
		return true;
	if (!e->declaration)
		score += SCORE_DEFINED;
	if (c->unit && e->unit.addr == c->unit->addr)
		score += SCORE_UNIT;
	if (e->external)
		score += SCORE_EXTERNAL;
	if (score > c->score || (score == c->score && c->best &&
				 e->object->order < c->best->object->order)) {
		c->score = score;
		c->best = e;
	}
	return true;
}

/* What the unit that asks defines is in its own object. */
static void
choose_all(struct debug *d, const char *name, struct choice *c)
{
	const struct question q = question_for(name, is_prefix);
	struct object *own = c->unit ? index_owner(d, c->unit) : NULL;

	if (own) {
		index_scan(d, own);
		(void)each_in(own, &q, choose, c);
		if (c->score >= SCORE_BEST)
			return;
	}
	c->best = NULL;
	c->score = 0;
	index_each(d, name, choose, c);
}

struct entry *
index_find(struct debug *d, const char *name, enum entry_wanted want,
	   Dwarf_Die *unit)
{
	struct choice c = { .want = want, .unit = unit };

	choose_all(d, name, &c);
	return c.best;
}

bool
index_is_type(struct debug *d, const char *name, Dwarf_Die *unit)
{
	struct choice value = { .want = WANT_VALUE, .unit = unit };
	struct choice type = { .want = WANT_TYPE, .unit = unit };

	choose_all(d, name, &value);
	choose_all(d, name, &type);
	if (!type.best || !value.best)
		return type.best != NULL;
	return type.score != value.score ? type.score > value.score :
		type.best->object->order < value.best->object->order;
}

struct search {
	struct type *type;
	struct entry *found;
};

static bool
defines(void *arg, struct entry *e)
{
	struct search *s = arg;
	const int tag = dwarf_tag(&e->die), its = dwarf_tag(&s->type->die);
	const bool same = tag == its ||
		(tag == DW_TAG_class_type && its == DW_TAG_structure_type) ||
		(tag == DW_TAG_structure_type && its == DW_TAG_class_type);

	if (!same || e->declaration)
		return true;
	s->found = e;
	return e->object != s->type->object;
}

struct entry *
index_definition(struct debug *d, struct type *t)
{
	const struct question q = question_for(t->name, is_prefix);
	struct search s = { .type = t };

	if (t->object && t->object->here) {
		index_scan(d, t->object);
		(void)each_in(t->object, &q, defines, &s);
	}
	if (!s.found)
		index_each(d, t->name, defines, &s);
	return s.found;
}
