/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values: bytes of a type, and where they came from, if from anywhere. What
 * lies in memory is read when it is needed, so that a member of something huge
 * costs the member alone.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

uint64_t
bits_get(const unsigned char *from, uint64_t at, unsigned n)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < n && i < 64; i++, at++)
		out |= (uint64_t)(from[at / 8] >> at % 8 & 1) << i;
	return out;
}

void
bits_put(unsigned char *to, uint64_t at, unsigned n, uint64_t bits)
{
	for (unsigned i = 0; i < n && i < 64; i++, at++) {
		const unsigned char mask = (unsigned char)(1u << at % 8);

		if (bits >> i & 1)
			to[at / 8] |= mask;
		else
			to[at / 8] &= (unsigned char)~mask;
	}
}

static int
fits(struct debug *d, uint64_t size)
{
	if (size > VALUE_MAX)
		return fail(FAIL_UNSUITABLE, "value requires %" PRIu64
			    " bytes, which is more than max-value-size", size);
	if (d->scratch.used > (size_t)256 << 20)
		return fail(FAIL_UNSUITABLE, "this asks for too much");
	return 0;
}

struct value *
value_new(struct debug *d, struct type *t)
{
	const uint64_t size = type_size(d, t);
	struct value *v;

	if (fits(d, size) < 0)
		return NULL;
	v = arena_alloc(&d->scratch, sizeof *v);
	v->type = t;
	v->size = size;
	v->bytes = arena_alloc(&d->scratch, size + 16);
	return v;
}

struct value *
value_at(struct debug *d, struct type *t, uint64_t addr)
{
	struct value *v = arena_alloc(&d->scratch, sizeof *v);

	v->type = t;
	v->place = VALUE_MEMORY;
	v->addr = addr;
	return v;
}

struct value *
value_int(struct debug *d, struct type *t, uint64_t number)
{
	struct value *v = value_new(d, t);

	if (!v)
		return NULL;
	memcpy(v->bytes, &number, v->size < 8 ? v->size : 8);
	if (v->size > 8 && type_strip(d, t)->is_signed &&
	    (int64_t)number < 0)
		memset(v->bytes + 8, 0xff, v->size - 8);
	return v;
}

struct value *
value_of_wide(struct debug *d, struct type *t, unsigned __int128 number)
{
	struct value *v = value_int(d, t, (uint64_t)number);

	if (v && v->size > 8)
		memcpy(v->bytes, &number, v->size < 16 ? v->size : 16);
	return v;
}

struct value *
value_double(struct debug *d, struct type *t, long double n)
{
	struct value *v = value_new(d, t);
	const float f = (float)n;
	const double r = (double)n;

	if (!v)
		return NULL;
	if (!float_is_native(type_strip(d, t))) {
		(void)fail(FAIL_UNSUITABLE, "numbers of type %s are not made "
			   "here", type_text(d, t));
		return NULL;
	}
	if (v->size == sizeof f)
		memcpy(v->bytes, &f, sizeof f);
	else if (v->size == sizeof r)
		memcpy(v->bytes, &r, sizeof r);
	else
		memcpy(v->bytes, &n, sizeof n);
	return v;
}

struct value *
value_lost(struct debug *d, struct type *t)
{
	struct value *v = value_new(d, t);

	if (!v)
		return NULL;
	v->place = VALUE_PARTS;
	v->lost = arena_alloc(&d->scratch, v->size + 1);
	memset(v->lost, LOST_OPTIMIZED, v->size + 1);
	v->holes = arena_alloc(&d->scratch, v->size + 1);
	memset(v->holes, 0xff, v->size + 1);
	return v;
}

const struct synthetic *
value_synthetic(const struct value *v)
{
	if (!v->lost || v->lost[0] != LOST_SYNTHETIC)
		return NULL;
	for (const struct synthetic *s = v->synthetic; s; s = s->next)
		if (s->at == 0)
			return s;
	return NULL;
}

bool
value_all_lost(const struct value *v)
{
	if (!v->lost)
		return false;
	for (size_t i = 0; i < v->size; i++)
		if (v->lost[i] != LOST_OPTIMIZED)
			return false;
	return v->size > 0 || v->lost[0] == LOST_OPTIMIZED;
}

int
value_fetch(struct debug *d, struct value *v)
{
	const uint64_t size = type_size(d, v->type);

	if (v->bytes)
		return 0;
	if (fits(d, size) < 0)
		return -1;
	v->size = size;

	unsigned char *bytes = arena_alloc(&d->scratch, size + 16);

	if (debug_read(d, v->addr, bytes, size) < 0)
		return -1;
	v->bytes = bytes;
	return 0;
}

