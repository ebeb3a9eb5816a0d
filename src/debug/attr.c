/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attributes of entries: constants, expressions, and references to variables
 * that hold the number.
 */
#include "private.h"

bool
attr_unsigned(Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attr) ||
	    dwarf_formudata(&attr, &word) != 0)
		return false;
	*out = word;
	return true;
}

/* Compilers write what is negative in a form that has a sign; the bytes of
 * other forms have none. */
bool
form_number(Dwarf_Attribute *attr, int64_t *out)
{
	Dwarf_Sword number;
	Dwarf_Word word;

	switch (dwarf_whatform(attr)) {
	case DW_FORM_data1: case DW_FORM_data2: case DW_FORM_data4:
	case DW_FORM_data8: case DW_FORM_udata:
		if (dwarf_formudata(attr, &word) != 0)
			return false;
		*out = (int64_t)word;
		return true;
	default:
		if (dwarf_formsdata(attr, &number) != 0)
			return false;
		*out = number;
		return true;
	}
}

bool
attr_signed(Dwarf_Die *die, unsigned name, int64_t *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) &&
	       form_number(&attr, out);
}

bool
attr_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	bool flag;

	return dwarf_attr_integrate(die, name, &attr) &&
	       dwarf_formflag(&attr, &flag) == 0 && flag;
}

static int
number_of_reference(struct context *c, Dwarf_Attribute *attr,
		    uint64_t *number)
{
	Dwarf_Die other;
	struct value *v;
	int status;

	/* a bound may be a variable with bounds that are this one */
	if (!dwarf_formref_die(attr, &other) || c->d->nested > CHAIN_MAX ||
	    c->d->work++ > WORK_MAX)
		return -1;
	c->d->nested++;
	v = variable_value(c->d, c->object, c->frame, &other);
	status = v ? value_number(c->d, v, number) : -1;
	c->d->nested--;
	return status;
}

int
number_of_attr(struct context *c, Dwarf_Die *die, unsigned name,
	       uint64_t *number)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	int64_t constant;
	const uint64_t pc = c->regs && c->object ?
		frame_lookup_pc(c->regs) - c->object->bias : 0;

	if (!dwarf_attr_integrate(die, name, &attr))
		return -1;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_ref1: case DW_FORM_ref2: case DW_FORM_ref4:
	case DW_FORM_ref8: case DW_FORM_ref_udata: case DW_FORM_ref_addr:
	case DW_FORM_GNU_ref_alt:
		return number_of_reference(c, &attr, number);
	case DW_FORM_exprloc: case DW_FORM_block1: case DW_FORM_block2:
	case DW_FORM_block4: case DW_FORM_block: case DW_FORM_sec_offset:
	case DW_FORM_loclistx:
		if (dwarf_getlocation_addr(&attr, pc, &ops, &n, 1) != 1)
			return -1;
		return number_of_ops(c, &attr, ops, n, number);
	case DW_FORM_data1: case DW_FORM_data2: case DW_FORM_data4:
	case DW_FORM_data8: case DW_FORM_udata:
		return attr_unsigned(die, name, number) ? 0 : -1;
	default:
		if (!attr_signed(die, name, &constant))
			return -1;
		*number = (uint64_t)constant;
		return 0;
	}
}
