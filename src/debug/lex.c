/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of C: names, numbers, characters, operators.
 */
#include "expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	int op;
	bool assigns;
} operators[] = {		/* longest first */
	{ "<<=", OP_SHL, true }, { ">>=", OP_SHR, true },
	{ "->*", OP_OF_POINTED, false }, { ".*", OP_OF, false },
	{ "->", OP_ARROW, false }, { "::", OP_SCOPE, false },
	{ "<<", OP_SHL, false }, { ">>", OP_SHR, false },
	{ "<=", OP_LE, false }, { ">=", OP_GE, false },
	{ "==", OP_EQ, false }, { "!=", OP_NE, false },
	{ "&&", OP_AND, false }, { "||", OP_OR, false },
	{ "++", OP_INC, false }, { "--", OP_DEC, false },
	{ "+=", '+', true }, { "-=", '-', true }, { "*=", '*', true },
	{ "/=", '/', true }, { "%=", '%', true }, { "&=", '&', true },
	{ "|=", '|', true }, { "^=", '^', true },
};

static const char *
quoted_end(const char *at)
{
	const char quote = *at++;

	while (*at && *at != quote) {
		if (*at == '\\' && at[1])
			at++;
		at++;
	}
	return *at ? at + 1 : NULL;
}

/* Of a text: L"x", u8'x'. NULL: none begins here. */
static const char *
text_quote(const char *at)
{
	if (str_starts(at, "u8"))
		at += 2;
	else if (*at && strchr("LuU", *at))
		at++;
	return *at == '"' || *at == '\'' ? at : NULL;
}

static struct token
operator_at(const char *at)
{
	struct token t = { .kind = TOKEN_OPERATOR, .start = at, .end = at + 1,
			   .op = (unsigned char)*at };

	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (str_starts(at, operators[i].text)) {
			t.op = operators[i].op;
			t.assigns = operators[i].assigns;
			t.end = at + strlen(operators[i].text);
			return t;
		}
	if (!strchr("+-*/%&|^~!<>=?:.,()[]@{}", *at))
		t.kind = TOKEN_BAD;
	return t;
}

static const char *
number_end(const char *at)
{
	const bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');

	for (; isalnum((unsigned char)*at) || *at == '.'; at++)
		if (strchr(hex ? "pP" : "eE", *at) &&
		    (at[1] == '+' || at[1] == '-'))
			at++;
	return at;
}

struct token
token_next(const char *at)
{
	struct token t = { .kind = TOKEN_END };
	const char *quote;

	while (isspace((unsigned char)*at))
		at++;
	t.start = t.end = at;
	if (*at == '\0')
		return t;
	quote = text_quote(at);
	if (quote) {
		t.kind = *quote == '"' ? TOKEN_STRING : TOKEN_CHARACTER;
		t.end = quoted_end(quote);
		if (!t.end) {
			t.kind = TOKEN_BAD;
			t.end = at + strlen(at);
		}
		return t;
	}
	if (isalpha((unsigned char)*at) || *at == '_' || *at == '$') {
		t.kind = *at == '$' ? TOKEN_DOLLAR : TOKEN_NAME;
		for (at++; isalnum((unsigned char)*at) || *at == '_' ||
		     *at == '$'; at++)
			;
		t.end = at;
		return t;
	}
	if (isdigit((unsigned char)*at ) ||
	    (*at == '.' && isdigit((unsigned char)at[1]))) {
		t.kind = TOKEN_NUMBER;
		t.end = number_end(at);
		return t;
	}
	return operator_at(at);
}

/* ---- literals ---- */

static struct value *
bad_number(const struct token *t)
{
	(void)fail(FAIL_USAGE, "Invalid number \"%.*s\".",
		   (int)(t->end - t->start), t->start);
	return NULL;
}

static struct value *
real_literal(struct debug *d, const struct token *t, const char *text)
{
	char *end;
	const long double n = strtold(text, &end);
	const char *type = "double";

	if (*end == 'f' || *end == 'F')
		type = "float";
	else if (*end == 'l' || *end == 'L')
		type = "long double";
	if (*end && end[1])
		return bad_number(t);
	return value_double(d, type_basic(d, type), n);
}

static const char *
integer_type(uint64_t n, bool decimal, bool is_unsigned, int longs)
{
	if (longs == 0 && !is_unsigned && n <= INT32_MAX)
		return "int";
	if (longs == 0 && (is_unsigned || !decimal) && n <= UINT32_MAX)
		return "unsigned int";
	if (!is_unsigned && n <= INT64_MAX)
		return longs == 2 ? "long long" : "long";
	return longs == 2 ? "unsigned long long" : "unsigned long";
}

struct value *
literal_number(struct debug *d, const struct token *t)
{
	const char *text = arena_textn(&d->scratch, t->start,
				       (size_t)(t->end - t->start));
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	bool is_unsigned = false;
	int longs = 0;
	char *end;

	if (strchr(text, '.') || strpbrk(text, hex ? "pP" : "eE"))
		return real_literal(d, t, text);

	errno = 0;

	/* 0b: not every strtoull(3) knows it */
	const bool two = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
	const uint64_t n = two ? strtoull(text + 2, &end, 2) :
		strtoull(text, &end, 0);

	if (errno == ERANGE) {
		(void)fail(FAIL_USAGE, "Numeric constant too large.");
		return NULL;
	}
	if (two && end == text + 2)
		return bad_number(t);
	for (; *end; end++) {
		if (*end == 'u' || *end == 'U')
			is_unsigned = true;
		else if (*end == 'l' || *end == 'L')
			longs++;
		else
			return bad_number(t);
	}
	return value_int(d, type_basic(d, integer_type(n, text[0] != '0',
						       is_unsigned, longs)),
			 n);
}
