/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators that the program's classes define: methods of the left operand's
 * class and its bases, and functions of the namespaces around the classes of
 * both, as C++ looks for them. They are called as any function is.
 */
#include "private.h"

#include <string.h>

static bool
is_class(struct debug *d, struct value *v)
{
	const struct type *t = type_strip(d, v->type);

	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION;
}

const char *
operator_text(int op)
{
	static const char *const words[] = {
		[OP_SHL - OP_SHL] = "<<", [OP_SHR - OP_SHL] = ">>",
		[OP_LE - OP_SHL] = "<=", [OP_GE - OP_SHL] = ">=",
		[OP_EQ - OP_SHL] = "==", [OP_NE - OP_SHL] = "!=",
		[OP_AND - OP_SHL] = "&&", [OP_OR - OP_SHL] = "||",
		[OP_ARROW - OP_SHL] = "->", [OP_SCOPE - OP_SHL] = "::",
		[OP_INC - OP_SHL] = "++", [OP_DEC - OP_SHL] = "--",
	};
	static const char *const letters[] = {
		"+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "!", "~",
	};

	if (op >= OP_SHL && (size_t)(op - OP_SHL) < ARRAY_LEN(words))
		return words[op - OP_SHL];
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if (*letters[i] == op)
			return letters[i];
	return "";
}

/* ---- those that there are ------------------------------------------------ */

struct search {
	struct overloads *o;
	const char *name;	/* operator+ */
	struct value **operands;
	size_t n;
};

/* Itself, or a template of it, which has another name for each argument. */
static bool
is_named(const char *name, const char *wanted)
{
	const size_t n = strlen(wanted);

	if (strncmp(name, wanted, n) != 0)
		return false;
	name += n;
	if (!*name || str_starts(name, " <"))
		return true;
	/* operator<<int> is one of operator<, as clang has it */
	return *name == '<' && (wanted[n - 1] != '<' ||
				(name[1] && !strchr("< =", name[1])));
}

/* Is that a namespace, or a class, around the class of an operand? */
static bool
is_around(struct search *s, const char *scope)
{
	const size_t n = strlen(scope);

	if (!n)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		const struct type *t = type_strip(s->o->d,
						  s->operands[i]->type);

		if (t->name && strncmp(t->name, scope, n) == 0 &&
		    strncmp(t->name + n, "::", 2) == 0)
			return true;
	}
	return false;
}

static bool
add_free(void *arg, struct entry *e)
{
	struct search *s = arg;

	if (is_named(e->name, s->name) &&
	    (is_around(s, e->scope) ||
	     (e->short_scope && is_around(s, e->short_scope))))
		overloads_add_entry(s->o, e, NULL);
	return s->o->d->work++ < WORK_MAX;
}

static void
find_all(struct search *s)
{
	struct debug *d = s->o->d;
	struct value *method = is_class(d, s->operands[0]) ?
		value_named_method(d, s->operands[0], s->name) : NULL;

	if (method)
		overloads_add_like(s->o, method);
	index_each_begun(d, s->name, add_free, s);
	s->o->name = s->name;
	fail_clear();
}

/* ---- the call ------------------------------------------------------------ */

static struct value *
result_type(struct debug *d, struct value *f)
{
	return value_new(d, type_target(d, type_strip(d, f->type)));
}

static struct value *
call(struct overloads *o, struct value **operands, size_t n, bool quiet)
{
	struct value *f = overloads_choose(o, operands, n);
	size_t self;

	if (!f || quiet)
		return f ? result_type(o->d, f) : NULL;
	self = f->self ? 1 : 0;
	return call_function(o->d, f, NULL, operands + self, n - self);
}

bool
operator_is_own(struct debug *d, struct value **operands, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_class(d, operands[i]))
			return true;
	return false;
}

bool
operator_call(struct debug *d, const char *text, struct value **operands,
	      size_t n, bool quiet, struct value **out)
{
	struct overloads o = { .d = d, .is_operator = true };
	struct search s = {
		.o = &o, .operands = operands, .n = n,
		.name = arena_printf(&d->scratch, "operator%s", text),
	};

	if (!operator_is_own(d, operands, n))
		return false;
	find_all(&s);
	if (o.n) {
		*out = call(&o, operands, n, quiet);
		return true;
	}
	if (strcmp(text, "!=") != 0)
		return false;

	/* C++ of 2020 has it from the other one */
	bool truth;
	struct value *same = NULL;

	if (!operator_call(d, "==", operands, n, quiet, &same))
		return false;
	*out = !same || value_truth(d, same, &truth) < 0 ? NULL :
		value_int(d, type_basic(d, "bool"), !truth);
	return true;
}
