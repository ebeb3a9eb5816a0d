/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrays and strings as text: at most 200 elements, equal ones in a row told
 * once with their number.
 */
#include "private.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

/* ---- characters ---- */

/* Where the locale has it, and a terminal takes it for no command nor for
 * another direction of what follows. */
static bool
is_shown(uint64_t c)
{
	return MB_CUR_MAX > 1 && c >= 0x80 && c <= 0x10ffff &&
		iswprint((wint_t)c) && !(c >= 0x200e && c <= 0x200f) &&
		!(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

static bool
add_shown(struct str *out, uint64_t c)
{
	char bytes[MB_LEN_MAX];
	mbstate_t state = {0};
	size_t n;

	if (!is_shown(c) ||
	    (n = wcrtomb(bytes, (wchar_t)c, &state)) == (size_t)-1)
		return false;
	str_addn(out, bytes, n);
	return true;
}

void
print_character(struct str *out, uint64_t c, unsigned width, char quote,
		bool *need_escape)
{
	static const char letters[] = "\a\b\t\n\v\f\r", names[] = "abtnvfr";
	const char *letter = c && c < 32 ? strchr(letters, (int)c) : NULL;
	const bool escaped = *need_escape;

	*need_escape = false;
	if (letter) {
		str_addf(out, "\\%c", names[letter - letters]);
	} else if (c >= 32 && c < 127 && !(escaped && isdigit((int)c))) {
		str_addf(out, "%s%c", c == (unsigned char)quote || c == '\\' ?
			 "\\" : "", (int)c);
	} else if (width == 1 || !add_shown(out, c)) {
		if (c <= 0777)
			str_addf(out, "\\%03" PRIo64, c);
		else
			str_addf(out, "\\x%" PRIx64, c);
		*need_escape = c > 0777;
	}
}

struct text {
	struct str *out;
	unsigned width;
	char kind;
	bool open, any, escape;
};

/* What letters of that type are: 'c' char, 'L' wchar_t, 'u' and 'U' of 16 and
 * 32 bits; 0: it is no text. In C the wide ones are known by name only. */
char
text_kind(struct debug *d, struct type *t)
{
	static const struct {
		const char *name;
		char kind;
	} wide[] = {
		{ "wchar_t", 'L' }, { "char16_t", 'u' }, { "char32_t", 'U' },
	};

	for (int i = 0; i < CHAIN_MAX; i++) {
		t = type_unqualified(d, t);
		for (size_t j = 0; t->name && j < ARRAY_LEN(wide); j++)
			if (strcmp(t->name, wide[j].name) == 0)
				return type_size(d, t) > 4 ? 0 : wide[j].kind;
		if (t->kind != TYPE_TYPEDEF)
			break;
		t = type_target(d, t);
	}
	return t->kind == TYPE_CHAR && t->size == 1 ? 'c' :
	       t->kind == TYPE_CHAR && t->size == 2 ? 'u' :
	       t->kind == TYPE_CHAR && t->size == 4 ? 'U' : 0;
}

static void
add_prefix(struct str *out, char kind)
{
	if (kind != 'c')
		str_addn(out, &kind, 1);
}

/* One of so many bytes. */
struct letter {
	uint64_t c;
	size_t size;
};

/* What is no letter of the locale, or not shown, is the first unit alone. */
static struct letter
letter_at(const unsigned char *bytes, size_t left, unsigned width)
{
	struct letter l = { .size = width };
	mbstate_t state = {0};
	uint16_t pair[2] = {0};
	wchar_t wide = 0;
	size_t n = width;

	memcpy(&l.c, bytes, width);
	if (width == 1 && l.c >= 0x80 && MB_CUR_MAX > 1) {
		n = mbrtowc(&wide, (const char *)bytes, left, &state);
	} else if (width == 2 && left >= sizeof pair) {
		memcpy(pair, bytes, n = sizeof pair);
		if (pair[0] >> 10 == 0x36 && pair[1] >> 10 == 0x37)
			wide = 0x10000 + ((pair[0] & 0x3ff) << 10 |
					  (pair[1] & 0x3ff));
	}
	if (n > width && n <= left && is_shown((uint64_t)wide))
		l = (struct letter){ (uint64_t)wide, n };
	return l;
}

static void
print_letter(struct text *t, const struct letter *l, char quote, bool *escape)
{
	print_character(t->out, l->c, (unsigned)l->size, quote, escape);
}

static void
add_run(struct text *t, const struct letter *l, size_t count)
{
	if (count > REPEATS) {
		bool escape = false;

		if (t->open)
			str_add(t->out, "\", ");
		else if (t->any)
			str_add(t->out, ", ");
		t->open = false;
		add_prefix(t->out, t->kind);
		str_add(t->out, "'");
		print_letter(t, l, '\'', &escape);
		str_addf(t->out, "' <repeats %zu times>", count);
	} else {
		if (!t->open) {
			str_add(t->out, t->any ? ", " : "");
			add_prefix(t->out, t->kind);
			str_add(t->out, "\"");
			t->escape = false;
		}
		t->open = true;
		for (size_t i = 0; i < count; i++)
			print_letter(t, l, '"', &t->escape);
	}
	t->any = true;
}

static uint64_t
character_at(const unsigned char *bytes, size_t i, unsigned width)
{
	uint64_t c = 0;

	memcpy(&c, bytes + i * width, width);
	return c;
}

/* more: there is more of it than these. */
void
print_characters(struct printing *p, const unsigned char *bytes, size_t count,
		 unsigned width, char kind, bool more)
{
	struct text t = { .out = p->out, .width = width, .kind = kind };
	size_t i = 0;

	if (count == 0) {
		add_prefix(p->out, kind);
		str_addf(p->out, "\"\"%s", more ? "..." : "");
		return;
	}
	while (i < count && i < ELEMENTS_MAX) {
		const unsigned char *at = bytes + i * width;
		const size_t left = (count - i) * width;
		const struct letter l = letter_at(at, left, width);
		size_t n = 1;

		while ((n + 1) * l.size <= left &&
		       memcmp(at, at + n * l.size, l.size) == 0)
			n++;
		add_run(&t, &l, n);
		i += n * l.size / width;
	}
	if (t.open)
		str_add(p->out, "\"");
	if (more || i < count)
		str_add(p->out, "...");
}

/* As far as it can be read; a failure after that is said. */
void
print_string_at(struct printing *p, uint64_t addr, unsigned width, char kind)
{
	unsigned char bytes[ELEMENTS_MAX * 4], next[4] = {0};
	size_t n = 0;
	int status = 0;

	if (width == 0 || width > 4)
		return;
	while (n < ELEMENTS_MAX) {
		status = debug_read(p->d, addr + n * width, bytes + n * width,
				    width);
		if (status < 0 || character_at(bytes, n, width) == 0)
			break;
		n++;
	}
	if (n == 0 && status < 0) {
		str_addf(p->out, "<error: %s>", fail_last()->reason);
		fail_clear();
		return;
	}

	const bool more = n == ELEMENTS_MAX &&
		(debug_read(p->d, addr + n * width, next, width) < 0 ||
		 character_at(next, 0, width) != 0);

	print_characters(p, bytes, n, width, kind, more);
	if (status < 0) {
		str_addf(p->out, "<error: %s>", fail_last()->reason);
		fail_clear();
	}
}

/* ---- elements ---- */

static size_t
equal_run(struct value *v, uint64_t size, size_t from, size_t count)
{
	size_t n = 1;

	while (from + n < count &&
	       memcmp(v->bytes + from * size, v->bytes + (from + n) * size,
		      size) == 0 &&
	       (!v->lost || memcmp(v->lost + from * size,
				   v->lost + (from + n) * size, size) == 0))
		n++;
	return n;
}

static void
print_element(struct printing *p, struct value *v, struct type *t,
	      uint64_t offset)
{
	struct printing inner = *p;
	struct value *part = value_part(p->d, v, t, offset);

	inner.top = false;
	inner.depth++;
	if (!part || value_fetch(p->d, part) < 0) {
		str_addf(p->out, "<error: %s>", fail_last()->reason);
		fail_clear();
		return;
	}
	print_value(&inner, part);
}

static void
print_elements(struct printing *p, struct value *v, struct type *t,
	       size_t count, uint64_t size)
{
	size_t shown = 0, i = 0;

	str_add(p->out, "{");
	while (i < count && shown < ELEMENTS_MAX) {
		const size_t n = equal_run(v, size, i, count);

		if (debug_tired(p->d, p->out))
			break;
		if (i)
			str_add(p->out, ", ");
		print_element(p, v, t, i * size);
		if (n > REPEATS) {
			str_addf(p->out, " <repeats %zu times>", n);
			i += n;
			shown += REPEATS;
		} else {
			i++;
			shown++;
		}
	}
	if (i < count)
		str_add(p->out, "...");
	str_add(p->out, "}");
}

/* An array without a size is where it begins. */
static void
print_start(struct printing *p, struct value *v, struct type *t)
{
	str_addf(p->out, "0x%" PRIx64, v->addr);
	(void)print_symbol(p->d, v->addr, p->out);
	if (text_kind(p->d, t)) {
		str_add(p->out, " ");
		print_string_at(p, v->addr,
				(unsigned)type_strip(p->d, t)->size,
				text_kind(p->d, t));
	}
}

void
print_array(struct printing *p, struct value *v)
{
	struct type *array = type_strip(p->d, v->type);
	struct type *t = type_target(p->d, array);
	const uint64_t size = type_size(p->d, t);
	size_t count = array->count;

	if (!array->count_known || size == 0 || count == 0) {
		if (v->place == VALUE_MEMORY && !p->format)
			print_start(p, v, t);
		else
			str_add(p->out, "{}");
		return;
	}
	if (v->size / size < count)
		count = v->size / size;
	if (text_kind(p->d, t) && !v->lost && !array->is_vector &&
	    (!p->format || p->format == 's')) {
		const unsigned width = (unsigned)size;

		/* the zero that ends it goes without saying */
		if (count > 0 && count <= VALUE_MAX &&
		    character_at(v->bytes, count - 1, width) == 0)
			count--;
		print_characters(p, v->bytes, count, width,
				 text_kind(p->d, t), false);
		return;
	}
	if (p->depth >= 20) {
		str_add(p->out, "{...}");
		return;
	}
	print_elements(p, v, t, count, size);
}
