/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Characters and strings of expressions: "x", u8"x", L"x", u"x", U"x", and
 * strings that stand beside each other, which are one. Bytes of narrow ones are
 * taken as they are, of all others as UTF-8.
 */
#include "expression.h"

#include <ctype.h>
#include <string.h>
#include <wchar.h>

struct kind {
	const char *prefix, *type;
	unsigned width;
};

enum { POINT_MAX = 0x10ffff };

static const struct kind narrow = { "", "char", 1 };
static const struct kind others[] = {
	{ "u8", "char", 1 }, { "L", "wchar_t", sizeof(wchar_t) },
	{ "u", "char16_t", 2 }, { "U", "char32_t", 4 },
};

struct text {
	const struct kind *kind;
	unsigned char *bytes;
	size_t n;
};

static int
malformed(const char *why)
{
	return fail(FAIL_USAGE, "%s", why);
}

static void
put_unit(struct text *t, uint32_t unit)
{
	memcpy(t->bytes + t->n, &unit, t->kind->width);	/* little-endian */
	t->n += t->kind->width;
}

static void
put_utf8(struct text *t, uint32_t c)
{
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint32_t first[] = { 0, 0xc0, 0xe0, 0xf0 };

	put_unit(t, first[more] | c >> (6 * more));
	while (more-- > 0)
		put_unit(t, 0x80 | (c >> (6 * more) & 0x3f));
}

static void
put_point(struct text *t, uint32_t c)
{
	if (t->kind->width == 1) {
		put_utf8(t, c);
	} else if (t->kind->width == 2 && c > 0xffff) {
		put_unit(t, 0xd800 + ((c - 0x10000) >> 10));
		put_unit(t, 0xdc00 + ((c - 0x10000) & 0x3ff));
	} else {
		put_unit(t, c);
	}
}

/* ---- escapes ---- */

static uint32_t
take_digits(const char **at, unsigned base, int most, int *taken)
{
	uint32_t n = 0;

	for (*taken = 0; *taken < most; ++*taken, ++*at) {
		const int c = tolower((unsigned char)**at);
		const unsigned digit = isdigit(c) ? (unsigned)c - '0' :
			isxdigit(c) ? (unsigned)c - 'a' + 10 : base;

		if (digit >= base)
			break;
		n = n * base + digit;
	}
	return n;
}

static int
put_named(struct text *t, const char **at, int digits)
{
	int taken;
	const uint32_t c = take_digits(at, 16, digits, &taken);

	if (taken < digits || c > POINT_MAX || (c >= 0xd800 && c < 0xe000))
		return malformed("\\u has 4 digits behind it, \\U 8, of a "
				 "character that there is");
	put_point(t, c);
	return 0;
}

static int
put_escape(struct text *t, const char **at)
{
	static const char names[] = "abtnvfre";
	static const char letters[] = "\a\b\t\n\v\f\r\033";
	const char c = *(*at)++, *name = strchr(names, c);
	int taken;

	if (c == 'u' || c == 'U')
		return put_named(t, at, c == 'u' ? 4 : 8);
	if (c == 'x') {
		const uint32_t n = take_digits(at, 16, INT32_MAX, &taken);

		if (!taken)
			return malformed("\\x escape without a following hex "
					 "digit");
		put_unit(t, n);
	} else if (c >= '0' && c <= '7') {
		--*at;
		put_unit(t, take_digits(at, 8, 3, &taken));
	} else {
		put_unit(t, (unsigned char)(name && c ? letters[name - names] :
					    c));
	}
	return 0;
}

/* ---- letters ---- */

/* Of UTF-8, as long as it is: at most 4 bytes, whose first says how many. */
static int
put_letter(struct text *t, const char **at)
{
	const unsigned char first = (unsigned char)*(*at)++;
	int more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	uint32_t c = first;

	if (t->kind->width == 1 || first < 0x80) {
		put_unit(t, c);
		return 0;
	}
	if (more == 0 || first > 0xf4)
		return malformed("a character that is no UTF-8");
	for (c &= 0x3fu >> more; more > 0; more--) {
		const unsigned char next = (unsigned char)**at;

		if ((next & 0xc0) != 0x80)
			return malformed("a character that is no UTF-8");
		c = c << 6 | (next & 0x3f);
		++*at;
	}
	put_point(t, c);
	return 0;
}

static int
put_token(struct text *t, const struct token *token)
{
	const char *at = token->start + strcspn(token->start, "\"'") + 1;

	while (at < token->end - 1) {
		const bool escape = *at == '\\';

		at += escape;
		if ((escape ? put_escape(t, &at) : put_letter(t, &at)) < 0)
			return -1;
	}
	return 0;
}

/* ---- what they are ---- */

static const struct kind *
kind_of(const struct token *t)
{
	const size_t n = strcspn(t->start, "\"'");

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (n == strlen(others[i].prefix) &&
		    memcmp(t->start, others[i].prefix, n) == 0)
			return &others[i];
	return &narrow;
}

/* With what prefix all of them are, how long they are; false: with several. */
static bool
survey(struct token token, struct text *t, size_t *length)
{
	for (; token.kind == TOKEN_STRING; token = token_next(token.end)) {
		const struct kind *kind = kind_of(&token);

		*length += (size_t)(token.end - token.start);
		if (kind != &narrow && t->kind != &narrow && t->kind != kind)
			return false;
		if (kind != &narrow)
			t->kind = kind;
	}
	return true;
}

struct value *
literal_character(struct debug *d, const struct token *token)
{
	const size_t length = (size_t)(token->end - token->start);
	struct text t = { .kind = kind_of(token) };
	uint32_t unit = 0;

	t.bytes = arena_alloc(&d->scratch, 4 * length);
	if (put_token(&t, token) < 0)
		return NULL;
	if (t.n != t.kind->width) {
		(void)malformed(t.n ? "Invalid character constant." :
				"A character constant must contain at least "
				"one character.");
		return NULL;
	}
	memcpy(&unit, t.bytes, t.n);
	return value_int(d, type_basic(d, t.kind->type), unit);
}

struct value *
literal_string(struct parser *p)
{
	struct debug *d = p->d;
	struct text t = { .kind = &narrow };
	struct token next;
	size_t length = 0;
	struct value *v;

	if (!survey(p->now, &t, &length)) {
		(void)malformed("Undefined string concatenation.");
		return NULL;
	}
	t.bytes = arena_alloc(&d->scratch, 4 * length);
	if (put_token(&t, &p->now) < 0)
		return NULL;
	while ((next = token_next(p->now.end)).kind == TOKEN_STRING) {
		p->now = next;
		if (put_token(&t, &next) < 0)
			return NULL;
	}
	v = value_new(d, type_array_of(d, type_basic(d, t.kind->type),
				       t.n / t.kind->width + 1));
	if (v)
		memcpy(v->bytes, t.bytes, t.n);
	return v;
}
