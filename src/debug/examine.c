/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory from an address on, as gdb's x lays it out: lines of 16 bytes (8 of
 * single ones), each with its address and the symbol around it.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

enum { COUNT_MAX = 65536 };

void
debug_examined(struct debug *d, uint64_t addr, struct str *out)
{
	str_addf(out, "0x%" PRIx64, addr);
	(void)print_symbol(d, addr, out);
	str_add(out, ":\t");
}

static unsigned
per_line(unsigned size, char format)
{
	if (format == 'c' || size == 1)
		return 8;
	if (format == 'a')
		return 2;
	if (format == 't' && size > 1)
		return size == 8 ? 1 : size == 4 ? 2 : 4;
	return size == 8 ? 2 : size == 4 ? 4 : 8;
}

struct listing {
	struct debug *d;
	struct object *object;
	struct str *out;
	size_t left;
	uint64_t end;
};

/* What an operand names is where the object was loaded. */
static void
add_text(struct listing *l, const struct symfile_insn *ins)
{
	char needle[24];
	const char *at = NULL;

	snprintf(needle, sizeof needle, "0x%" PRIx64, ins->target);
	if (ins->target)
		at = strstr(ins->text, needle);
	if (!at) {
		str_addf(l->out, "%s\n", ins->text);
		return;
	}
	str_addf(l->out, "%.*s0x%" PRIx64, (int)(at - ins->text), ins->text,
		 ins->target + l->object->bias);
	/* names of stubs are the symbol room's */
	if (!print_symbol(l->d, ins->target + l->object->bias, l->out) &&
	    strstr(at, "@plt"))
		str_add(l->out, at + strlen(needle));
	str_add(l->out, "\n");
}

static bool
add_instruction(void *arg, const struct symfile_insn *ins)
{
	struct listing *l = arg;
	const uint64_t addr = ins->vaddr + l->object->bias;

	const struct frame *f = frame_selected(l->d);

	str_add(l->out, f && f->at->pc == addr ? "=> " : "   ");
	debug_examined(l->d, addr, l->out);
	add_text(l, ins);
	l->end = addr + ins->length;
	return --l->left > 0;
}

/* As far as it is known to be code: its function, or what lies between two. */
static uint64_t
end_of_code(struct object *o, uint64_t vaddr)
{
	struct symbol sym;

	return (symfile_find(o->symbols, vaddr, &sym) && sym.size) ||
		symfile_gap(o->symbols, vaddr, &sym) ?
		sym.start + sym.size : vaddr;
}

static int
instructions(struct debug *d, uint64_t addr, size_t count, struct str *out,
	     uint64_t *next)
{
	struct object *o = object_at(d, addr);
	struct listing l = { .d = d, .object = o, .out = out, .left = count,
			     .end = addr };

	for (uint64_t at = 0; o && l.left && at != l.end;) {
		at = l.end;
		(void)symfile_instructions(o->symbols, at - o->bias,
					   end_of_code(o, at - o->bias),
					   NAME_LONG, add_instruction, &l);
	}
	if (l.end == addr)
		return fail(FAIL_MISSING, "Cannot access memory at address 0x%"
			    PRIx64, addr);
	*next = l.end;
	return 0;
}

static int
strings(struct debug *d, uint64_t addr, size_t count, struct str *out,
	uint64_t *next)
{
	for (size_t i = 0; i < count; i++) {
		struct printing p = { .d = d, .out = out };
		unsigned char c = 1;
		size_t n = 0;

		debug_examined(d, addr, out);
		print_string_at(&p, addr, 1, 'c');
		str_add(out, "\n");
		while (n < ELEMENTS_MAX && c) {
			if (debug_read(d, addr + n, &c, 1) < 0)
				return -1;
			n++;
		}
		addr += n;
	}
	*next = addr;
	return 0;
}

static struct type *
unit_type(struct debug *d, char format, unsigned size)
{
	if (format == 'f')
		return type_basic(d, size == 4 ? "float" : size == 8 ?
				  "double" : "short");
	if (format == 'c')
		return type_basic(d, "char");
	return type_basic(d, size == 1 ? "signed char" : size == 2 ? "short" :
			  size == 4 ? "int" : "long");
}

static void
add_unit(struct printing *p, char format, unsigned size,
	 const unsigned char *raw)
{
	uint64_t word = 0;

	memcpy(&word, raw, size);
	if (format == 'x')	/* filled with zeros to the unit */
		str_addf(p->out, "0x%0*" PRIx64, (int)size * 2, word);
	else if (format == 't')
		for (int bit = (int)size * 8 - 1; bit >= 0; bit--)
			str_add(p->out, word >> bit & 1 ? "1" : "0");
	else
		print_number(p, unit_type(p->d, format, size), raw, format,
			     size);
}

int
debug_examine(struct debug *d, uint64_t addr, size_t count, char format,
	      unsigned size, struct str *out, uint64_t *next)
{
	struct printing p = { .d = d, .out = out };
	unsigned char raw[8];

	debug_begin(d);
	if (count == 0 || count > COUNT_MAX)
		return fail(FAIL_USAGE, "from 1 to %d can be shown",
			    COUNT_MAX);
	if (format == 'i')
		return instructions(d, addr, count, out, next);
	if (format == 's')
		return strings(d, addr, count, out, next);
	if (size == 0)
		size = format == 'a' || format == 'f' ? 8 : format == 'c' ?
			1 : 4;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return fail(FAIL_USAGE, "units are of 1, 2, 4 or 8 bytes");
	for (size_t i = 0; i < count; i++, addr += size) {
		const bool first = i % per_line(size, format) == 0;

		if (debug_read(d, addr, raw, size) < 0) {
			str_add(out, i ? "\n" : "");
			return -1;
		}
		if (first && i)
			str_add(out, "\n");
		if (first)
			debug_examined(d, addr, out);
		else
			str_add(out, "\t");
		add_unit(&p, format, size, raw);
	}
	str_add(out, "\n");
	*next = addr;
	return 0;
}
