/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can a function be reached again by tail calls that it makes itself? Then the
 * caller's frame does not tell what it was given the last time. A tail call
 * through a pointer may go anywhere.
 */
#include "private.h"

enum { FUNCTIONS_MAX = 64 };

struct tails {
	struct debug *d;
	const void *self;
	const void *seen[FUNCTIONS_MAX];
	size_t len;
};

static bool function_returns(struct tails *t, Dwarf_Die *function);

/* The definition of what a call goes to; false: none is known, and so no more
 * of its calls are. */
static bool
definition_of(struct debug *d, Dwarf_Die *origin, Dwarf_Die *out)
{
	const char *name;
	struct entry *e;
	uint64_t entry;

	*out = *origin;
	if (die_entry(origin, &entry))
		return true;
	name = die_full_name(d, origin);
	e = name ? index_find(d, name, WANT_VALUE, NULL) : NULL;
	if (!e || dwarf_tag(&e->die) != DW_TAG_subprogram ||
	    !die_entry(&e->die, &entry))
		return false;
	*out = e->die;
	return true;
}

static bool
call_returns(struct tails *t, Dwarf_Die *site)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin, function;

	if (!attr_flag(site, DW_AT_call_tail_call) &&
	    !attr_flag(site, DW_AT_GNU_tail_call))
		return false;
	if ((!dwarf_attr(site, DW_AT_call_origin, &attr) &&
	     !dwarf_attr(site, DW_AT_abstract_origin, &attr)) ||
	    !dwarf_formref_die(&attr, &origin))
		return true;
	return definition_of(t->d, &origin, &function) &&
	       function_returns(t, &function);
}

static bool
scope_returns(struct tails *t, Dwarf_Die *scope, int depth)
{
	Dwarf_Die child;

	if (depth > CHAIN_MAX || dwarf_child(scope, &child) != 0)
		return false;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			if (call_returns(t, &child))
				return true;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			if (scope_returns(t, &child, depth + 1))
				return true;
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool
function_returns(struct tails *t, Dwarf_Die *function)
{
	if (function->addr == t->self)
		return true;
	for (size_t i = 0; i < t->len; i++)
		if (t->seen[i] == function->addr)
			return false;
	if (t->len == FUNCTIONS_MAX)
		return true;
	t->seen[t->len++] = function->addr;
	return scope_returns(t, function, 0);
}

bool
tail_calls_itself(struct debug *d, Dwarf_Die *function)
{
	struct tails t = { .d = d, .self = function->addr };

	return scope_returns(&t, function, 0);
}
