/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that others wrote: names of functions, files, threads, what memory
 * holds. It may hold any bytes. Each output format has one function that
 * makes such text harmless: str_tame for terminals and tables, json_text for
 * JSON, str_utf8 for formats whose strings are UTF-8, xml_escape for XML.
 * All of them agree on what a character is.
 */
#include "base.h"
#include "hazard.h"

#include <string.h>

static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f },		/* C0, DEL, C1 */
	{ 0xad, 0xad },				/* a hyphen that is not seen */
	{ 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f },			/* of no width; directions */
	{ 0x2028, 0x202e },			/* ends of lines; overrides */
	{ 0x2060, 0x206f },			/* isolates */
	{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
	{ 0xe0000, 0xe0fff },			/* tags */
};

size_t
utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	const size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 :
		*s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* too long for what they say, surrogates, beyond the last */
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

uint32_t
utf8_code(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code = n == 1 ? *s : *s & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

bool
utf8_hidden(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	return false;
}

/* It never grows: a character that is replaced becomes one '?'. */
static char *
tame(char *text, const char *kept)
{
	char *to = text;

	if (!text || !handled(HAZARD_ESCAPES))
		return text;
	for (const char *p = text; *p;) {
		const size_t n = utf8_length(p);

		if (n && (strchr(kept, *p) ||
			  !utf8_hidden(utf8_code(p, n)))) {
			memmove(to, p, n);
			to += n;
		} else {
			*to++ = '?';
		}
		p += n ? n : 1;
	}
	*to = '\0';
	return text;
}

char *
str_tame(char *text)
{
	return tame(text, "");
}

char *
str_tame_lines(char *text)
{
	return tame(text, "\n\t");
}

char *
str_tamed(const char *text)
{
	return str_tame(xstrdup(text ? text : ""));
}

bool
str_is_tame(const char *text)
{
	for (size_t n; *text; text += n)
		if (!(n = utf8_length(text)) ||
		    utf8_hidden(utf8_code(text, n)))
			return false;
	return true;
}

char *
str_utf8(const char *text)
{
	struct str out = {0};

	for (size_t n; *text; text += n ? n : 1) {
		n = utf8_length(text);
		if (n)
			str_addn(&out, text, n);
		else
			str_add(&out, "\xef\xbf\xbd");
	}
	return str_take(&out);
}
