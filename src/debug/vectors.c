/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers of many numbers: $xmm0.v4_float[1], $ymm0.v4_int64. What their
 * bytes are nobody says, so they are a union of all that they can be, with
 * gdb's names; members of 128 bits have types of a name, those of 256 have not.
 */
#include "private.h"

#include <string.h>

enum view_kind { BRAIN, HALF, FLOAT, DOUBLE, INT8, INT16, INT32, INT64,
		 INT128, UINT128 };

static const struct {
	const char *name;
	enum type_kind kind;
	unsigned size;
	bool is_signed;
} numbers[] = {
	[BRAIN] = { "bfloat16", TYPE_FLOAT, 2, false },
	[HALF] = { "half", TYPE_FLOAT, 2, false },
	[FLOAT] = { "float", TYPE_FLOAT, 4, false },
	[DOUBLE] = { "double", TYPE_FLOAT, 8, false },
	[INT8] = { "int8_t", TYPE_INT, 1, true },
	[INT16] = { "int16_t", TYPE_INT, 2, true },
	[INT32] = { "int32_t", TYPE_INT, 4, true },
	[INT64] = { "int64_t", TYPE_INT, 8, true },
	[INT128] = { "int128_t", TYPE_INT, 16, true },
	[UINT128] = { "uint128_t", TYPE_INT, 16, false },
};

struct view {
	const char *name;
	enum view_kind kind;
	unsigned count;		/* 0: one number, no vector */
	const char *type;	/* NULL: it has no name */
};

static const struct view of_128[] = {
	{ "v8_bfloat16", BRAIN, 8, "v8bf16" }, { "v8_half", HALF, 8, "v8h" },
	{ "v4_float", FLOAT, 4, "v4f" }, { "v2_double", DOUBLE, 2, "v2d" },
	{ "v16_int8", INT8, 16, "v16i8" }, { "v8_int16", INT16, 8, "v8i16" },
	{ "v4_int32", INT32, 4, "v4i32" }, { "v2_int64", INT64, 2, "v2i64" },
	{ "uint128", UINT128, 0, NULL },
};

static const struct view of_256[] = {
	{ "v16_bfloat16", BRAIN, 16, NULL }, { "v16_half", HALF, 16, NULL },
	{ "v8_float", FLOAT, 8, NULL }, { "v4_double", DOUBLE, 4, NULL },
	{ "v32_int8", INT8, 32, NULL }, { "v16_int16", INT16, 16, NULL },
	{ "v8_int32", INT32, 8, NULL }, { "v4_int64", INT64, 4, NULL },
	{ "v2_int128", INT128, 2, NULL },
};

/* A type of its own: nobody else makes a vector of it. */
static struct type *
number_type(struct debug *d, enum view_kind kind)
{
	return type_new(d, numbers[kind].kind, numbers[kind].name,
			numbers[kind].size, numbers[kind].is_signed);
}

static struct type *
view_type(struct debug *d, const struct view *v)
{
	struct type *t = number_type(d, v->kind), *named;

	if (!v->count)
		return t;
	t = type_array_of(d, t, v->count);
	t->is_vector = true;
	if (!v->type)
		return t;
	named = type_new(d, TYPE_TYPEDEF, v->type, 0, false);
	named->target = t;
	return named;
}

static struct type *
make_union(struct debug *d, const char *name, uint64_t size,
	   const struct view *views, size_t n)
{
	struct type *t = type_new(d, TYPE_UNION, name, size, false);

	t->filled = true;
	t->fields = arena_alloc(&d->lasting, n * sizeof *t->fields);
	t->field_len = n;
	for (size_t i = 0; i < n; i++)
		t->fields[i] = (struct field){
			.name = views[i].name, .type = view_type(d, &views[i]),
		};
	return t;
}

struct type *
vector_type(struct debug *d, const struct machine_reg *r)
{
	const bool wide = r->type == REG_WIDE;
	struct type **t = &d->vectors[wide];

	if (!*t)
		*t = wide ? make_union(d, "builtin_type_vec256i", r->size,
				       of_256, ARRAY_LEN(of_256)) :
			make_union(d, "vec128", r->size, of_128,
				   ARRAY_LEN(of_128));
	return *t;
}

/* ---- their bytes --------------------------------------------------------- */

static bool
has_highs(struct debug *d)
{
	if (!d->highs_asked && !d->regs.highs_known && d->target->highs) {
		d->highs_asked = true;
		if (d->target->highs(d->arg, &d->regs) < 0)
			fail_clear();
	}
	return d->regs.highs_known;
}

bool
vector_is_known(struct debug *d, const struct machine_reg *r)
{
	return d->regs.vectors_known && (r->type != REG_WIDE || has_highs(d));
}

size_t
vector_bytes(struct debug *d, const struct machine_reg *r, unsigned char *out,
	     size_t size)
{
	const size_t half = sizeof d->regs.vector[0];
	const size_t nth = (r->offset - offsetof(struct debug_regs, vector)) /
		half;
	size_t n = size < half ? size : half;

	memcpy(out, d->regs.vector[nth], n);
	if (size <= half || nth >= DEBUG_HIGHS || !has_highs(d))
		return n;
	n = size < 2 * half ? size : 2 * half;
	memcpy(out + half, d->regs.high[nth], n - half);
	return n;
}
