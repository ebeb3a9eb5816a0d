/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of values, what they point to, and where they are.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

/* The selected frame; NULL: none was made, and none is for this. */
static const struct frame *
frame_now(struct debug *d)
{
	return d->frame_len ? frame_selected(d) : NULL;
}

/* What of the whole is missing is missing in its part. */
static void
part_lost(struct debug *d, const struct value *v, struct value *part,
	  uint64_t offset, uint64_t size)
{
	part->lost = arena_alloc(&d->scratch, size + 1);
	memcpy(part->lost, v->lost + offset, size);
	part->holes = arena_alloc(&d->scratch, size + 1);
	memcpy(part->holes, v->holes + offset, size);
	part->lost[size] = size ? 0 : v->lost[0];
	for (const struct synthetic *s = v->synthetic; s; s = s->next) {
		struct synthetic *own;

		if (s->at < offset || s->at - offset >= size)
			continue;
		own = arena_alloc(&d->scratch, sizeof *own);
		*own = *s;
		own->at -= offset;
		own->next = part->synthetic;
		part->synthetic = own;
	}
}

/* A part of a value that is somewhere is there too, and is read alone. */
struct value *
value_part(struct debug *d, struct value *v, struct type *t, uint64_t offset)
{
	const uint64_t size = type_size(d, t);
	struct value *part;

	if (!v->bytes && v->place == VALUE_MEMORY)
		return value_at(d, t, v->addr + offset);
	if (offset > v->size || size > v->size - offset) {
		if (v->place == VALUE_MEMORY)	/* a flexible array */
			return value_at(d, t, v->addr + offset);
		(void)fail(FAIL_UNSUITABLE, "a part outside of its whole");
		return NULL;
	}
	part = value_new(d, t);
	if (!part)
		return NULL;
	memcpy(part->bytes, v->bytes + offset, size);
	part->place = v->place;
	part->addr = v->addr + offset;
	part->reg = v->reg;
	part->regs = v->regs;
	part->slot = v->slot;
	if (v->place == VALUE_PARTS || v->place == VALUE_REGISTER)
		part->place = VALUE_TEMPORARY;
	if (v->lost)
		part_lost(d, v, part, offset, size);
	return part;
}

static void
lose_bits(struct debug *d, const struct value *v, struct value *out,
	  uint64_t byte)
{
	out->lost = arena_alloc(&d->scratch, out->size + 1);
	out->holes = arena_alloc(&d->scratch, out->size + 1);
	memset(out->lost, v->lost[byte] ? v->lost[byte] : LOST_OPTIMIZED,
	       out->size + 1);
	memset(out->holes, 0xff, out->size + 1);
}

static struct value *
bit_member(struct debug *d, struct value *v, const struct field *f)
{
	const uint64_t size = type_size(d, f->type);
	const uint64_t first = f->offset / 8;
	const uint64_t last = (f->offset + f->bits + 7) / 8;
	unsigned char *raw = arena_alloc(&d->scratch, 64);
	struct value *out = value_new(d, f->type);
	struct type *t;

	if (!out)
		return NULL;
	if (f->bits > 64 || last - first > 16 || size == 0 ||
	    (v->bytes && last > v->size)) {
		(void)fail(FAIL_UNSUITABLE, f->bits > 64 ?
			   "a bit-field of more than 64 bits" :
			   "a bit-field outside of its struct");
		return NULL;
	}
	t = type_strip(d, f->type);
	if (t->kind == TYPE_ENUM)
		type_fill(d, t);
	if (v->bytes) {
		memcpy(raw, v->bytes + first, last - first);
		if (v->lost && bits_get(v->holes, f->offset, f->bits))
			lose_bits(d, v, out, last - 1);
	} else if (debug_read(d, v->addr + first, raw, last - first) < 0) {
		return NULL;
	}

	uint64_t bits = bits_get(raw, f->offset % 8, f->bits);
	const unsigned spare = 64 - f->bits;

	if (t->is_signed && spare)
		bits = (uint64_t)((int64_t)(bits << spare) >> spare);
	memcpy(out->bytes, &bits, size < 8 ? size : 8);
	out->place = v->place == VALUE_MEMORY ? VALUE_MEMORY : VALUE_TEMPORARY;
	out->addr = v->addr + first;
	out->bit_offset = (unsigned)(f->offset % 8);
	out->bits = f->bits;
	return out;
}

