/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing strings, and the few questions we ask of strings.
 */
#include "base.h"

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

char *
str_chomp(char *s)
{
	const size_t len = s ? strlen(s) : 0;

	if (len && s[len - 1] == '\n')
		s[len - 1] = '\0';
	return s;
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
