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
