/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers as text, plain and by format letter.
 */
#include "private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
print_nan(struct str *out, const struct type *t, const unsigned char *raw,
	  uint64_t size)
{
	uint64_t bits = 0;
	bool negative;

	if (size == 4) {
		memcpy(&bits, raw, 4);
		negative = bits >> 31;
		bits &= 0x7fffff;
	} else if (size == 2) {
		memcpy(&bits, raw, 2);
		negative = bits >> 15;
		bits &= float_is_brain(t) ? 0x7f : 0x3ff;
	} else {
		memcpy(&bits, raw, 8);
		negative = size == 8 ? bits >> 63 : raw[9] >> 7;
		if (size == 8)
			bits &= 0xfffffffffffffull;
	}
	str_addf(out, "%snan(0x%" PRIx64 ")", negative ? "-" : "", bits);
}

void
print_float(struct printing *p, const struct type *t, const unsigned char *raw,
	    uint64_t size)
{
	long double number;

	if (!float_of_bytes(t, raw, size, &number))
		str_addf(p->out, "<a number of %" PRIu64 " bytes>", size);
	else if (isnan(number))
		print_nan(p->out, t, raw, size);
	else if (isinf(number))
		str_add(p->out, number < 0 ? "-inf" : "inf");
	else
		str_addf(p->out, "%.*Lg", float_is_brain(t) ? 4 : size == 2 ? 5 :
			 size == 4 ? 9 : size == 8 ? 17 : 21, number);
}

void
print_integer128(struct str *out, const unsigned char *raw, bool is_signed)
{
	unsigned __int128 n;
	char text[48];
	size_t at = sizeof text;
	bool negative;

	memcpy(&n, raw, sizeof n);
	negative = is_signed && n >> 127;
	if (negative)
		n = -n;
	text[--at] = '\0';
	do
		text[--at] = (char)('0' + (int)(n % 10));
	while ((n /= 10) != 0);
	str_addf(out, "%s%s", negative ? "-" : "", text + at);
}

/* In that base, by its bits. */
static void
print_based(struct str *out, unsigned __int128 n, unsigned bits_each)
{
	char text[130];
	size_t at = sizeof text;

	text[--at] = '\0';
	do
		text[--at] = "0123456789abcdef"[n & ((1u << bits_each) - 1)];
	while ((n >>= bits_each) != 0);
	str_add(out, text + at);
}

static void print_as_character(struct printing *p, uint64_t word, unsigned size,
			       bool is_signed);

/* Of 16 bytes; of the x87's numbers 6 mean nothing. */
static void
print_wide(struct printing *p, const struct type *t, const unsigned char *raw,
	   char format)
{
	unsigned __int128 n;
	unsigned char bytes[sizeof n];

	memcpy(&n, raw, sizeof n);
	if (t->kind == TYPE_FLOAT && float_is_extended(t))
		n &= ((unsigned __int128)1 << 80) - 1;
	memcpy(bytes, &n, sizeof n);
	switch (format) {
	case 'x':
	case 'a':
		str_add(p->out, "0x");
		print_based(p->out, n, 4);
		break;
	case 'z':
		str_addf(p->out, "0x%016" PRIx64 "%016" PRIx64,
			 (uint64_t)(n >> 64), (uint64_t)n);
		break;
	case 'o':
		str_add(p->out, n ? "0" : "");
		print_based(p->out, n, 3);
		break;
	case 't':
		print_based(p->out, n, 1);
		break;
	case 'c':
		print_as_character(p, (uint64_t)n, 1, t->is_signed);
		break;
	default:
		print_integer128(p->out, bytes, format == 'd' ||
				 (format != 'u' && t->is_signed));
		break;
	}
}

void
print_flags(struct str *out, uint64_t word)
{
	str_add(out, "[");
	for (size_t i = 0; i < machine.flag_len; i++)
		if (machine.flags[i] && *machine.flags[i] && word >> i & 1)
			str_addf(out, " %s", machine.flags[i]);
	str_add(out, " ]");
}

