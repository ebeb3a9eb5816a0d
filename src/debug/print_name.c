/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of what addresses and member pointers mean. A function's is the one of
 * its debug information, which tells it from its aliases; of anything else, the
 * symbol's.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Demanglers put no blank before stars, and const behind what it qualifies. */
static void
add_as_demangled(struct str *out, const char *type)
{
	const bool is_const = str_starts(type, "const ");
	const char *end = strpbrk(type, "*&");

	for (const char *at = is_const ? type + 6 : type; ; at++) {
		const bool last = *at == '\0' || at == end ||
				  (at + 1 == end && *at == ' ');

		if (is_const && last) {
			str_add(out, " const");
			str_add(out, end ? end : "");
			return;
		}
		if (*at == '\0')
			return;
		if (*at != ' ' || (at[1] != '*' && at[1] != '&'))
			str_addn(out, at, 1);
	}
}

/* C++'s main has no linkage name, but is shown like the others. */
static void
add_types(struct debug *d, struct object *o, Dwarf_Die *function,
	  struct str *out)
{
	Dwarf_Die child;
	int n = 0;

	str_add(out, "(");
	if (dwarf_child(function, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_formal_parameter ||
			    attr_flag(&child, DW_AT_artificial))
				continue;
			str_add(out, n++ ? ", " : "");
			add_as_demangled(out, type_text(d, type_of_attr(d,
					 o, &child)));
		} while (n < 32 && dwarf_siblingof(&child, &child) == 0);
	str_add(out, ")");
}

/* The function around an address as debug information calls it. */
static bool
function_name(struct debug *d, struct object *o, uint64_t vaddr,
	      struct str *out, uint64_t *start)
{
	struct physical at = { .object = o };
	Dwarf_Attribute attr;
	const char *linkage;
	char *shown;

	scopes_at(d, o, vaddr, &at);
	for (size_t i = 0; i < at.scope_len; i++) {
		Dwarf_Die *die = &at.scopes[i];

		if (dwarf_tag(die) != DW_TAG_subprogram)
			continue;
		if (!die_entry(die, start) || *start > vaddr || !die_name(die))
			return false;
		linkage = dwarf_attr_integrate(die, DW_AT_linkage_name,
					       &attr) ?
			dwarf_formstring(&attr) : NULL;
		shown = name_display(linkage ? linkage : die_name(die),
				     NAME_LONG);
		str_add(out, shown);
		free(shown);
		if (!linkage && die_is_cxx(die))
			add_types(d, o, die, out);
		return true;
	}
	return false;
}

static bool
add_function(struct debug *d, struct object *o, uint64_t addr,
	     struct str *out)
{
	struct str name = {0};
	uint64_t start;
	bool known = function_name(d, o, addr - o->bias, &name, &start);
	struct symbol sym;

	/* a part of it elsewhere has a name of its own */
	if (known && symfile_find(o->symbols, addr - o->bias, &sym) &&
	    sym.start > start)
		known = false;

	if (known && addr - o->bias == start)
		str_addf(out, " <%s>", str_text(&name));
	else if (known)
		str_addf(out, " <%s+%" PRIu64 ">", str_text(&name),
			 addr - o->bias - start);
	str_fini(&name);
	return known;
}

static bool
find_symbol(struct debug *d, uint64_t addr, struct str *out)
{
	struct object *o = object_at(d, addr);
	struct symbol sym;
	char *name;

	if (o && add_function(d, o, addr, out))
		return true;

	if (!o)
		return false;
	if (!(symfile_find(o->symbols, addr - o->bias, &sym) &&
	      !sym.is_static && !sym.is_plt &&
	      (sym.size == 0 || addr - o->bias - sym.start < sym.size)) &&
	    !symfile_data(o->symbols, addr - o->bias, &sym))
		return false;
	name = name_display(sym.name, NAME_LONG);
	if (addr - o->bias == sym.start)
		str_addf(out, " <%s>", name);
	else
		str_addf(out, " <%s+%" PRIu64 ">", name,
			 addr - o->bias - sym.start);
	free(name);
	return true;
}

/* A table of pointers asks for the same ones again and again. */
bool
print_symbol(struct debug *d, uint64_t addr, struct str *out)
{
	struct str text = {0};
	uint64_t known;

	if (!map_get(&d->shown, addr, &known)) {
		(void)find_symbol(d, addr, &text);
		known = (uintptr_t)arena_text(&d->stack, str_text(&text));
		map_put(&d->shown, addr, known);
		str_fini(&text);
	}
	str_add(out, (const char *)(uintptr_t)known);
	return *(const char *)(uintptr_t)known != '\0';
}

/* The n-th entry of a class's table of virtual functions. */
static bool
virtual_name(struct printing *p, struct type *t, uint64_t n)
{
	Dwarf_Die child;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t len;
	const char *linkage;
	char *shown;

	if (!t->has_die || dwarf_child(&t->die, &child) != 0)
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_subprogram ||
		    !dwarf_attr(&child, DW_AT_vtable_elem_location, &attr) ||
		    dwarf_getlocation(&attr, &ops, &len) != 0 || len != 1 ||
		    ops[0].number != n)
			continue;
		linkage = dwarf_attr(&child, DW_AT_linkage_name, &attr) ?
			dwarf_formstring(&attr) : NULL;
		shown = name_display(linkage ? linkage : die_name(&child),
				     NAME_LONG);
		str_addf(p->out, "&virtual %s", shown);
		free(shown);
		return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* In a class, or in the base that lies there: a byte of it, or a method for
 * which it is `this`. */
static bool
member_name(struct printing *p, struct type *t, uint64_t offset,
	    const uint64_t *slot, int depth)
{
	struct type *in = type_strip(p->d, t);

	if (depth > NEST_MAX || p->d->work++ > WORK_MAX)
		return false;
	if (slot && !offset && virtual_name(p, in, *slot))
		return true;
	type_fill(p->d, in);
	for (size_t i = 0; i < in->field_len; i++) {
		const struct field *f = &in->fields[i];
		const uint64_t at = f->offset / 8;

		if (f->is_static || f->is_virtual || offset < at)
			continue;
		if (f->is_base && offset < at + type_size(p->d, f->type) &&
		    member_name(p, f->type, offset - at, slot, depth + 1))
			return true;
		if (slot || f->is_base || !f->name || f->offset != offset * 8)
			continue;
		str_addf(p->out, "&%s::%s", in->name ? in->name : "", f->name);
		return true;
	}
	return false;
}

bool
print_data_member(struct printing *p, struct type *t, uint64_t offset)
{
	(void)type_target(p->d, t);
	return t->container && member_name(p, t->container, offset, NULL, 0);
}

/* Itanium C++ ABI 2.3: odd is 1 and the place in the table of virtual ones. */
bool
print_virtual_member(struct printing *p, struct type *t, uint64_t word,
		     uint64_t adjustment)
{
	const uint64_t slot = (word - 1) / 8;

	(void)type_target(p->d, t);
	if (!(word & 1))
		return false;
	if (!t->container ||
	    !member_name(p, t->container, adjustment, &slot, 0))
		str_addf(p->out, "&virtual table offset %" PRIu64, word - 1);
	return true;
}
