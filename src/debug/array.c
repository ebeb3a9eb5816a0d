/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types of arrays: one for each dimension, with bounds where they are
 * constant.
 */
#include "private.h"

static bool
is_bound(Dwarf_Die *child)
{
	return dwarf_tag(child) == DW_TAG_subrange_type ||
	       dwarf_tag(child) == DW_TAG_enumeration_type;
}

/* The n-th dimension's entry. */
static bool
dimension(Dwarf_Die *array, int n, Dwarf_Die *out)
{
	if (dwarf_child(array, out) != 0)
		return false;
	do {
		if (is_bound(out) && n-- == 0)
			return true;
	} while (dwarf_siblingof(out, out) == 0);
	return false;
}

static bool
is_constant(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;
	Dwarf_Die other;

	return dwarf_attr_integrate(die, name, &attr) &&
	       dwarf_formblock(&attr, &block) != 0 &&
	       !dwarf_formref_die(&attr, &other);
}

/* Where arrays of the language begin when it is not said. */
static int64_t
usual_low(Dwarf_Die *die)
{
	Dwarf_Sword low;
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) &&
	       dwarf_default_lower_bound(dwarf_srclang(&unit), &low) == 0 ?
		low : 0;
}

static void
set_bounds(struct type *t, Dwarf_Die *range)
{
	int64_t high;
	uint64_t count;

	t->low = usual_low(range);
	(void)attr_signed(range, DW_AT_lower_bound, &t->low);
	if (is_constant(range, DW_AT_count) &&
	    attr_unsigned(range, DW_AT_count, &count)) {
		t->count = count;
		t->count_known = true;
	} else if (is_constant(range, DW_AT_upper_bound) &&
		   attr_signed(range, DW_AT_upper_bound, &high)) {
		t->count = high < t->low ? 0 :
			(uint64_t)high - (uint64_t)t->low + 1;
		t->count_known = true;
	} else if (dwarf_hasattr(range, DW_AT_upper_bound) ||
		   dwarf_hasattr(range, DW_AT_count)) {
		t->is_variable = true;
	}
}

enum { DIMENSIONS_MAX = 16 };

static bool
is_fortran(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_Fortran77: case DW_LANG_Fortran90:
	case DW_LANG_Fortran95: case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
		return true;
	default:
		return false;
	}
}

/* Elements that lie apart, behind a descriptor, or column by column, as Fortran
 * and Ada have them. */
static bool
is_strange(Dwarf_Die *array)
{
	Dwarf_Die range;

	if (dwarf_hasattr(array, DW_AT_bit_stride) ||
	    dwarf_hasattr(array, DW_AT_byte_stride) ||
	    dwarf_hasattr(array, DW_AT_data_location) ||
	    dwarf_hasattr(array, DW_AT_ordering) ||
	    (is_fortran(array) && dimension(array, 1, &range)))
		return true;
	for (int i = 0; i < DIMENSIONS_MAX && dimension(array, i, &range); i++)
		if (dwarf_hasattr(&range, DW_AT_bit_stride) ||
		    dwarf_hasattr(&range, DW_AT_byte_stride))
			return true;
	return false;
}

/* One type for each dimension, the outer ones around the inner ones. */
struct type *
type_array_of_die(struct debug *d, struct object *o, Dwarf_Die *die)
{
	struct type *outer = NULL, *inner = NULL;
	Dwarf_Die range;

	if (is_strange(die))
		return type_new(d, TYPE_ERROR, "an array of another language",
				0, false);

	for (int i = 0; i < DIMENSIONS_MAX; i++) {
		struct type *t;

		if (!dimension(die, i, &range) && i > 0)
			break;
		t = type_new(d, TYPE_ARRAY, NULL, 0, false);
		t->object = o;
		t->die = *die;
		t->value_len = (size_t)i;	/* which dimension */
		if (dimension(die, i, &range))
			set_bounds(t, &range);
		t->is_vector = attr_flag(die, DW_AT_GNU_vector);
		if (inner)
			inner->target = t;
		else
			outer = t;
		inner = t;
	}
	inner->target_known = false;
	inner->has_die = true;
	for (struct type *t = outer; t != inner; t = t->target)
		t->is_variable |= inner->is_variable;
	return outer;
}