static void
print_plain(struct printing *p, struct type *t, uint64_t word)
{
	if (t->kind == TYPE_BOOL && word <= 1)
		str_add(p->out, word ? "true" : "false");
	else if (t->kind == TYPE_ENUM)
		print_enum(p, t, (int64_t)word);
	else if (t->is_flags)
		print_flags(p->out, word);
	else
		str_addf(p->out, t->is_signed ? "%" PRId64 : "%" PRIu64, word);
}

static uint64_t
extended(uint64_t word, unsigned size, bool is_signed)
{
	const unsigned spare = size > 0 && size < 8 ? 64 - 8 * size : 0;

	if (spare == 0)
		return word;
	return is_signed ? (uint64_t)((int64_t)(word << spare) >> spare) :
			   word << spare >> spare;
}

static void
print_as_character(struct printing *p, uint64_t word, unsigned size,
		   bool is_signed)
{
	bool escape = false;
	const uint64_t shown = extended(word, size, is_signed);

	str_addf(p->out, is_signed ? "%" PRId64 " '" : "%" PRIu64 " '", shown);
	print_character(p->out, shown & 0xff, 1, '\'', &escape);
	str_add(p->out, "'");
}

/* A float as a character or an address is its whole part; by other formats of
 * integers it is its bits. */
static bool
whole_part(struct type *t, const unsigned char *raw, uint64_t *word)
{
	long double l;

	if (t->kind != TYPE_FLOAT || !float_of_bytes(t, raw, t->size, &l))
		return false;
	*word = l > -9.2e18L && l < 9.2e18L ? (uint64_t)(int64_t)l : 0;
	return true;
}

static void
print_as_float(struct printing *p, struct type *t, const unsigned char *raw,
	       unsigned size, uint64_t word)
{
	if (t->kind == TYPE_FLOAT || size == 4 || size == 8)
		print_float(p, t, raw, size);
	else
		str_addf(p->out, t->is_signed ? "%" PRId64 : "%" PRIu64, word);
}

void
print_number(struct printing *p, struct type *type, const unsigned char *raw,
	     char format, unsigned size)
{
	struct type *t = type_strip(p->d, type);
	uint64_t word = 0;

	if (t->kind == TYPE_ENUM)
		type_fill(p->d, t);
	if (size == 0)
		size = (unsigned)type_size(p->d, t);
	if (size == 16 && (t->kind != TYPE_FLOAT ||
			   (format && strchr("xzotdu", format)))) {
		print_wide(p, t, raw, format);
		return;
	}
	memcpy(&word, raw, size < 8 ? size : 8);
	if ((format == 'c' || format == 'a') && whole_part(t, raw, &word))
		size = 8;
	switch (format) {
	case 'x':
		str_addf(p->out, "0x%" PRIx64, extended(word, size, false));
		break;
	case 'z':
		str_addf(p->out, "0x%0*" PRIx64, (int)size * 2,
			 extended(word, size, false));
		break;
	case 'd':
		str_addf(p->out, "%" PRId64, extended(word, size, true));
		break;
	case 'u':
		str_addf(p->out, "%" PRIu64, extended(word, size, false));
		break;
	case 'o':
		word = extended(word, size, false);
		str_addf(p->out, word ? "0%" PRIo64 : "%" PRIo64, word);
		break;
	case 't':
		print_based(p->out, extended(word, size, false), 1);
		break;
	case 'c':
		print_as_character(p, word, 1, t->kind == TYPE_FLOAT || t->is_signed);
		break;
	case 'a':
		word = extended(word, size, t->is_signed);
		str_addf(p->out, "0x%" PRIx64, word);
		(void)print_symbol(p->d, word, p->out);
		break;
	case 'f':
		print_as_float(p, t, raw, size,
			       extended(word, size, t->is_signed));
		break;
	default:
		print_plain(p, t, extended(word, size, t->is_signed));
		break;
	}
}
