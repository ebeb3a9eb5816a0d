/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers as values and as a list. Those that a frame did not save are not
 * known further out, and that is said.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

static struct type *
register_type(struct debug *d, const struct machine_reg *r)
{
	switch (r->type) {
	case REG_CODE:
		type_basic(d, "code_ptr")->is_prototyped = frame_is_cxx(d);
		return type_pointer_to(d, type_basic(d, "code_ptr"));
	case REG_DATA:
		return type_pointer_to(d, type_basic(d, "void"));
	case REG_FLAGS:
		return type_basic(d, machine.flags ? "i386_eflags" : "int");
	case REG_INT32:
		return type_basic(d, "int");
	case REG_X87:
		return type_basic(d, "i387_ext");
	case REG_VECTOR:
	case REG_WIDE:
		return machine.from_highs ? vector_type(d, r) :
			type_array_of(d, type_basic(d, "uint8_t"), 16);
	default:
		return type_basic(d, "long");
	}
}

static bool
is_known(struct debug *d, const struct physical *p,
	 const struct machine_reg *r)
{
	if (r->dwarf >= 0 && r->dwarf < arch.reg_count)
		return p->reg[r->dwarf].known != REG_LOST;
	return debug_regs_load(d) == 0 &&
	       (!r->extra || d->regs.extra_known) &&
	       (!r->vector || (p->innermost && vector_is_known(d, r)));
}

static void
register_raw(struct debug *d, const struct physical *p,
	     const struct machine_reg *r, unsigned char *out)
{
	if (r->dwarf >= 0 && r->dwarf < arch.reg_count)
		memcpy(out, &p->reg[r->dwarf].value, 8);
	else if (r->type == REG_WIDE)
		(void)vector_bytes(d, r, out, r->size);
	else
		memcpy(out, (const char *)&d->regs + r->offset, r->size);
}

static struct value *
whole_register(struct debug *d, const struct machine_reg *r)
{
	const struct frame *f = frame_selected(d);
	struct value *v;

	if (!f) {
		(void)fail(FAIL_MISSING, "No registers.");
		return NULL;
	}
	if (!is_known(d, f->at, r)) {
		(void)fail(FAIL_MISSING, "value of register $%s was not saved "
			   "in this frame", r->name);
		return NULL;
	}
	v = value_new(d, register_type(d, r));
	if (!v)
		return NULL;
	register_raw(d, f->at, r, v->bytes);
	v->place = VALUE_REGISTER;
	v->reg = r->dwarf;
	v->regs = f->at;
	return v;
}

/* A part is read only: what becomes of the rest is not for us to say. */
static struct value *
part_of_register(struct debug *d, const struct machine_reg *r, size_t at,
		 size_t size)
{
	struct value *whole = whole_register(d, r), *v;

	if (!whole)
		return NULL;
	v = value_new(d, type_basic(d, size == 4 ? "int32_t" : size == 2 ?
				    "int16_t" : "int8_t"));
	if (v)
		memcpy(v->bytes, whole->bytes + at, size);
	return v;
}

bool
register_is(const char *name)
{
	size_t at, size;

	return machine_named(name) || machine.part(name, &at, &size);
}

struct value *
register_value(struct debug *d, const char *name)
{
	const struct machine_reg *r = machine_named(name);
	size_t at, size;

	if (r)
		return whole_register(d, r);
	r = machine.part(name, &at, &size);
	return r ? part_of_register(d, r, at, size) : NULL;
}

static void
add_raw80(struct str *out, const unsigned char *raw)
{
	str_add(out, " (raw 0x");
	for (int i = 9; i >= 0; i--)
		str_addf(out, "%02x", raw[i]);
	str_add(out, ")");
}

static void
add_register(struct debug *d, const struct physical *p,
	     const struct machine_reg *r, struct str *out)
{
	struct printing print = { .d = d, .out = out };
	unsigned char raw[16] = {0};
	uint64_t word = 0;

	str_addf(out, "%-15s", r->name);
	if (!is_known(d, p, r)) {
		str_add(out, "<not saved>\n");
		return;
	}
	register_raw(d, p, r, raw);
	memcpy(&word, raw, r->size < 8 ? r->size : 8);
	if (r->type == REG_VECTOR) {
		str_add(out, "0x");
		for (int i = 15; i >= 0; i--)
			str_addf(out, "%02x", raw[i]);
	} else if (r->type == REG_X87) {
		struct str number = {0};

		print.out = &number;
		print_float(&print, type_basic(d, "i387_ext"), raw, 10);
		str_addf(out, "%-19s", str_text(&number));
		str_fini(&number);
		add_raw80(out, raw);
	} else {
		char hex[24];

		snprintf(hex, sizeof hex, "0x%" PRIx64, word);
		str_addf(out, "%-20s", hex);
		if (r->type == REG_FLAGS && machine.flags)
			print_flags(out, word);
		else if (r->type == REG_CODE || r->type == REG_DATA)
			str_addf(out, "0x%" PRIx64, word);
		else
			str_addf(out, "%" PRId64, r->size == 4 ?
				 (int64_t)(int32_t)word : (int64_t)word);
		if (r->type == REG_CODE)
			(void)print_symbol(d, word, out);
	}
	str_add(out, "\n");
}

int
debug_registers(struct debug *d, enum debug_reg_set set, struct str *out)
{
	const struct frame *f;

	debug_begin(d);
	f = frame_selected(d);
	if (!f)
		return -1;
	for (size_t i = 0; i < machine.reg_len; i++) {
		const struct machine_reg *r = &machine.regs[i];

		if (r->set != 'w' && (set == DEBUG_ALL || (r->set == 'g') ==
				      (set == DEBUG_GENERAL)))
			add_register(d, f->at, r, out);
	}
	return 0;
}
