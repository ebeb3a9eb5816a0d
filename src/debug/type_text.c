/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types as C and C++ spell them: a name, with stars before and brackets behind
 * what is declared.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 64 };

static void spell_depth(struct debug *d, struct type *t, const char *name,
			struct str *out, int depth);

static bool
is_qualifier(const struct type *t)
{
	return t->kind == TYPE_CONST || t->kind == TYPE_VOLATILE ||
	       t->kind == TYPE_RESTRICT || t->kind == TYPE_ATOMIC;
}

/* Qualifiers of t in gdb's order; *t is what they qualify. */
static const char *
qualifiers(struct debug *d, struct type **t)
{
	bool is_const = false, is_volatile = false, restricted = false;
	bool atomic = false;

	for (int i = 0; i < CHAIN_MAX && is_qualifier(*t); i++) {
		is_const |= (*t)->kind == TYPE_CONST;
		is_volatile |= (*t)->kind == TYPE_VOLATILE;
		restricted |= (*t)->kind == TYPE_RESTRICT;
		atomic |= (*t)->kind == TYPE_ATOMIC;
		*t = type_target(d, *t);
	}

	const char *text = arena_printf(&d->scratch, "%s%s%s%s",
		is_const ? " const" : "", is_volatile ? " volatile" : "",
		restricted ? (*t)->is_cxx ? " __restrict__" : " restrict" : "",
		atomic ? " _Atomic" : "");

	return text;
}

static const char *
keyword(const struct type *t)
{
	if (t->is_cxx)
		return "";
	switch (t->kind) {
	case TYPE_STRUCT: return t->is_class ? "class " : "struct ";
	case TYPE_UNION: return "union ";
	case TYPE_ENUM: return "enum ";
	default: return "";
	}
}

static void
spell_base(struct debug *d, struct type *t, struct str *out)
{
	(void)d;
	if (t->name) {
		str_add(out, keyword(t));
		str_add(out, t->name);
		return;
	}
	switch (t->kind) {
	case TYPE_STRUCT:
		str_add(out, t->is_class ? "class {...}" : "struct {...}");
		break;
	case TYPE_UNION:
		str_add(out, "union {...}");
		break;
	case TYPE_ENUM:
		str_add(out, "enum {...}");
		break;
	default:
		str_add(out, t->kind == TYPE_VOID ? "void" :
			"<unnamed type>");
		break;
	}
}

static bool
is_derived(const struct type *t)
{
	switch (t->kind) {
	case TYPE_POINTER: case TYPE_REFERENCE: case TYPE_RVALUE_REFERENCE:
	case TYPE_ARRAY: case TYPE_FUNCTION: case TYPE_MEMBER_POINTER:
		return true;
	default:
		return false;
	}
}

static void
spell_arguments(struct debug *d, struct type *t, struct str *out, int depth)
{
	size_t n = 0;

	type_fill(d, t);
	str_add(out, "(");
	for (; n < t->field_len && n < ARGS_MAX; n++) {
		if (n)
			str_add(out, ", ");
		struct type *arg = t->fields[n].type;

		/* of functions that take themselves there is no end */
		if (debug_tired(d, out)) {
			str_add(out, "...");
			break;
		}
		/* this is constant, whatever the compiler says */
		if (t->fields[n].is_artificial && arg->kind == TYPE_POINTER)
			arg = type_wrapped(d, TYPE_CONST, arg);
		spell_depth(d, arg, "", out, depth + 1);
	}
	if (t->is_varargs)
		str_add(out, n ? ", ..." : t->is_prototyped ? "..." : "");
	else if (n == 0 && t->is_prototyped)
		str_add(out, "void");
	str_add(out, ")");
}

/* before and behind grow around what was spelled so far, from the name out. */
static void
wrap(struct debug *d, struct type *t, const char *quals, struct str *before,
     struct str *behind, bool *pointed, int depth)
{
	struct str inner = {0};

	switch (t->kind) {
	case TYPE_POINTER:
	case TYPE_REFERENCE:
	case TYPE_RVALUE_REFERENCE:
		str_add(&inner, t->kind == TYPE_POINTER ? "*" :
			t->kind == TYPE_REFERENCE ? "&" : "&&");
		str_add(&inner, quals);
		/* const char *const x, const char *const(&)[3] */
		if (*quals && before->len && str_text(before)[0] != '(')
			str_add(&inner, " ");
		*pointed = true;
		break;
	case TYPE_MEMBER_POINTER:
		(void)type_target(d, t);
		str_addf(&inner, "%s::*", t->container && t->container->name ?
			 t->container->name : "?");
		*pointed = true;
		break;
	case TYPE_ARRAY:
	case TYPE_FUNCTION:
		if (*pointed) {
			str_add(&inner, "(");
			str_add(behind, ")");
		}
		*pointed = false;
		if (t->kind == TYPE_FUNCTION) {
			spell_arguments(d, t, behind, depth);
		} else if (t->is_vector) {
			str_addf(behind, " __attribute__ ((vector_size(%"
				 PRIu64 ")))", t->count);
		} else if (t->count_known) {
			str_addf(behind, "[%" PRIu64 "]", t->count);
		} else {
			str_add(behind, t->is_variable ?
				"[variable length]" : "[]");
		}
		break;
	default:
		break;
	}
	str_add(&inner, str_text(before));
	str_fini(before);
	*before = inner;
}

