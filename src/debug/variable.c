/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A variable's value: from where its entry says it is at this place of the
 * program, all of it or in pieces. What the compiler kept nowhere is said.
 */
#include "private.h"

#include <string.h>

/* A block or a string of bytes as the value itself. */
static struct value *
constant_value(struct debug *d, struct type *t, Dwarf_Attribute *attr)
{
	struct value *v = value_new(d, t);
	Dwarf_Block block;
	int64_t number;
	const char *text;

	if (!v)
		return NULL;
	if (dwarf_formblock(attr, &block) == 0) {
		memcpy(v->bytes, block.data,
		       block.length < v->size ? block.length : v->size);
	} else if ((text = dwarf_formstring(attr)) != NULL) {
		const size_t n = strlen(text) + 1;

		memcpy(v->bytes, text, n < v->size ? n : v->size);
	} else if (form_number(attr, &number)) {
		struct value *n = value_int(d, t, (uint64_t)number);

		if (!type_is_integral(type_strip(d, t)))
			memcpy(v->bytes, &number,
			       v->size < 8 ? v->size : 8);
		else
			return n;
	}
	return v;
}

/* Bits of it; a byte counts as lost when some of its bits are. */
static void
lose(struct debug *d, struct value *v, uint64_t from, uint64_t to,
     unsigned char how)
{
	if (!v->lost) {
		v->lost = arena_alloc(&d->scratch, v->size + 1);
		v->holes = arena_alloc(&d->scratch, v->size + 1);
	}
	if (to > v->size * 8)
		to = v->size * 8;
	for (uint64_t i = from; i < to; i++) {
		v->lost[i / 8] = how;
		v->holes[i / 8] |= (unsigned char)(1u << i % 8);
	}
}

static void
add_synthetic(struct debug *d, struct object *o, struct value *v,
	      const struct place *p, uint64_t at)
{
	struct synthetic *s = arena_alloc(&d->scratch, sizeof *s);

	*s = (struct synthetic){ p->die, p->offset, o, at, v->synthetic };
	v->synthetic = s;
}

/* What is left of a register's bits behind it is not known. */
static void
lose_behind(struct debug *d, struct value *v, const struct place *p,
	    uint64_t got, uint64_t at, uint64_t bits)
{
	const uint64_t known = got * 8 > p->bit_offset ?
		got * 8 - p->bit_offset : 0;

	if (known < bits)
		lose(d, v, at + known, at + bits, LOST_UNAVAILABLE);
}

/* Copy a piece's bits; what it names may be in memory, a register, nowhere. */
static int
add_piece(struct debug *d, struct object *o, const struct physical *regs,
	  struct value *v, const struct place *p, uint64_t at, uint64_t bits)
{
	const uint64_t bytes = (p->bit_offset + bits + 7) / 8;
	const uint64_t end = at + bits;
	unsigned char *raw;
	ssize_t got;

	if (bytes > VALUE_MAX + PIECE_OFFSET_MAX)
		return fail(FAIL_UNSUITABLE, "a variable in too many pieces");
	raw = arena_alloc(&d->scratch, bytes + 16);
	switch (p->kind) {
	case PLACE_MEMORY:
		if (debug_read(d, p->value, raw, bytes) < 0)
			return -1;
		break;
	case PLACE_REGISTER:
		got = register_bytes(d, regs, p->reg, raw, bytes);
		if (got < 0) {
			lose(d, v, at, end, LOST_OPTIMIZED);
			return 0;
		}
		lose_behind(d, v, p, (uint64_t)got, at, bits);
		break;
	case PLACE_VALUE:
		memcpy(raw, &p->value, 8);
		break;
	case PLACE_BYTES:
		memcpy(raw, p->bytes, p->len < bytes ? p->len : bytes);
		break;
	case PLACE_POINTER:
		lose(d, v, at, end, LOST_SYNTHETIC);
		add_synthetic(d, o, v, p, at / 8);
		return 0;
	case PLACE_NONE:
		lose(d, v, at, end, LOST_OPTIMIZED);
		return 0;
	}
	for (uint64_t i = 0; i < bits; i += 8) {
		const unsigned n = bits - i < 8 ? (unsigned)(bits - i) : 8;

		bits_put(v->bytes, at + i, n,
			 bits_get(raw, p->bit_offset + i, n));
	}
	return 0;
}

struct value *
value_of_places(struct debug *d, struct object *o, const struct physical *regs,
		struct type *t, struct places *places)
{
	struct value *v;
	uint64_t at = 0;

	if (places->len == 1 && places->items[0].bits == 0 &&
	    places->items[0].kind == PLACE_MEMORY)
		return value_at(d, t, places->items[0].value);
	v = value_new(d, t);
	if (!v)
		return NULL;
	v->place = VALUE_PARTS;
	v->parts = *places;
	v->regs = regs;
	if (places->len == 1 && places->items[0].bits == 0 &&
	    places->items[0].kind == PLACE_REGISTER) {
		v->place = VALUE_REGISTER;
		v->reg = places->items[0].reg;
	}
	for (size_t i = 0; i < places->len && at < v->size * 8; i++) {
		const struct place *p = &places->items[i];
		uint64_t bits = p->bits ? p->bits : v->size * 8;

		if (bits > v->size * 8 - at)
			bits = v->size * 8 - at;
		if (add_piece(d, o, regs, v, p, at, bits) < 0)
			return NULL;
		at += bits;
	}
	if (at < v->size * 8)
		lose(d, v, at, v->size * 8, LOST_OPTIMIZED);
	return v;
}

