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

/* That there are no line numbers is said in fewer words first: lines.c. */
static char *
fit_without_lines(const char *text, size_t width)
{
	static const char tail[] = ", instructions without line numbers>";

	if (!str_ends(text, tail))
		return NULL;

	char *less = xasprintf("%.*s, no lines>",
			       (int)(strlen(text) - strlen(tail)), text);
	char *fitting = text_fit(less, width);

	free(less);
	return fitting;
}

char *
text_fit(const char *text, size_t width)
{
	const size_t len = text_width(text);

	if (len <= width || width <= strlen(gap))
		return xstrdup(text);

	char *less = fit_without_lines(text, width);

	if (less)
		return less;

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

/* ---- lines ------------------------------------------------------------ */

/* Over one character; how many bytes it has. */
static size_t
step(const char *at, size_t *column)
{
	enum { TAB = 8 };

	if (*at == '\033') {
		const size_t n = strcspn(at, "m");

		return n + (at[n] == 'm');
	}
	if (*at == '\t')
		*column += TAB - *column % TAB;
	else
		*column += !continues(*at);
	return 1;
}

/* How much of the line to write; a word is never broken. */
static size_t
break_of(const char *line, size_t len, size_t column, size_t width)
{
	size_t last = 0;

	for (size_t i = strspn(line, " \t"); i < len;) {
		if (line[i] == ' ' && column <= width)
			last = i;
		if (last && column > width)
			return last;
		i += step(line + i, &column);
	}
	return last && column > width ? last : len;
}

static void
wrap_line(const char *line, size_t len, size_t width, FILE *out)
{
	enum { DEEPER = 4, DEEPEST = 8 };
	const size_t first = strspn(line, " ") + DEEPER;
	const size_t deep = first < DEEPEST ? first : DEEPEST;

	for (size_t at = 0, n; at < len; at += n) {
		if (at)
			fprintf(out, "\n%*s", (int)deep, "");
		at += at ? strspn(line + at, " ") : 0;

		size_t lead = 0;

		for (size_t i = 0; !at && strchr(" \t", line[i]) && i < len;)
			i += step(line + i, &lead);
		n = break_of(line + at, len - at, at ? deep : lead, width);
		fprintf(out, "%.*s", (int)n, line + at);
	}
	putc('\n', out);
}

void
text_wrap(const char *text, size_t width, FILE *out)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		wrap_line(text, len, width, out);
	}
}

/* ---- names of a tree -------------------------------------------------- */

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
