/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of types in expressions. A name is a type's where no variable that is
 * visible has it.
 */
#include "expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool
is_word(const struct parser *p, const char *word)
{
	return p->now.kind == TOKEN_NAME &&
	       strlen(word) == (size_t)(p->now.end - p->now.start) &&
	       memcmp(p->now.start, word, strlen(word)) == 0;
}

static bool
takes_word(struct parser *p, const char *word)
{
	if (!is_word(p, word))
		return false;
	parser_advance(p);
	return true;
}

/* ---- qualified names ---- */

/* Behind <...>, NULL: it is no list of a template. */
static const char *
template_end(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && --depth == 0)
			return at + 1;
		else if (strchr("=;|+/?", *at))
			return NULL;
	}
	return NULL;
}

/* As compilers write it: "A<int, B<char> >". */
static const char *
as_compiled(struct debug *d, const char *start, const char *end)
{
	char *text = arena_alloc(&d->scratch, 2 * (size_t)(end - start) + 1);
	size_t n = 0;

	for (const char *at = start; at < end; at++) {
		const bool blank = isspace((unsigned char)*at);

		if (blank && (n == 0 || !isalnum((unsigned char)text[n - 1]) ||
			      !isalnum((unsigned char)at[1])))
			continue;
		if (*at == '>' && n && text[n - 1] == '>')
			text[n++] = ' ';
		text[n++] = *at;
		if (*at == ',')
			text[n++] = ' ';
	}
	return text;
}

static bool
note_any(void *arg, struct entry *e)
{
	(void)e;
	*(bool *)arg = true;
	return false;
}

/* Of a member any class may be. */
static bool
is_known(struct parser *p, const char *name)
{
	bool known = false;

	if (str_starts(name, "::"))
		name += 2;
	if (!p->in_member)
		return index_find(p->d, name, WANT_ANY, NULL) != NULL;
	index_each_anywhere(p->d, name, note_any, &known);
	return known;
}

/* The name that is known; NULL: it is none. */
static const char *
name_of_template(struct parser *p, const char *plain)
{
	const char *compiled = as_compiled(p->d, plain, plain + strlen(plain));
	const char *const ways[] = {
		plain, compiled, spelled_out(p->d, compiled, true),
		spelled_out(p->d, compiled, false),
	};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (is_known(p, ways[i]))
			return ways[i];
	return NULL;
}

/* name<...> where that is the name of something; nothing is taken else. */
static const char *
take_template(struct parser *p, const char *before, const char *start)
{
	const char *behind, *whole;

	if (!token_is(p, '<') && (p->now.kind != TOKEN_OPERATOR ||
				  p->now.op != OP_SHL))
		return NULL;
	behind = template_end(p->now.start);
	if (!behind)
		return NULL;
	whole = name_of_template(p, arena_printf(&p->d->scratch, "%s%.*s",
			before, (int)(behind - start), start));
	if (whole)
		p->now = token_next(behind);
	return whole;
}

/* Of operator+ and the like, whose last word is the parser's then. */
static const char *
operator_end(struct parser *p)
{
	const struct token before = p->now;
	const char *const start = p->now.end;
	bool pair;

	parser_advance(p);
	pair = token_is(p, '(') || token_is(p, '[');
	if (p->now.kind != TOKEN_OPERATOR || p->now.start != start)
		p->now = before;
	else if (pair)
		parser_advance(p);
	return p->now.end;
}

/* What is taken is put together: blanks, and templates may be written in other
 * ways. */
const char *
parse_qualified(struct parser *p)
{
	const char *name = parser_takes(p, OP_SCOPE) ? "::" : "";

	for (;;) {
		const char *start = p->now.start, *end, *whole;

		if (parser_takes(p, '~') && p->now.kind != TOKEN_NAME)
			return NULL;
		if (p->now.kind != TOKEN_NAME)
			return NULL;
		end = is_word(p, "operator") ? operator_end(p) : p->now.end;
		parser_advance(p);
		whole = take_template(p, name, start);
		name = whole ? whole :
			arena_printf(&p->d->scratch, "%s%.*s", name,
				     (int)(end - start), start);
		if (!parser_takes(p, OP_SCOPE))
			return name;
		name = arena_printf(&p->d->scratch, "%s::", name);
	}
}

/* ---- specifiers ---- */

struct specifiers {
	bool is_const, is_volatile, is_unsigned, is_signed, is_short;
	int longs;
	const char *base;	/* a keyword of the language */
	struct type *type;	/* any other */
	bool any;
};

