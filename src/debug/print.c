/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values as text, in gdb's spelling. Whatever cannot be read is said where it
 * stands, and the rest goes on. Nesting and the number of elements are
 * bounded, so that hostile types and memory end.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
print_failure(struct printing *p)
{
	str_addf(p->out, "<error: %s>", fail_last()->reason);
	fail_clear();
}

static void
add_type(struct printing *p, const struct value *v)
{
	str_add(p->out, "(");
	type_spell(p->d, v->type, p->out);
	str_add(p->out, ") ");
}

static void
print_pointer(struct printing *p, struct value *v, struct type *t)
{
	struct debug *d = p->d;
	struct type *target = type_target(d, t);
	struct type *bare = type_strip(d, target);
	const char kind = text_kind(d, target);
	uint64_t addr;

	memcpy(&addr, v->bytes, sizeof addr);
	const char *named = type_unqualified(d, target)->name;
	static const char *const plain[] = {
		"char", "wchar_t", "char16_t", "char32_t",
	};
	bool is_plain = false;

	for (size_t i = 0; named && i < ARRAY_LEN(plain); i++)
		is_plain |= strcmp(named, plain[i]) == 0;
	if (p->top && (!is_plain || type_unqualified(d, v->type)->name)) {
		str_add(p->out, "(");
		type_spell(d, v->type, p->out);
		str_add(p->out, ") ");
	}
	str_addf(p->out, "0x%" PRIx64, addr);
	if (bare->kind == TYPE_FUNCTION) {
		(void)print_symbol(d, addr, p->out);
	} else if (kind) {
		(void)print_symbol(d, addr, p->out);
		if (addr) {
			str_add(p->out, " ");
			print_string_at(p, addr, (unsigned)bare->size, kind);
		}
	} else {
		(void)print_symbol(d, addr, p->out);
	}
}

/* Said instead of a value; false: all of it is there. */
static bool
print_missing(struct printing *p, const struct value *v)
{
	unsigned char how = value_all_lost(v) ? LOST_OPTIMIZED : 0;

	for (size_t i = 0; v->lost && i < v->size && !how; i++)
		how = v->lost[i];
	if (how == 0)
		return false;
	if (value_synthetic(v)) {
		if (p->top)
			add_type(p, v);
		str_add(p->out, "<synthetic pointer>");
	} else {
		str_add(p->out, how == LOST_UNAVAILABLE ? "<unavailable>" :
			"<optimized out>");
	}
	return true;
}

static void
print_reference(struct printing *p, struct value *v)
{
	struct printing inner = *p;
	const bool synthetic = value_synthetic(v) != NULL;
	uint64_t addr;
	struct value *to;

	if (!synthetic && print_missing(p, v))
		return;
	if (p->top)
		add_type(p, v);
	memcpy(&addr, v->bytes, sizeof addr);
	if (synthetic)
		str_add(p->out, "<synthetic pointer>: ");
	else
		str_addf(p->out, "@0x%" PRIx64, addr);
	if (p->depth && !synthetic)	/* inside of others it is an address */
		return;
	if (!synthetic)
		str_add(p->out, ": ");
	to = value_unref(p->d, v);
	inner.top = false;
	inner.depth++;
	if (!to || value_fetch(p->d, to) < 0)
		print_failure(p);
	else
		print_value(&inner, to);
}

/* With the class or namespace that it is in, and its own name if it is one of
 * a class. */
static void
add_enumerator(struct printing *p, struct type *t, size_t i)
{
	const char *colons = t->is_cxx && t->name ? strstr(t->name, "::") :
		NULL;
	const char *last = NULL;

	for (; colons; colons = strstr(colons + 2, "::"))
		last = colons;
	if (t->is_cxx && t->name &&
	    attr_flag(&t->die, DW_AT_enum_class))
		str_addf(p->out, "%s::", t->name);
	else if (last)
		str_addf(p->out, "%.*s::", (int)(last - t->name), t->name);
	str_add(p->out, t->values[i].name);
}

