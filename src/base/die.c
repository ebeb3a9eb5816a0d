/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * No memory. Nothing can be rescued then but the targets: the hook that
 * control installs lets every one of them go before we end.
 */
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*last_hook)(void);

void
die_set_hook(void (*hook)(void))
{
	last_hook = hook;
}

void
die(const char *what)
{
	void (*hook)(void) = last_hook;

	last_hook = NULL;
	if (hook)
		hook();
	/* stdio may need memory; a lost message is no further harm */
	(void)!write(STDERR_FILENO, "sonde: ", 7);
	(void)!write(STDERR_FILENO, what, strlen(what));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(DIE_STATUS);
}

void *
xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		die("out of memory");
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		die("out of memory");
	return p;
}

void *
xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		die("out of memory");
	return p;
}

void *
xgrow(void *p, size_t *cap, size_t n, size_t elem)
{
	if (n <= *cap)
		return p;

	size_t want = *cap ? *cap : 16;

	while (want < n)
		want *= 2;
	if (want > SIZE_MAX / elem)
		die("an array is too large");
	*cap = want;
	return xrealloc(p, want * elem);
}

char *
xstrndup(const char *s, size_t n)
{
	const size_t len = strnlen(s, n);
	char *copy = xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *
xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *
xvasprintf(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		die("out of memory");
	return text;
}

char *
xasprintf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = xvasprintf(fmt, ap);
	va_end(ap);
	return text;
}