static bool
take_keyword(struct parser *p, struct specifiers *s)
{
	static const char *const bases[] = {
		"int", "char", "float", "double", "void", "_Bool", "bool",
		"__int128", "wchar_t", "char16_t", "char32_t",
	};

	if (takes_word(p, "const"))
		s->is_const = true;
	else if (takes_word(p, "volatile"))
		s->is_volatile = true;
	else if (takes_word(p, "unsigned"))
		s->any = s->is_unsigned = true;
	else if (takes_word(p, "signed"))
		s->any = s->is_signed = true;
	else if (takes_word(p, "short"))
		s->any = s->is_short = true;
	else if (takes_word(p, "long")) {
		s->longs++;
		s->any = true;
	} else {
		for (size_t i = 0; !s->type && !s->base &&
		     i < ARRAY_LEN(bases); i++)
			if (takes_word(p, bases[i])) {
				s->base = bases[i];
				s->any = true;
				return true;
			}
		return false;
	}
	return true;
}

static bool
has_tag(struct entry *e, int tag)
{
	const int its = dwarf_tag(&e->die);

	if (tag == DW_TAG_structure_type)
		return its == tag || its == DW_TAG_class_type;
	return its == tag;
}

struct tagged {
	int tag;
	struct entry *found;
};

static bool
find_tagged(void *arg, struct entry *e)
{
	struct tagged *t = arg;

	if (!has_tag(e, t->tag))
		return true;
	if (!t->found || t->found->declaration)
		t->found = e;
	return e->declaration;
}

static bool
take_tag(struct parser *p, struct specifiers *s)
{
	const struct token before = p->now;
	struct tagged t = { 0 };
	const struct frame *f = frame_selected(p->d);
	const char *name;
	const char *word = "struct";
	Dwarf_Die die;

	if (takes_word(p, "struct") || takes_word(p, "class")) {
		t.tag = DW_TAG_structure_type;
	} else if (takes_word(p, "union")) {
		t.tag = DW_TAG_union_type;
		word = "union";
	} else if (takes_word(p, "enum")) {
		t.tag = DW_TAG_enumeration_type;
		word = "enum";
	} else {
		return false;
	}
	name = parse_qualified(p);
	if (name && f && scope_find(p->d, f, name, WANT_TYPE, &die)) {
		s->type = type_of_die(p->d, f->at->object, &die);
	} else if (name) {
		index_each(p->d, name, find_tagged, &t);
		if (t.found)
			s->type = type_of_die(p->d, t.found->object,
					      &t.found->die);
	}
	if (!s->type) {
		p->now = before;
		p->failed = true;
		(void)fail(FAIL_MISSING, "No %s type named %s.", word,
			   name ? name : "");
		return false;
	}
	return true;
}

/* With the namespaces and classes that the function is in, inner ones first. */
static struct entry *
visible_type(struct debug *d, const char *name, Dwarf_Die *unit)
{
	const struct frame *f = frame_selected(d);
	const char *function = f && frame_is_cxx(d) ? frame_function(d, f) :
						      NULL;
	struct entry *e = NULL;

	if (function) {
		char *scope = arena_text(&d->scratch, function);

		while (!e) {
			char *colons = NULL;

			for (char *at = scope; (at = strstr(at, "::")); at++)
				colons = at;
			if (!colons)
				break;
			*colons = '\0';
			e = index_find(d, arena_printf(&d->scratch, "%s::%s",
						       scope, name),
				       WANT_TYPE, unit);
		}
	}
	return e ? e : index_find(d, name, WANT_TYPE, unit);
}

static bool
take_name(struct parser *p, struct specifiers *s)
{
	const struct token before = p->now;
	const struct frame *f = frame_selected(p->d);
	Dwarf_Die *unit = f && f->at->scope_len ?
		&f->at->scopes[f->at->scope_len - 1] : NULL;
	struct entry *e;
	const char *name;
	Dwarf_Die die;

	if (p->now.kind != TOKEN_NAME && !token_is(p, OP_SCOPE))
		return false;
	name = parse_qualified(p);
	if (name && str_starts(name, "::"))
		name += 2;
	if (!name) {
		p->now = before;
		return false;
	}
	if (f && scope_find(p->d, f, name, WANT_ANY, &die)) {
		if (!is_type_tag(dwarf_tag(&die))) {
			p->now = before;
			return false;
		}
		s->type = type_of_die(p->d, f->at->object, &die);
		return true;
	}
	e = visible_type(p->d, name, unit);
	/* a tag alone is a type in C++ only */
	if (!e || dwarf_tag(&e->die) == DW_TAG_namespace ||
	    (dwarf_tag(&e->die) != DW_TAG_typedef &&
	     dwarf_tag(&e->die) != DW_TAG_base_type &&
	     !die_is_cxx(&e->die)) ||
	    (index_find(p->d, name, WANT_VALUE, unit) &&
	     !index_is_type(p->d, name, unit))) {
		p->now = before;
		return false;
	}
	s->type = type_of_die(p->d, e->object, &e->die);
	return true;
}