/* What is of C++ has no other name outside. */
static const char *
outer_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage =
		dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ?
		dwarf_formstring(&attr) : NULL;

	return linkage ? linkage : die_name(die);
}

/* What is declared here may be defined elsewhere. */
static struct value *
elsewhere(struct debug *d, struct object *o, Dwarf_Die *die, struct type *t)
{
	const char *name = die_full_name(d, die);
	struct entry *e;
	struct symbol sym;
	const char *linkage = outer_name(die);

	e = name ? index_find(d, name, WANT_VALUE, NULL) : NULL;
	if (e && !e->declaration && e->die.addr != die->addr &&
	    d->nested <= CHAIN_MAX) {
		struct value *v;

		d->nested++;
		v = variable_value(d, e->object, NULL, &e->die);
		d->nested--;
		return v;
	}
	for (size_t i = 0; linkage && i < d->objects.len; i++) {
		struct object *other = d->objects.items[i];

		if (other->here &&
		    symfile_data_named(other->symbols, linkage, &sym))
			return value_at(d, t, sym.start + other->bias);
	}
	(void)o;
	return value_lost(d, t);
}

bool
die_entry(Dwarf_Die *die, uint64_t *vaddr)
{
	Dwarf_Addr addr, base, end;

	/* in parts: it begins with the first one */
	if (dwarf_entrypc(die, &addr) != 0 &&
	    dwarf_ranges(die, 0, &base, &addr, &end) <= 0)
		return false;
	*vaddr = addr;
	return true;
}

static struct value *
function_value(struct debug *d, struct object *o, Dwarf_Die *die)
{
	struct type *t = type_of_die(d, o, die);
	const char *outer;
	struct symbol sym;
	struct value *v;
	uint64_t vaddr;

	if (die_entry(die, &vaddr)) {
		v = value_at(d, t, vaddr + o->bias);
		v->is_chooser = symfile_find(o->symbols, vaddr, &sym) &&
			sym.start == vaddr && is_chooser(&sym);
		v->is_assembly = die_is_assembly(die);
		v->text = arena_text(&d->scratch, die_name(die) ?
				     die_name(die) : "");
		return v;
	}
	outer = outer_name(die);
	for (size_t i = 0; outer && i < d->objects.len; i++) {
		struct object *other = d->objects.items[i];

		if (other->here && symfile_named(other->symbols, outer, 0,
						 &sym) && !sym.is_plt)
			return value_at(d, t, sym.start + other->bias);
	}
	return value_lost(d, t);
}

/* A range without extent tells of the function's very first instruction. */
static bool
at_entry(const struct frame *f, Dwarf_Attribute *attr, uint64_t pc,
	 Dwarf_Op **ops, size_t *n)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	uint64_t entry;

	if (!f || !f->at->exact || f->last >= f->at->scope_len ||
	    !die_entry(&f->at->scopes[f->last], &entry) || entry != pc)
		return false;
	for (int i = 0; i < MEMBERS_MAX &&
	     (at = dwarf_getlocations(attr, at, &base, &start, &end, ops,
				      n)) > 0; i++)
		if (start == pc && end == pc)
			return true;
	return false;
}

/* The location of the concrete entry; of the abstract one, if it says any. */
static struct value *
located(struct debug *d, struct object *o, const struct frame *frame,
	Dwarf_Die *die, struct type *t, Dwarf_Attribute *attr)
{
	struct context c = {
		.d = d, .object = o, .frame = frame,
		.regs = frame ? frame->at : NULL,
	};
	struct places places = {0};
	const uint64_t pc = c.regs ? frame_lookup_pc(c.regs) - o->bias : 0;
	Dwarf_Op *ops;
	size_t n;

	if ((dwarf_getlocation_addr(attr, pc, &ops, &n, 1) != 1 &&
	     !at_entry(frame, attr, pc, &ops, &n)) || n == 0) {
		if (dwarf_hasattr_integrate(die, DW_AT_declaration))
			return elsewhere(d, o, die, t);
		return value_lost(d, t);
	}
	if (places_of_ops(&c, attr, ops, n, &places) < 0) {
		if (strstr(fail_last()->reason, "optimized out")) {
			fail_clear();
			return value_lost(d, t);
		}
		return NULL;
	}
	return value_of_places(d, o, c.regs, t, &places);
}

struct value *
variable_value(struct debug *d, struct object *o, const struct frame *frame,
	       Dwarf_Die *die)
{
	struct object *own = object_of_die(d, die, o);
	Dwarf_Attribute attr;
	struct type *t;

	if (!own) {
		(void)fail(FAIL_MISSING, "no load object is known that has it");
		return NULL;
	}
	if (dwarf_tag(die) == DW_TAG_subprogram)
		return function_value(d, own, die);
	if (dwarf_tag(die) == DW_TAG_enumerator) {
		int64_t number = 0;

		(void)attr_signed(die, DW_AT_const_value, &number);
		return value_int(d, type_basic(d, "int"), (uint64_t)number);
	}
	t = type_of_attr(d, own, die);
	t = type_resolved(d, t, frame, NULL);
	if (dwarf_attr_integrate(die, DW_AT_const_value, &attr))
		return constant_value(d, t, &attr);
	if (dwarf_attr_integrate(die, DW_AT_location, &attr))
		return located(d, own, frame, die, t, &attr);
	if (attr_flag(die, DW_AT_declaration) || attr_flag(die,
							   DW_AT_external))
		return elsewhere(d, own, die, t);
	return value_lost(d, t);
}