static void
spell_depth(struct debug *d, struct type *t, const char *name, struct str *out,
	    int depth)
{
	struct str before = {0}, behind = {0};
	bool pointed = false;
	const char *quals = "";

	if (depth > 8) {
		str_add(out, "...");
		return;
	}
	str_add(&before, name);
	for (int i = 0; i < CHAIN_MAX; i++) {
		quals = qualifiers(d, &t);
		if (!is_derived(t))
			break;
		wrap(d, t, quals, &before, &behind, &pointed, depth);
		t = type_target(d, t);
	}
	if (*quals)	/* of the base they come first */
		str_addf(out, "%s ", quals + 1);
	spell_base(d, t, out);
	if (before.len || (behind.len && behind.data[0] != ' '))
		str_add(out, " ");
	str_add(out, str_text(&before));
	str_add(out, str_text(&behind));
	str_fini(&before);
	str_fini(&behind);
}

void
type_spell_var(struct debug *d, struct type *t, const char *name,
	       struct str *out)
{
	spell_depth(d, t, name, out, 0);
}

void
type_spell(struct debug *d, struct type *t, struct str *out)
{
	spell_depth(d, t, "", out, 0);
}

const char *
type_text(struct debug *d, struct type *t)
{
	struct str s = {0};

	type_spell(d, t, &s);

	const char *text = arena_text(&d->scratch, str_text(&s));

	str_fini(&s);
	return text;
}

/* ---- with what is inside ---- */

static void describe(struct debug *d, struct type *t, const char *name,
		     struct str *out, int level);

static void
indent(struct str *out, int level)
{
	str_addf(out, "%*s", level * 4, "");
}

static void
describe_struct(struct debug *d, struct type *t, struct str *out, int level)
{
	type_fill(d, t);
	str_add(out, t->kind == TYPE_UNION ? "union " :
		t->is_class ? "class " : "struct ");
	if (t->name)
		str_addf(out, "%s ", t->name);
	for (size_t i = 0, n = 0; i < t->field_len; i++)
		if (t->fields[i].is_base) {
			str_add(out, n++ ? ", " : ": ");
			str_add(out, "public ");
			if (t->fields[i].is_virtual)
				str_add(out, "virtual ");
			type_spell(d, t->fields[i].type, out);
		}
	if (t->field_len && t->fields[0].is_base)
		str_add(out, " ");
	str_add(out, "{\n");
	if (t->field_len == 0) {
		indent(out, level + 1);
		str_add(out, t->is_declaration ? "<incomplete type>\n" :
			t->has_variants ? "<variants are not shown>\n" :
			"<no data fields>\n");
	}
	for (size_t i = 0; i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (f->is_base || (f->name && str_starts(f->name, "_vptr.")))
			continue;
		if (debug_tired(d, out))
			break;
		indent(out, level + 1);
		if (f->is_static)
			str_add(out, "static ");
		describe(d, f->type, f->name ? f->name : "", out, level + 1);
		if (f->bits)
			str_addf(out, " : %u", f->bits);
		str_add(out, ";\n");
	}
	indent(out, level);
	str_add(out, "}");
}

static void
describe_enum(struct debug *d, struct type *t, struct str *out)
{
	int64_t next = 0;

	const bool is_class = t->has_die && attr_flag(&t->die,
						      DW_AT_enum_class);
	const char *scope = t->is_cxx && t->name ? t->name : "";
	size_t n = strlen(scope);

	type_fill(d, t);
	while (n && !is_class && !(scope[n - 1] == ':' ))
		n--;
	str_addf(out, "enum %s", is_class ? "class " : "");
	if (t->name)
		str_addf(out, "%s ", t->name);
	if (t->is_cxx && t->has_die && dwarf_hasattr(&t->die, DW_AT_type)) {
		str_add(out, ": ");
		type_spell(d, type_target(d, t), out);
		str_add(out, " ");
	}
	str_add(out, "{");
	for (size_t i = 0; i < t->value_len; i++) {
		str_addf(out, "%s%.*s%s%s", i ? ", " : "", (int)n, scope,
			 is_class ? "::" : "", t->values[i].name);
		if (t->values[i].value != next)
			str_addf(out, " = %" PRId64, t->values[i].value);
		next = (int64_t)((uint64_t)t->values[i].value + 1);
	}
	str_add(out, "}");
}

/* Only what has no name is told in full inside of another. */
static void
describe(struct debug *d, struct type *t, const char *name, struct str *out,
	 int level)
{
	struct str before = {0}, behind = {0};
	struct type *base = t;
	bool pointed = false, first = level == 0;
	const char *quals = "";

	str_add(&before, name);
	for (int i = 0; i < CHAIN_MAX; i++) {
		quals = qualifiers(d, &base);
		if (first && base->kind == TYPE_TYPEDEF) {
			base = type_target(d, base);
			continue;
		}
		if (!is_derived(base))
			break;
		wrap(d, base, quals, &before, &behind, &pointed, 0);
		base = type_target(d, base);
	}
	if (first)
		base = type_strip(d, base);
	if (*quals)
		str_addf(out, "%s ", quals + 1);
	if ((first || !base->name) && level < 2 &&
	    (base->kind == TYPE_STRUCT || base->kind == TYPE_UNION))
		describe_struct(d, base, out, level);
	else if ((first || !base->name) && base->kind == TYPE_ENUM)
		describe_enum(d, base, out);
	else
		spell_base(d, base, out);
	if (before.len || behind.len)
		str_add(out, " ");
	str_add(out, str_text(&before));
	str_add(out, str_text(&behind));
	str_fini(&before);
	str_fini(&behind);
}

void
type_describe(struct debug *d, struct type *t, struct str *out)
{
	describe(d, t, "", out, 0);
}
