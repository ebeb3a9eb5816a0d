/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of numbers in arguments of templates: "unsigned" is "unsigned int" to
 * every compiler, and "unsigned long" has other words in g++'s debug
 * information than in clang's.
 */
#include "expression.h"

#include <ctype.h>
#include <string.h>

struct words {
	int longs;
	bool is_unsigned, is_signed, is_short, is_int, is_char, is_double;
};

static size_t
word_length(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

/* false: it is none of these. */
static bool
note_word(struct words *w, const char *at, size_t n)
{
	static const char *const names[] = {
		"long", "unsigned", "signed", "short", "int", "char", "double",
	};
	size_t i = 0;

	while (i < ARRAY_LEN(names) && (strlen(names[i]) != n ||
					memcmp(names[i], at, n) != 0))
		i++;
	switch (i) {
	case 0: w->longs++; break;
	case 1: w->is_unsigned = true; break;
	case 2: w->is_signed = true; break;
	case 3: w->is_short = true; break;
	case 4: w->is_int = true; break;
	case 5: w->is_char = true; break;
	case 6: w->is_double = true; break;
	default: return false;
	}
	return true;
}

static void
add_words(struct str *out, const struct words *w, bool in_full)
{
	const char *size = w->longs > 1 ? "long long" : w->longs ? "long" :
		w->is_short ? "short" : "";
	const char *sign = w->is_unsigned ? "unsigned " : "";

	if (w->is_char)
		str_addf(out, "%schar", w->is_unsigned ? "unsigned " :
			 w->is_signed ? "signed " : "");
	else if (w->is_double)
		str_addf(out, "%sdouble", w->longs ? "long " : "");
	else if (!*size)
		str_addf(out, "%sint", sign);
	else if (in_full)
		str_addf(out, "%s %sint", size, sign);
	else
		str_addf(out, "%s%s", sign, size);
}

const char *
spelled_out(struct debug *d, const char *name, bool in_full)
{
	struct str out = {0};
	const char *at = name, *text;

	while (*at) {
		struct words w = {0};
		const char *next = at, *end = at;
		size_t n;

		while ((n = word_length(next)) && note_word(&w, next, n)) {
			end = next + n;
			next = end + (*end == ' ');
		}
		n = word_length(at);
		if (end > at)
			add_words(&out, &w, in_full);
		else
			str_addn(&out, at, n ? n : 1);
		at = end > at ? end : at + (n ? n : 1);
	}
	text = arena_text(&d->scratch, str_text(&out));
	str_fini(&out);
	return text;
}
