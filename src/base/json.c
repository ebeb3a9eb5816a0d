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

/* Hidden characters are escaped, too: people look at JSON in terminals. */
static void
put_character(FILE *out, const char *s, size_t n)
{
	const uint32_t code = utf8_code(s, n);

	if (*s == '"' || *s == '\\')
		fprintf(out, "\\%c", *s);
	else if (!utf8_hidden(code))
		fwrite(s, 1, n, out);
	else if (code < 0x10000)
		fprintf(out, "\\u%04x", code);
	else
		fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			0xdc00 + (code & 0x3ff));
}

static void
put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (size_t n; *s; s += n ? n : 1) {
		n = utf8_length(s);
		if (n)
			put_character(out, s, n);
		else
			fputs("\\ufffd", out);
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
