/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tag text, both ways. The scanner accepts what the format allows and never
 * trusts it: names are a letter, then letters, digits and '_'; values stand
 * in double quotes; NULs and newlines between elements are padding, within a
 * value they are damage, because every writer escapes them. After damage it
 * looks for the next '<'.
 */
#include "xml.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------- */

/* All of its bytes, and p is at the last of them. XML has no U+FFFE. */
static void
add_character(struct str *out, const char **p, size_t n)
{
	const uint32_t code = utf8_code(*p, n);

	for (size_t i = 0; i < n && (code == 0xfffe || code == 0xffff); i++)
		str_addf(out, "%%%02x%%", (unsigned char)(*p)[i]);
	if (code != 0xfffe && code != 0xffff)
		str_addn(out, *p, n);
	*p += n - 1;
}

void
xml_escape(struct str *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		const unsigned char c = (unsigned char)*p;
		const size_t n = utf8_length(p);

		if (c == '<')
			str_add(out, "&lt;");
		else if (c == '>')
			str_add(out, "&gt;");
		else if (c == '&')
			str_add(out, "&amp;");
		else if (c == '"')
			str_add(out, "&quot;");
		else if (c == '\'')
			str_add(out, "&apos;");
		else if (c < ' ' || c == '%' || c == 0x7f || !n)
			str_addf(out, "%%%02x%%", c);
		else
			add_character(out, &p, n);
	}
}

void
xml_attr_add(struct str *out, const char *name, const char *value)
{
	str_addf(out, " %s=\"", name);
	xml_escape(out, value);
	str_add(out, "\"");
}

void
xml_time_add(struct str *out, const char *name, uint64_t ns)
{
	str_addf(out, " %s=\"%llu.%09llu\"", name,
		 (unsigned long long)(ns / 1000000000u),
		 (unsigned long long)(ns % 1000000000u));
}