static struct type *
basic(struct debug *d, const struct specifiers *s)
{
	const char *base = s->base ? s->base : "int";
	const char *u = s->is_unsigned ? "unsigned " : "";

	if (strcmp(base, "int") == 0)
		base = s->is_short ? "short" : s->longs > 1 ? "long long" :
		       s->longs ? "long" : "int";
	else if (strcmp(base, "double") == 0 && s->longs)
		base = "long double";
	else if (strcmp(base, "char") == 0 && s->is_signed)
		base = "signed char";
	return type_basic(d, arena_printf(&d->scratch, "%s%s", u, base));
}

static struct type *
take_specifiers(struct parser *p)
{
	struct specifiers s = {0};
	struct type *t;

	for (;;) {
		if (take_keyword(p, &s))
			continue;
		if (p->failed || s.any || s.type)
			break;
		if (!take_tag(p, &s) && (p->failed || !take_name(p, &s)))
			break;
	}
	t = s.type ? s.type : s.any ? basic(p->d, &s) : NULL;
	if (t && s.is_volatile)
		t = type_wrapped(p->d, TYPE_VOLATILE, t);
	if (t && s.is_const)
		t = type_wrapped(p->d, TYPE_CONST, t);
	return t;
}

/* ---- declarators ---- */

static struct type *take_declarator(struct parser *p, struct type *t,
				    int depth);

static struct type *
take_stars(struct parser *p, struct type *t)
{
	for (;;) {
		if (parser_takes(p, '*'))
			t = type_pointer_to(p->d, t);
		else if (parser_takes(p, '&'))
			t = type_wrapped(p->d, TYPE_REFERENCE, t);
		else if (parser_takes(p, OP_AND))
			t = type_wrapped(p->d, TYPE_RVALUE_REFERENCE, t);
		else if (takes_word(p, "const"))
			t = type_wrapped(p->d, TYPE_CONST, t);
		else if (takes_word(p, "volatile"))
			t = type_wrapped(p->d, TYPE_VOLATILE, t);
		else
			return t;
	}
}

static struct type *
take_function(struct parser *p, struct type *t, int depth)
{
	struct type *f = type_new(p->d, TYPE_FUNCTION, NULL, 1, false);
	struct field args[16] = {0};

	f->target = t;
	f->is_prototyped = true;
	while (!token_is(p, ')')) {
		struct type *arg = f->field_len < ARRAY_LEN(args) ?
			take_specifiers(p) : NULL;

		if (arg)
			arg = take_declarator(p, arg, depth + 1);
		if (!arg)
			return NULL;
		args[f->field_len++].type = arg;
		if (!parser_takes(p, ','))
			break;
	}
	if (f->field_len == 1 && args[0].type->kind == TYPE_VOID)
		f->field_len = 0;
	f->fields = arena_alloc(&p->d->lasting, sizeof args);
	memcpy(f->fields, args, sizeof args);
	return parser_takes(p, ')') ? f : NULL;
}

static struct type *
take_array(struct parser *p, struct type *t, int depth)
{
	uint64_t count = 0;
	struct value *v;
	struct type *array;

	if (p->now.kind == TOKEN_NUMBER) {
		v = literal_number(p->d, &p->now);
		if (!v || value_number(p->d, v, &count) < 0)
			return NULL;
		parser_advance(p);
	}
	if (!parser_takes(p, ']') || depth > CHAIN_MAX)
		return NULL;
	if (parser_takes(p, '[')) {
		t = take_array(p, t, depth + 1);
		if (!t)
			return NULL;
	}
	array = type_array_of(p->d, t, count);
	return array;
}

/* A pointer to what follows the brackets, as in int (*)(char). */
static struct type *
take_inner(struct parser *p, struct type *t, int depth)
{
	int stars = 0;

	while (parser_takes(p, '*'))
		stars++;
	if (stars == 0 || !parser_takes(p, ')'))
		return NULL;
	if (parser_takes(p, '('))
		t = take_function(p, t, depth);
	else if (parser_takes(p, '['))
		t = take_array(p, t, 0);
	while (t && stars-- > 0)
		t = type_pointer_to(p->d, t);
	return t;
}

static struct type *
take_declarator(struct parser *p, struct type *t, int depth)
{
	const struct token before = p->now;

	if (depth > 8)
		return NULL;
	t = take_stars(p, t);
	if (parser_takes(p, '(')) {
		struct type *inner = token_is(p, '*') ?
			take_inner(p, t, depth) : NULL;

		if (inner)
			return inner;
		p->now = before;
		return take_stars(p, t);
	}
	if (token_is(p, '[')) {
		const struct token bracket = p->now;
		struct type *array;

		parser_advance(p);
		array = take_array(p, t, 0);
		if (array)
			return array;
		p->now = bracket;
	}
	return t;
}

struct type *
parse_type_here(struct parser *p)
{
	const struct token before = p->now;
	struct type *t;

	if (p->now.kind != TOKEN_NAME && !token_is(p, OP_SCOPE))
		return NULL;
	t = take_specifiers(p);
	if (t)
		t = take_declarator(p, t, 0);
	if (!t)
		p->now = before;
	return t;
}
