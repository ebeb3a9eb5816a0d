/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON (RFC 8259): what others named may hold any bytes. Those that are no
 * UTF-8 become the replacement character, controls are escaped.
 */
#include "base.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

enum { LINES_TO_DEPTH = 4 };

/* Bytes of the character at s, 0: it is no UTF-8. */
static size_t
character(const unsigned char *s)
{
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

static void
put_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', out);
	while (*s) {
		const size_t n = character(s);

		if (n == 0)
			fputs("\\ufffd", out);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fwrite(s, 1, n, out);
		s += n ? n : 1;
	}
	fputc('"', out);
}

static void
put_key(struct json *j, const char *key, bool own_line)
{
	if (j->more)
		fputs(own_line && !j->one_line ? "," : ", ", j->out);
	if (own_line && j->depth && !j->one_line)
		fprintf(j->out, "\n%*s", j->depth, "");
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
	j->more = true;
}

void
json_begin(struct json *j, const char *key, char bracket)
{
	put_key(j, key, j->depth <= LINES_TO_DEPTH && (!key || j->depth < 2));
	fputc(bracket, j->out);
	j->depth++;
	j->more = false;
}

void
json_end(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	j->depth--;
	j->more = true;
	if (j->depth == 0)
		fputc('\n', j->out);
}

void
json_text(struct json *j, const char *key, const char *text)
{
	put_key(j, key, false);
	if (text)
		put_string(j->out, text);
	else
		fputs("null", j->out);
}

void
json_number(struct json *j, const char *key, int64_t number)
{
	put_key(j, key, false);
	fprintf(j->out, "%" PRId64, number);
}

void
json_unsigned(struct json *j, const char *key, uint64_t number)
{
	put_key(j, key, false);
	fprintf(j->out, "%" PRIu64, number);
}

void
json_address(struct json *j, const char *key, uint64_t address)
{
	put_key(j, key, false);
	fprintf(j->out, "\"0x%" PRIx64 "\"", address);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key, false);
	fputs(value ? "true" : "false", j->out);
}

void
json_real(struct json *j, const char *key, double number)
{
	put_key(j, key, false);
	if (isfinite(number))
		fprintf(j->out, "%.6f", number);
	else
		fputs("null", j->out);
}

void
json_raw(struct json *j, const char *key, const char *json)
{
	put_key(j, key, false);
	fputs(json, j->out);
}