/* ---- reading --------------------------------------------------------- */

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_name(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

static bool
is_padding(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* One escape at p (before end): how long it is, or 0 when it is none. */
static size_t
unescape_one(const char *p, const char *end, char *out)
{
	static const struct {
		const char *text;
		char c;
	} entities[] = {
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' },
		{ "&apos;", '\'' }, { "&quot;", '"' },
	};

	if (*p == '%' && end - p >= 4 && p[3] == '%' &&
	    hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
		*out = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
		return 4;
	}
	if (*p != '&')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
		const size_t n = strlen(entities[i].text);

		if ((size_t)(end - p) >= n &&
		    memcmp(p, entities[i].text, n) == 0) {
			*out = entities[i].c;
			return n;
		}
	}
	return 0;
}

/* Unescape [p, end) in place and end it with a NUL, which needs end[0]. */
static void
unescape(char *p, char *end)
{
	char *to = p;

	while (p < end) {
		char c;
		const size_t n = unescape_one(p, end, &c);

		if (n == 0)
			c = *p;
		p += n ? n : 1;
		*to++ = c;
	}
	*to = '\0';
}

void
xml_scan_init(struct xml_scan *scan, char *text, size_t size)
{
	*scan = (struct xml_scan){ .at = text, .end = text + size };
}

static void
skip_padding(struct xml_scan *scan)
{
	while (scan->at < scan->end && is_padding(*scan->at))
		scan->at++;
}

/* Go behind the next '<'; false at the end. */
static bool
find_tag(struct xml_scan *scan)
{
	if (!scan->in_tag) {
		scan->at = memchr(scan->at, '<',
				  (size_t)(scan->end - scan->at));
		if (!scan->at) {
			scan->at = scan->end;
			return false;
		}
		scan->at++;
	}
	scan->in_tag = false;
	return true;
}

/* A name; NULL when there is none. It is not ended by a NUL yet. */
static char *
scan_name(struct xml_scan *scan)
{
	char *const name = scan->at;

	if (name >= scan->end || !is_letter(*name))
		return NULL;
	while (scan->at < scan->end && is_name(*scan->at))
		scan->at++;
	return name;
}

/* `= "value"`. */
static enum xml_result
scan_value(struct xml_scan *scan, char **value)
{
	skip_padding(scan);
	if (scan->at >= scan->end)
		return XML_CUT;
	if (*scan->at != '=')
		return XML_DAMAGED;
	*scan->at++ = '\0';	/* may end the name */
	skip_padding(scan);
	if (scan->at >= scan->end)
		return XML_CUT;
	if (*scan->at != '"')
		return XML_DAMAGED;
	*value = ++scan->at;
	while (scan->at < scan->end && *scan->at != '"') {
		if (*scan->at == '\0' || *scan->at == '\n')
			return XML_DAMAGED;
		scan->at++;
	}
	if (scan->at >= scan->end)
		return XML_CUT;
	unescape(*value, scan->at);
	if (!scan->whole)
		(void)str_tame(*value);
	scan->at++;
	return XML_TAG;
}

static enum xml_result
scan_attr(struct xml_scan *scan, struct xml_tag *tag)
{
	char *const name = scan_name(scan);
	char *const name_end = scan->at;
	char *value;

	if (!name)
		return XML_DAMAGED;

	const enum xml_result res = scan_value(scan, &value);

	if (res != XML_TAG)
		return res;
	*name_end = '\0';
	if (tag->count < XML_ATTRS)
		tag->attrs[tag->count++] = (struct xml_attr){ name, value };
	return XML_TAG;
}

/* What follows the name, up to '>'. */
static enum xml_result
scan_rest(struct xml_scan *scan, struct xml_tag *tag)
{
	for (;;) {
		skip_padding(scan);
		if (scan->at >= scan->end)
			return XML_CUT;
		if (*scan->at == '>') {
			scan->at++;
			return XML_TAG;
		}
		if (*scan->at == '/') {
			if (scan->at + 1 >= scan->end)
				return XML_CUT;
			if (scan->at[1] != '>')
				return XML_DAMAGED;
			scan->at += 2;
			tag->form = XML_EMPTY;
			return XML_TAG;
		}

		const enum xml_result res = scan_attr(scan, tag);

		if (res != XML_TAG)
			return res;
	}
}

/* The text up to the next tag. Without a next tag it may be half a text. */
static enum xml_result
scan_text(struct xml_scan *scan, struct xml_tag *tag)
{
	skip_padding(scan);

	char *const text = scan->at;
	char *end = memchr(text, '<', (size_t)(scan->end - text));

	if (!end)
		return XML_CUT;
	scan->at = end + 1;
	scan->in_tag = true;
	while (end > text && is_padding(end[-1]))
		end--;
	unescape(text, end);
	if (!scan->whole)
		(void)str_tame_lines(text);
	tag->text = text;
	return XML_TAG;
}

/* `<?...>`, `<!...>`: nothing to us. */
static bool
skip_remark(struct xml_scan *scan)
{
	char *const end = memchr(scan->at, '>', (size_t)(scan->end - scan->at));

	if (end)
		scan->at = end + 1;
	return end;
}

enum xml_result
xml_next(struct xml_scan *scan, struct xml_tag *tag)
{
	*tag = (struct xml_tag){ .form = XML_OPEN, .text = "" };
	for (;;) {
		if (!find_tag(scan))
			return XML_END;
		if (scan->at >= scan->end)
			return XML_CUT;
		if (*scan->at != '?' && *scan->at != '!')
			break;
		if (!skip_remark(scan))
			return XML_CUT;
	}
	if (*scan->at == '/') {
		tag->form = XML_CLOSE;
		scan->at++;
	}

	char *const name = scan_name(scan);
	char *const name_end = scan->at;

	if (!name)
		return scan->at >= scan->end ? XML_CUT : XML_DAMAGED;
	tag->name = name;

	const bool closing = tag->form == XML_CLOSE;
	enum xml_result res = scan_rest(scan, tag);

	if (res == XML_TAG && !closing && tag->form == XML_OPEN)
		res = scan_text(scan, tag);
	if (res == XML_TAG) {
		*name_end = '\0';
		if (closing)
			tag->form = XML_CLOSE;
	}
	return res;
}

const char *
xml_attr(const struct xml_tag *tag, const char *name)
{
	for (size_t i = 0; i < tag->count; i++)
		if (strcmp(tag->attrs[i].name, name) == 0)
			return tag->attrs[i].value;
	return NULL;
}

uint64_t
xml_time(const char *value)
{
	if (!value || *value < '0' || *value > '9')
		return 0;

	char *end;
	const uint64_t s = strtoull(value, &end, 10);
	const uint64_t ns = *end == '.' ? strtoull(end + 1, NULL, 10) : 0;

	if (s > INT32_MAX || ns > 999999999u)
		return 0;
	return s * 1000000000u + ns;
}

uint64_t
xml_number(const char *value)
{
	if (!value)
		return 0;
	return strtoull(value + (*value == '+'), NULL, 0);
}