int
value_need(struct debug *d, struct value *v)
{
	const struct type *t = type_strip(d, v->type);

	if (t->kind == TYPE_NODEBUG_DATA)
		return fail(FAIL_UNSUITABLE, "'%s' has unknown type; cast it "
			    "to its declared type", v->text);
	if (value_fetch(d, v) < 0)
		return -1;
	for (size_t i = 0; v->lost && i < v->size; i++)
		if (v->lost[i])
			return fail(FAIL_MISSING, "%s",
				    v->lost[i] == LOST_OPTIMIZED ?
				    "value has been optimized out" :
				    v->lost[i] == LOST_SYNTHETIC ?
				    "<synthetic pointer>" :
				    "value is not available");
	return 0;
}

/* ---- as numbers ---- */

static uint64_t
extend(const unsigned char *bytes, size_t size, bool is_signed)
{
	uint64_t out = 0;

	memcpy(&out, bytes, size < 8 ? size : 8);
	if (size > 0 && size < 8 && is_signed) {
		const unsigned spare = 64 - 8 * (unsigned)size;

		out = (uint64_t)((int64_t)(out << spare) >> spare);
	}
	return out;
}

static int
whole_part(long double real, unsigned __int128 *out)
{
	*out = 0;
	if (!(real > -0x1p126L && real < 0x1p126L))
		return fail(FAIL_UNSUITABLE, "no integer is so large");
	*out = (unsigned __int128)(__int128)real;
	return 0;
}

int
value_number(struct debug *d, struct value *v, uint64_t *out)
{
	struct type *t = type_strip(d, v->type);
	unsigned __int128 wide;
	long double real;

	if (t->kind == TYPE_FUNCTION || t->kind == TYPE_ARRAY) {
		*out = v->addr;
		return v->place == VALUE_MEMORY ? 0 :
			fail(FAIL_USAGE, "Attempt to take address of value "
			     "not located in memory.");
	}
	if (t->kind == TYPE_REFERENCE || t->kind == TYPE_RVALUE_REFERENCE) {
		v = value_unref(d, v);
		return v ? value_number(d, v, out) : -1;
	}
	if (t->kind == TYPE_FLOAT) {
		if (value_float(d, v, &real) < 0)
			return -1;
		if (whole_part(real, &wide) < 0)
			return -1;
		*out = (uint64_t)wide;
		return 0;
	}
	if (!type_is_integral(t) && t->kind != TYPE_POINTER &&
	    t->kind != TYPE_MEMBER_POINTER)
		return fail(FAIL_USAGE, "Value can't be converted to integer.");
	if (value_need(d, v) < 0)
		return -1;
	if (t->kind == TYPE_ENUM)
		type_fill(d, t);
	*out = extend(v->bytes, v->size, t->is_signed);
	return 0;
}

int
value_wide(struct debug *d, struct value *v, unsigned __int128 *out)
{
	struct type *t = type_strip(d, v->type);
	uint64_t word;
	long double real;

	if (t->kind == TYPE_FLOAT)
		return value_float(d, v, &real) < 0 ? -1 :
			whole_part(real, out);
	if (!type_is_integral(t) || type_size(d, t) != sizeof *out) {
		if (value_number(d, v, &word) < 0)
			return -1;
		*out = t->is_signed ?
			(unsigned __int128)(__int128)(int64_t)word : word;
		return 0;
	}
	if (value_need(d, v) < 0)
		return -1;
	memcpy(out, v->bytes, sizeof *out);
	return 0;
}

int
value_float(struct debug *d, struct value *v, long double *out)
{
	struct type *t = type_strip(d, v->type);
	unsigned __int128 wide;

	if (t->kind != TYPE_FLOAT) {
		if (value_wide(d, v, &wide) < 0)
			return -1;
		*out = t->is_signed ? (long double)(__int128)wide :
				      (long double)wide;
		return 0;
	}
	if (value_need(d, v) < 0)
		return -1;
	return float_of_bytes(t, v->bytes, v->size, out) ? 0 :
		fail(FAIL_UNSUITABLE, "a number of %zu bytes", v->size);
}

int
value_truth(struct debug *d, struct value *v, bool *out)
{
	struct type *t = type_strip(d, v->type);
	unsigned __int128 wide;
	long double real;

	if (t->kind == TYPE_FLOAT) {
		if (value_float(d, v, &real) < 0)
			return -1;
		*out = real != 0;
		return 0;
	}
	if (value_wide(d, v, &wide) < 0)
		return -1;
	*out = wide != 0;
	return 0;
}