void
print_enum(struct printing *p, struct type *t, int64_t value)
{
	uint64_t left = (uint64_t)value;
	bool any = false;

	type_fill(p->d, t);
	for (size_t i = 0; i < t->value_len; i++)
		if (t->values[i].value == value) {
			add_enumerator(p, t, i);
			return;
		}
	if (!t->is_flags) {
		str_addf(p->out, "%" PRId64, value);
		return;
	}
	if (left == 0) {
		str_add(p->out, "0");
		return;
	}
	for (size_t i = 0; i < t->value_len; i++) {
		const uint64_t bits = (uint64_t)t->values[i].value;

		if (!(left & bits))
			continue;
		str_add(p->out, any ? " | " : "(");
		add_enumerator(p, t, i);
		left &= ~bits;
		any = true;
	}
	if (left)
		str_addf(p->out, "%sunknown: 0x%" PRIx64 ")",
			 any ? " | " : "(", left);
	else
		str_add(p->out, ")");
}

/* ---- structs ---- */

static void
print_field(struct printing *p, struct value *v, const struct field *f)
{
	struct printing inner = *p;
	struct value *part;

	inner.top = false;
	inner.depth++;
	if (!f->is_base)
		inner.bases = NULL;
	if (f->is_static)
		str_add(p->out, "static ");
	if (f->is_base) {
		str_add(p->out, "<");
		type_spell(p->d, type_strip(p->d, f->type), p->out);
		str_add(p->out, "> = ");
	} else if (f->name) {
		str_addf(p->out, "%s = ", f->name);
	}
	part = value_member(p->d, v, f);
	if (!part || value_fetch(p->d, part) < 0) {
		print_failure(p);
	} else {
		print_value(&inner, part);
	}
}

enum { BASES_MAX = 32 };

/* A virtual base is there once, however many classes have it. */
static bool
is_shown(struct printing *p, const struct field *f)
{
	struct type *t;

	if (!f->is_virtual || !f->is_base || !p->bases)
		return true;
	t = type_strip(p->d, f->type);
	for (int i = 0; i < BASES_MAX; i++) {
		if (p->bases[i] == t)
			return false;
		if (!p->bases[i]) {
			p->bases[i] = t;
			return true;
		}
	}
	return true;
}

static void
print_struct(struct printing *p, struct value *v, struct type *t)
{
	size_t shown = 0;
	bool bases = false, members = false;

	type_fill(p->d, t);
	if (t->field_len == 0) {
		str_add(p->out, t->is_declaration ? "<incomplete type>" :
			t->has_variants ? "{<variants are not shown>}" :
			"{<No data fields>}");
		return;
	}
	if (p->depth >= 20) {
		str_add(p->out, "{...}");
		return;
	}
	str_add(p->out, "{");

	struct type *seen[BASES_MAX] = { NULL };
	struct printing own = *p;

	if (!own.bases) {
		own.bases = seen;
		p = &own;
	}
	for (size_t i = 0; i < t->field_len; i++) {
		const struct field *f = &t->fields[i];

		if (!is_shown(p, f))
			continue;
		if (debug_tired(p->d, p->out)) {
			str_add(p->out, "...");
			break;
		}
		if (shown++)
			str_add(p->out, ", ");
		bases |= f->is_base;
		members |= !f->is_base;
		print_field(p, v, f);
	}
	if (t->has_variants)
		str_add(p->out, ", <variants are not shown>");
	if (bases && !members)
		str_add(p->out, ", <No data fields>");
	str_add(p->out, "}");
}

/* ---- any ---- */

static void
print_method_pointer(struct printing *p, struct value *v, struct type *t)
{
	uint64_t word[2];

	memcpy(word, v->bytes, sizeof word);
	if (print_virtual_member(p, t, word[0], word[1]))
		return;
	if (!word[0]) {
		str_add(p->out, "NULL");
		return;
	}
	add_type(p, v);
	str_addf(p->out, "0x%" PRIx64, word[0]);
	(void)print_symbol(p->d, word[0], p->out);
	if (word[1])
		str_addf(p->out, ", this adjustment %" PRId64,
			 (int64_t)word[1]);
}