/* Where a virtual base lies, the object itself knows. */
static struct value *
dynamic_member(struct debug *d, struct value *v, const struct field *f)
{
	struct context c = {
		.d = d, .object = type_strip(d, v->type)->object,
		.address = &v->addr,
		.has_initial = true, .initial = v->addr,
	};
	Dwarf_Die die = f->die;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t at;

	if (v->place != VALUE_MEMORY || !c.object ||
	    !dwarf_attr(&die, DW_AT_data_member_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0) {
		(void)fail(FAIL_UNSUITABLE, "a base whose place is not known");
		return NULL;
	}
	return number_of_ops(&c, &attr, ops, n, &at) < 0 ? NULL :
		value_at(d, f->type, at);
}

struct value *
value_member(struct debug *d, struct value *v, const struct field *f)
{
	Dwarf_Die die = f->die;

	if (f->is_static)
		return variable_value(d, type_strip(d, v->type)->object, NULL,
				      &die);
	if (f->dynamic)
		return dynamic_member(d, v, f);
	if (f->bits)
		return bit_member(d, v, f);
	return value_part(d, v, type_is_scalar(f->type) ? f->type :
			  type_resolved(d, f->type, frame_now(d), &v->addr),
			  f->offset / 8);
}

struct value *
value_element(struct debug *d, struct value *v, int64_t index)
{
	struct type *array = type_strip(d, v->type);
	struct type *t = type_target(d, array);
	const uint64_t size = type_size(d, t);
	const uint64_t nth = (uint64_t)index - (uint64_t)array->low;
	const uint64_t offset = nth * size;

	if (v->place == VALUE_MEMORY)
		return v->bytes && index >= array->low &&
		       nth < array->count ?
			value_part(d, v, t, offset) :
			value_at(d, t, v->addr + offset);
	if (index < array->low || nth >= array->count) {
		(void)fail(FAIL_USAGE, "no such vector element");
		return NULL;
	}
	return value_part(d, v, t, offset);
}

static struct value *
behind_synthetic(struct debug *d, struct value *v)
{
	const struct synthetic *s = value_synthetic(v);
	struct type *t = type_target(d, type_strip(d, v->type));
	const struct frame *f = frame_selected(d);
	struct value *whole;
	Dwarf_Die die = s->die;

	if (d->nested > CHAIN_MAX || s->offset < 0) {
		(void)fail(FAIL_UNSUITABLE, "what it points to is not known");
		return NULL;
	}
	d->nested++;
	whole = variable_value(d, s->object, f, &die);
	d->nested--;
	return whole ? value_part(d, whole, t, (uint64_t)s->offset) : NULL;
}

struct value *
value_deref(struct debug *d, struct value *v)
{
	struct type *t = type_strip(d, v->type), *target;
	uint64_t addr;

	if (t->kind == TYPE_FUNCTION)
		return v;
	if (t->kind == TYPE_ARRAY)
		return value_element(d, v, t->low);
	if (t->kind == TYPE_INT || t->kind == TYPE_CHAR)	/* as gdb */
		return value_number(d, v, &addr) < 0 ? NULL :
			value_at(d, type_basic(d, "int"), addr);
	if (t->kind != TYPE_POINTER) {
		(void)fail(FAIL_USAGE, t->kind == TYPE_STRUCT ||
			   t->kind == TYPE_UNION ?
			   "Structure has no component named operator*." :
			   "Attempt to take contents of a non-pointer "
			   "value.");
		return NULL;
	}
	if (value_fetch(d, v) < 0)
		return NULL;
	if (value_synthetic(v))
		return behind_synthetic(d, v);
	if (value_number(d, v, &addr) < 0)
		return NULL;
	target = type_target(d, t);
	if (type_strip(d, target)->kind == TYPE_VOID) {
		(void)fail(FAIL_USAGE, "Attempt to dereference a generic "
			   "pointer.");
		return NULL;
	}
	return value_at(d, type_resolved(d, target, frame_now(d), &addr),
			addr);
}

struct value *
value_unref(struct debug *d, struct value *v)
{
	struct type *t = type_strip(d, v->type);
	uint64_t addr;

	if (t->kind != TYPE_REFERENCE && t->kind != TYPE_RVALUE_REFERENCE)
		return v;
	if (value_fetch(d, v) < 0)
		return NULL;
	if (value_synthetic(v))
		return behind_synthetic(d, v);
	if (value_need(d, v) < 0)
		return NULL;
	addr = bits_get(v->bytes, 0, 64);
	return value_at(d, type_target(d, t), addr);
}

struct value *
value_address(struct debug *d, struct value *v)
{
	struct type *t = type_strip(d, v->type);
	struct value *out;

	if (t->kind == TYPE_REFERENCE || t->kind == TYPE_RVALUE_REFERENCE) {
		v = value_unref(d, v);
		if (!v)
			return NULL;
	}
	if (v->bits) {
		(void)fail(FAIL_USAGE, "Attempt to take address of value not "
			   "located in memory.");
		return NULL;
	}
	if (v->place == VALUE_REGISTER) {
		(void)fail(FAIL_USAGE, "Attempt to take address of value not "
			   "located in memory.");
		return NULL;
	}
	if (v->place != VALUE_MEMORY) {
		(void)fail(FAIL_USAGE, value_all_lost(v) ?
			   "value has been optimized out" :
			   "Attempt to take address of value not located in "
			   "memory.");
		return NULL;
	}
	out = value_int(d, type_pointer_to(d, v->type), v->addr);
	if (out)
		out->text = v->text;
	return out;
}

/* Arrays are pointers to their first elements in arithmetic. */
struct value *
value_decay(struct debug *d, struct value *v)
{
	struct type *t = type_strip(d, v->type);

	if (t->kind == TYPE_FUNCTION && v->place == VALUE_MEMORY)
		return value_int(d, type_pointer_to(d, v->type), v->addr);
	if (t->kind != TYPE_ARRAY)
		return v;
	if (v->place != VALUE_MEMORY) {
		(void)fail(FAIL_USAGE, "Attempt to take address of value not "
			   "located in memory.");
		return NULL;
	}
	return value_int(d, type_pointer_to(d, type_target(d, t)), v->addr);
}
