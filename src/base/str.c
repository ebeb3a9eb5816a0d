/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing strings, and the few questions we ask of strings.
 */
#include "base.h"
#include "hazard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
str_fini(struct str *s)
{
	free(s->data);
	*s = (struct str){0};
}

void
str_clear(struct str *s)
{
	s->len = 0;
	if (s->data)
		s->data[0] = '\0';
}

void
str_addn(struct str *s, const char *text, size_t n)
{
	s->data = xgrow(s->data, &s->cap, s->len + n + 1, 1);
	memcpy(s->data + s->len, text, n);
	s->len += n;
	s->data[s->len] = '\0';
}

void
str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void
str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = xvasprintf(fmt, ap);
	va_end(ap);
	str_add(s, text);
	free(text);
}

void
str_add_grouped(struct str *s, uint64_t n)
{
	char digits[24];
	const int len = snprintf(digits, sizeof digits, "%llu",
				 (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_add(s, ",");
		str_addn(s, &digits[i], 1);
	}
}

void
str_add_quoted(struct str *s, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

	if (*word && word[strspn(word, plain)] == '\0') {
		str_add(s, word);
		return;
	}
	str_add(s, "'");
	for (; *word; word++)
		if (*word == '\'')
			str_add(s, "'\\''");
		else
			str_addn(s, word, 1);
	str_add(s, "'");
}

char *
str_quoted(const char *word)
{
	struct str s = {0};

	str_add_quoted(&s, word);
	return str_take(&s);
}

const char *
str_text(const struct str *s)
{
	return s->data ? s->data : "";
}

char *
str_take(struct str *s)
{
	char *text = s->data ? s->data : xstrdup("");

	*s = (struct str){0};
	return text;
}

/*
 * How long the character at p is; 0: a terminal obeys it. Bytes that are no
 * UTF-8 are letters of some older alphabet, but for 0x80 to 0x9f, which are
 * controls there, as U+0080 to U+009F are here.
 */
static size_t
tame_length(const unsigned char *p)
{
	const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 :
		p[0] >= 0xc2 ? 2 : 1;

	if (p[0] < 0x80)
		return (p[0] >= ' ' && p[0] != 0x7f) || p[0] == '\n' ||
			p[0] == '\t';
	if (p[0] < 0xa0 || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

char *
str_tame(char *text)
{
	unsigned char *p = (unsigned char *)text;

	if (!handled(HAZARD_ESCAPES))
		return text;
	while (*p) {
		const size_t n = tame_length(p);

		if (!n)
			*p = '?';
		p += n ? n : 1;
	}
	return text;
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_ends(const char *s, const char *suffix)
{
	const size_t len = strlen(s), want = strlen(suffix);

	return len >= want && strcmp(s + len - want, suffix) == 0;
}

bool
str_path_ends(const char *path, const char *end, size_t n)
{
	const size_t len = strlen(path);

	return n && len >= n && memcmp(path + len - n, end, n) == 0 &&
		(len == n || *end == '/' || path[len - n - 1] == '/');
}

bool
str_number(const char *s, long long min, long long max, long long *out)
{
	char *end;

	errno = 0;
	const long long n = strtoll(s, &end, 10);
	if (errno || end == s || *end || n < min || n > max)
		return false;
	*out = n;
	return true;
}

bool
str_is_build_id(const char *text)
{
	const size_t n = strspn(text, "0123456789abcdefABCDEF");

	return n > 0 && n % 2 == 0 && n <= 2 * BUILD_ID_BYTES_MAX && !text[n];
}
