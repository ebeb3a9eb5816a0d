/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers with a fraction, of any format that compilers use, as our widest.
 */
#include "private.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* IEEE's of 16 bits, and the upper half of a float. */
static long double
half(uint16_t bits, bool is_brain)
{
	const int exponent = bits >> 10 & 31, fraction = bits & 1023;
	const uint32_t word = (uint32_t)bits << 16;
	long double number;
	float f;

	if (is_brain) {
		memcpy(&f, &word, sizeof f);
		return f;
	}
	if (exponent == 31)
		number = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		number = fraction * 0x1p-24L;
	else
		number = ldexpl(fraction + 1024, exponent - 25);
	return bits >> 15 ? -number : number;
}

/* The exponent is as wide in x87's format, the fraction shorter by 49 bits. */
static long double
quad(const unsigned char *raw)
{
	unsigned __int128 bits;
	long double number = 0;
	uint64_t fraction;
	uint16_t top;

	memcpy(&bits, raw, sizeof bits);
	top = (uint16_t)(bits >> 112);
	fraction = (uint64_t)(bits >> 49) & (UINT64_MAX >> 1);
	if (top & 0x7fff)
		fraction |= 1ull << 63;
	if ((bits >> 48 & 1) && fraction + 1 != 0)	/* round */
		fraction++;
	memcpy(&number, &fraction, sizeof fraction);
	memcpy((char *)&number + sizeof fraction, &top, sizeof top);
	return number;
}

static bool
is_quad(const struct type *t)
{
	return LDBL_MANT_DIG == 64 && t->name && strstr(t->name, "loat128");
}

bool
float_is_brain(const struct type *t)
{
	return t->size == 2 && t->name && strstr(t->name, "bf");
}

bool
float_is_extended(const struct type *t)
{
	return LDBL_MANT_DIG == 64 && t->size == 16 && !is_quad(t);
}

bool
float_is_native(const struct type *t)
{
	return t->size == sizeof(float) || t->size == sizeof(double) ||
	       (t->size == sizeof(long double) && !is_quad(t));
}

bool
float_of_bytes(const struct type *t, const unsigned char *raw, uint64_t size,
	       long double *out)
{
	uint16_t h;
	float f;
	double r;

	*out = 0;
	switch (size) {
	case 2:
		memcpy(&h, raw, sizeof h);
		*out = half(h, float_is_brain(t));
		return true;
	case 4:
		memcpy(&f, raw, sizeof f);
		*out = f;
		return true;
	case 8:
		memcpy(&r, raw, sizeof r);
		*out = r;
		return true;
	case 10:
	case 16:
		if (is_quad(t))
			*out = quad(raw);
		else
			memcpy(out, raw, size);
		return true;
	default:
		return false;
	}
}
