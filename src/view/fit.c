/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names that fit a terminal. The numbers stay; a long name loses its middle,
 * since its beginning says where it belongs and its end what tells it apart;
 * rails of a deep tree lose their beginning, lines of source their end.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LEAST = 20 };
static const char gap[] = "...";

static bool
continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t
text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += !continues(*text);
	return n;
}

/* Bytes of the first so many characters. */
static size_t
bytes_of(const char *text, size_t characters)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (!continues(text[i]) && characters-- == 0)
			break;
	return i;
}

char *
text_fit(const char *text, size_t width)
{
	const size_t len = text_width(text);

	if (len <= width || width <= strlen(gap))
		return xstrdup(text);

	const size_t kept = width - strlen(gap), front = (kept + 1) / 2;
	const char *back = text + bytes_of(text, len - (kept - front));

	return xasprintf("%.*s%s%s", (int)bytes_of(text, front), text, gap,
			 back);
}

char *
text_cut(const char *text, size_t width)
{
	if (text_width(text) <= width || width <= strlen(gap))
		return xstrdup(text);
	return xasprintf("%.*s%s", (int)bytes_of(text, width - strlen(gap)),
			 text, gap);
}

static char *
prefix_of(const struct table *t, const struct row *row)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("a line");
	t->print_prefix(t->arg, row, out);
	fclose(out);
	return text;
}

/* Rails and name in so many columns. */
char *
row_fit(const struct table *t, const struct row *row, size_t width)
{
	char *rails = prefix_of(t, row);
	size_t name = text_width(row->name), len = strlen(rails);
	const char *from = rails;

	if (len + name > width) {
		name = name < NAME_LEAST ? name : NAME_LEAST;
		if (len + name > width && width > name + strlen(gap))
			from += len + name + strlen(gap) - width;
		len -= (size_t)(from - rails);
	}

	const size_t left = len + (from > rails ? strlen(gap) : 0);
	char *cut = text_fit(row->name, width > left ? width - left : 0);
	char *both = xasprintf("%s%s%s", from > rails ? gap : "", from, cut);

	free(cut);
	free(rails);
	return both;
}