static void
print_member_pointer(struct printing *p, struct value *v, struct type *t)
{
	uint64_t word;

	if (v->size == 2 * sizeof word) {
		print_method_pointer(p, v, t);
		return;
	}
	memcpy(&word, v->bytes, sizeof word);
	if (word == UINT64_MAX) {
		str_add(p->out, "NULL");
		return;
	}
	if (print_data_member(p, t, word))
		return;
	if (p->top)
		add_type(p, v);
	str_addf(p->out, "0x%" PRIx64, word);
}

static void
print_function(struct printing *p, struct value *v)
{
	str_add(p->out, "{");
	type_spell(p->d, v->type, p->out);
	str_addf(p->out, "} 0x%" PRIx64, v->addr);
	(void)print_symbol(p->d, v->addr, p->out);
}

static void
print_scalar(struct printing *p, struct value *v, struct type *t)
{
	uint64_t word;
	bool escape = false;

	/* what is no text is plain, and so is what has two numbers */
	if (p->format && p->format != 's' &&
	    (p->format != 'f' || t->kind != TYPE_COMPLEX)) {
		print_number(p, v->type, v->bytes, p->format, 0);
		return;
	}
	switch (text_kind(p->d, v->type) ? TYPE_CHAR : t->kind) {
	case TYPE_CHAR:
		if (value_number(p->d, v, &word) < 0) {
			print_failure(p);
			return;
		}
		str_addf(p->out, t->is_signed ? "%" PRId64 : "%" PRIu64, word);
		str_add(p->out, " ");
		if (text_kind(p->d, v->type) != 'c')
			str_addf(p->out, "%c", text_kind(p->d, v->type));
		str_add(p->out, "'");
		print_character(p->out, word & (t->size >= 8 ? UINT64_MAX :
				(1ull << 8 * t->size) - 1),
				(unsigned)t->size, '\'', &escape);
		str_add(p->out, "'");
		break;
	case TYPE_FLOAT:
		print_float(p, t, v->bytes, v->size);
		break;
	case TYPE_COMPLEX:
		print_float(p, t, v->bytes, v->size / 2);
		str_add(p->out, " + ");
		print_float(p, t, v->bytes + v->size / 2, v->size / 2);
		str_add(p->out, "i");
		break;
	default:
		print_number(p, v->type, v->bytes, 0, 0);
		break;
	}
}

static bool
is_compound(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION ||
	       t->kind == TYPE_ARRAY;
}

/* Its bytes are there. */
void
print_value(struct printing *p, struct value *v)
{
	struct type *t = type_strip(p->d, v->type);

	if (p->depth > NEST_MAX) {
		str_add(p->out, "{...}");
		return;
	}
	if (!is_compound(t) && t->kind != TYPE_REFERENCE &&
	    t->kind != TYPE_RVALUE_REFERENCE && print_missing(p, v))
		return;
	switch (t->kind) {
	case TYPE_VOID:
		str_add(p->out, "void");
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
		print_struct(p, v, t);
		break;
	case TYPE_ARRAY:
		print_array(p, v);
		break;
	case TYPE_FUNCTION:
		print_function(p, v);
		break;
	case TYPE_REFERENCE:
	case TYPE_RVALUE_REFERENCE:
		print_reference(p, v);
		break;
	case TYPE_POINTER:
		if (p->format && p->format != 's')
			print_number(p, v->type, v->bytes, p->format, 0);
		else
			print_pointer(p, v, t);
		break;
	case TYPE_MEMBER_POINTER:
		print_member_pointer(p, v, t);
		break;
	case TYPE_NODEBUG_DATA:
	case TYPE_NODEBUG_TEXT:
		str_addf(p->out, "{%s} 0x%" PRIx64, t->name, v->addr);
		(void)print_symbol(p->d, v->addr, p->out);
		break;
	case TYPE_NAMESPACE:
	case TYPE_ERROR:
		str_addf(p->out, "<%s of a form that is not known here>",
			 t->name ? t->name : "?");
		break;
	default:
		print_scalar(p, v, t);
		break;
	}
}

void
print_whole(struct printing *p, struct value *v)
{
	if (value_all_lost(v))
		str_add(p->out, "<optimized out>");
	else
		print_value(p, v);
}
