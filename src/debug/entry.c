/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a register held when the function was entered. The function may have
 * overwritten it, but the caller's debug data can say what it passed there:
 * call sites list the registers of parameters and how to compute them from
 * what calls preserve.
 */
#include "private.h"

#include <string.h>

static const struct frame *
calling_frame(struct debug *d, const struct physical *p)
{
	for (size_t i = 0; i < FRAME_MAX; i++) {
		if (frame_make_all(d, i) < 0 || i >= d->frame_len)
			return NULL;
		if (i > 0 && d->frames[i - 1]->at == p &&
		    d->frames[i]->at != p)
			return d->frames[i];
	}
	return NULL;
}

static bool
is_site(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_call_site ||
	       dwarf_tag(die) == DW_TAG_GNU_call_site;
}

static bool
returns_to(Dwarf_Die *site, uint64_t vaddr)
{
	Dwarf_Attribute attr;
	Dwarf_Addr addr;

	if (!dwarf_attr(site, DW_AT_call_return_pc, &attr) &&
	    !dwarf_attr(site, DW_AT_low_pc, &attr))
		return false;
	return dwarf_formaddr(&attr, &addr) == 0 && addr == vaddr;
}

static bool
find_site(Dwarf_Die *scope, uint64_t vaddr, Dwarf_Die *site, int depth)
{
	if (depth > CHAIN_MAX || dwarf_child(scope, site) != 0)
		return false;

	Dwarf_Die child = *site;

	do {
		const int tag = dwarf_tag(&child);

		if (is_site(&child) && returns_to(&child, vaddr)) {
			*site = child;
			return true;
		}
		if ((tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_inlined_subroutine) &&
		    find_site(&child, vaddr, site, depth + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool
points_to_us(struct context *outer, Dwarf_Die *site,
	     const struct physical *callee)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	uint64_t target, entry;

	if ((!dwarf_attr(site, DW_AT_call_target, &attr) &&
	     !dwarf_attr(site, DW_AT_GNU_call_site_target, &attr)) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 ||
	    number_of_ops(outer, &attr, ops, n, &target) < 0)
		return false;
	for (size_t i = 0; i < callee->scope_len; i++)
		if (dwarf_tag(&callee->scopes[i]) == DW_TAG_subprogram)
			return die_entry(&callee->scopes[i], &entry) &&
			       entry + callee->object->bias == target;
	return false;
}

static const char *
linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ?
		dwarf_formstring(&attr) : NULL;
}

/* Names alone are not enough: classes and files have theirs in common. */
static bool
is_function(Dwarf_Die *called, Dwarf_Die *ours)
{
	const char *name = linkage_name(called), *its = linkage_name(ours);
	uint64_t entry, own;

	if (die_entry(called, &entry) && die_entry(ours, &own))
		return entry == own;
	if (name && its)
		return strcmp(name, its) == 0;
	name = die_name(called);
	its = die_name(ours);
	return name && its && strcmp(name, its) == 0 &&
	       attr_flag(called, DW_AT_external) ==
	       attr_flag(ours, DW_AT_external);
}

/* Does the site call the function that we are in? One through a
 * pointer does not say; another function means tail calls in between, and they
 * may have changed everything. */
static bool
calls_us(struct context *outer, Dwarf_Die *site, const struct physical *callee)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (!dwarf_attr(site, DW_AT_call_origin, &attr) &&
	    !dwarf_attr(site, DW_AT_abstract_origin, &attr))
		return points_to_us(outer, site, callee);
	if (!dwarf_formref_die(&attr, &origin))
		return false;
	for (size_t i = 0; i < callee->scope_len; i++)
		if (dwarf_tag(&callee->scopes[i]) == DW_TAG_subprogram)
			return is_function(&origin, &callee->scopes[i]);
	return false;
}

static bool
passes_in(Dwarf_Die *param, int reg)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(param, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1)
		return false;
	if (ops[0].atom == DW_OP_regx)
		return (int)ops[0].number == reg;
	return ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
	       (int)(ops[0].atom - DW_OP_reg0) == reg;
}

static bool
is_parameter(Dwarf_Die *param, Dwarf_Die *wanted)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;

	return (dwarf_attr(param, DW_AT_call_parameter, &attr) ||
		dwarf_attr(param, DW_AT_abstract_origin, &attr)) &&
	       dwarf_formref_die(&attr, &die) && die.addr == wanted->addr;
}

static int
optimized_out(void)
{
	return fail(FAIL_MISSING, "value has been optimized out");
}

static int
passed(struct context *c, Dwarf_Die *site, int reg, Dwarf_Die *parameter,
       uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Die param;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_child(site, &param) != 0)
		return optimized_out();
	do {
		if (parameter ? !is_parameter(&param, parameter) :
				!passes_in(&param, reg))
			continue;
		if ((!dwarf_attr(&param, DW_AT_call_value, &attr) &&
		     !dwarf_attr(&param, DW_AT_GNU_call_site_value, &attr)) ||
		    dwarf_getlocation(&attr, &ops, &n) != 0)
			return optimized_out();
		return number_of_ops(c, &attr, ops, n, value);
	} while (dwarf_siblingof(&param, &param) == 0);
	return optimized_out();
}

/* The site in the caller, which becomes *outer. */
static bool
site_of_call(struct context *c, struct context *outer, Dwarf_Die *site)
{
	const struct frame *caller = c->regs ? calling_frame(c->d, c->regs) :
					       NULL;

	if (!caller || !caller->at->object)
		return false;
	for (size_t i = 0; i < c->regs->scope_len; i++)
		if (dwarf_tag(&c->regs->scopes[i]) == DW_TAG_subprogram &&
		    tail_calls_itself(c->d, &c->regs->scopes[i]))
			return false;
	*outer = (struct context){
		.d = c->d, .object = caller->at->object, .regs = caller->at,
		.frame = caller, .depth = c->depth + 1,
	};
	for (size_t i = caller->first; i < caller->at->scope_len; i++)
		if (dwarf_tag(&caller->at->scopes[i]) == DW_TAG_subprogram &&
		    find_site(&caller->at->scopes[i], caller->at->pc -
			      caller->at->object->bias, site, 0))
			return calls_us(outer, site, c->regs);
	return false;
}

int
entry_value(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
	    uint64_t *value)
{
	struct context outer;
	Dwarf_Attribute inner;
	Dwarf_Op *ops;
	Dwarf_Die site;
	size_t n;
	int reg;

	if (!attr || dwarf_getlocation_attr(attr, op, &inner) != 0 ||
	    dwarf_getlocation(&inner, &ops, &n) != 0 || n != 1)
		return optimized_out();
	if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		reg = (int)(ops[0].atom - DW_OP_reg0);
	else if (ops[0].atom == DW_OP_regx)
		reg = (int)ops[0].number;
	else
		return optimized_out();
	return site_of_call(c, &outer, &site) ?
		passed(&outer, &site, reg, NULL, value) : optimized_out();
}

int
entry_parameter(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
		uint64_t *value)
{
	struct context outer;
	Dwarf_Die parameter, site;

	if (!attr || dwarf_getlocation_die(attr, op, &parameter) != 0 ||
	    !site_of_call(c, &outer, &site))
		return optimized_out();
	return passed(&outer, &site, -1, &parameter, value);
}
