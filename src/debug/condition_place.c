/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions, of what lies somewhere: variables that keep their distance to a
 * register, or lie where they do; members, elements, what a pointer points to.
 */
#include "condition.h"

/* ---- variables ---------------------------------------------------------- */

enum { NO_BASE = -2, FIXED = -1 };

static int
base_of_op(const struct frame *f, Dwarf_Die *function, const Dwarf_Op *op,
	   bool is_frame_base)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (op->atom == DW_OP_addr || op->atom == DW_OP_addrx)
		return FIXED;
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return (int)(op->atom - DW_OP_breg0);
	if (is_frame_base && op->atom >= DW_OP_reg0 &&
	    op->atom <= DW_OP_reg31)
		return (int)(op->atom - DW_OP_reg0);
	if (op->atom == DW_OP_call_frame_cfa)
		return frame_cfa_base(f->at);
	if (op->atom != DW_OP_fbreg || !function || is_frame_base ||
	    !dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, frame_lookup_pc(f->at) -
				   f->at->object->bias, &ops, &n, 1) != 1 ||
	    n != 1)
		return NO_BASE;
	return base_of_op(f, function, &ops[0], true);
}

/* The register to which its address keeps its distance, FIXED, or NO_BASE. */
static int
base_of_variable(const struct frame *f, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, frame_lookup_pc(f->at) -
				   f->at->object->bias, &ops, &n, 1) != 1 ||
	    n != 1)
		return NO_BASE;
	return base_of_op(f, frame_subprogram(f), &ops[0], false);
}

static int
base_of_name(struct compile *c, const char *name, const struct value *v)
{
	const struct frame *f = c->frame;
	Dwarf_Die *unit = &f->at->scopes[f->at->scope_len - 1], die;
	struct entry *e;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (scope_find(c->d, f, name, WANT_VALUE, &die))
		return base_of_variable(f, &die);
	/* a member of *this may hide it: is it that? */
	e = index_find(c->d, name, WANT_VALUE, unit);
	if (!e || !e->object ||
	    !dwarf_attr_integrate(&e->die, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) != 0 || n != 1 ||
	    ops[0].atom != DW_OP_addr ||
	    ops[0].number + e->object->bias != v->addr)
		return NO_BASE;
	return FIXED;
}

static uint64_t
register_now(const struct compile *c, int reg)
{
	return c->frame->at->reg[reg].value;
}

/* NULL: it lies nowhere, or not where it could be found again. */
static struct type *
name_place(struct compile *c, const char *name)
{
	struct value *v = symbol_value(c->d, name);
	int base;

	if (!v || v->place != VALUE_MEMORY || v->bits || v->self ||
	    v->type->of_frame)
		return NULL;
	base = base_of_name(c, name, v);
	if (base == NO_BASE || base >= arch.reg_count)
		return NULL;
	if (base == FIXED)
		(void)code_emit(c, CONDITION_WORD, v->addr);
	else
		code_emit(c, CONDITION_REGISTER,
			  v->addr - register_now(c, base))->number =
			(uint8_t)base;
	return v->type;
}

struct type *
code_register(struct compile *c, int reg, struct type *t)
{
	struct type *bare = type_strip(c->d, t);

	if (reg < 0 || reg >= arch.reg_count || !type_is_word(bare) ||
	    t->of_frame)
		return NULL;
	code_emit(c, CONDITION_REGISTER, 0)->number = (uint8_t)reg;
	code_typed(c, CONDITION_NARROW, bare);
	return t;
}

/* ---- what lies in memory ------------------------------------------------ */

/* A reference is what it refers to. */
static struct type *
referred(struct compile *c, struct type *t)
{
	struct type *bare = t ? type_strip(c->d, t) : NULL;

	if (!bare || (bare->kind != TYPE_REFERENCE &&
		      bare->kind != TYPE_RVALUE_REFERENCE))
		return t;
	code_emit(c, CONDITION_LOAD, 0)->size = 8;
	return type_target(c->d, bare);
}

/* The offset of one that lies nowhere: a base that must be looked up in the
 * object is not found there. */
static struct type *
member_place(struct compile *c, struct node *n)
{
	enum { NOWHERE = 4096 };
	struct value *probe = evaluate(c->d, n->a, true), *v;
	struct type *t = probe ? type_strip(c->d, probe->type) : NULL;

	if (t && t->kind == TYPE_POINTER) {
		t = code_value(c, n->a);
		t = t ? type_target(c->d, type_strip(c->d, t)) : NULL;
	} else {
		t = t ? code_place(c, n->a) : NULL;
	}
	v = t ? value_named_member(c->d, value_at(c->d, t, NOWHERE),
				   n->text) : NULL;
	if (!v || v->place != VALUE_MEMORY || v->bits ||
	    v->addr - NOWHERE > VALUE_MAX || v->type->of_frame)
		return NULL;
	(void)code_emit(c, CONDITION_WORD, v->addr - NOWHERE);
	(void)code_emit(c, CONDITION_ADD, 0);
	return v->type;
}

uint64_t
code_step(struct compile *c, struct type *t)
{
	const uint64_t size = type_size(c->d, t);

	return size && size != UINT64_MAX ? size : 1;
}

static struct type *
element_place(struct compile *c, struct node *n)
{
	struct value *probe = evaluate(c->d, n->a, true);
	struct type *t = probe ? type_strip(c->d, probe->type) : NULL, *i;

	if (!t || (t->kind != TYPE_ARRAY && t->kind != TYPE_POINTER) ||
	    (t->kind == TYPE_ARRAY && (t->low || t->is_variable)))
		return NULL;
	if (!(t->kind == TYPE_ARRAY ? code_place(c, n->a) :
	      code_value(c, n->a)))
		return NULL;
	i = code_value(c, n->b);
	if (!i || !type_is_integral(type_strip(c->d, i)))
		return NULL;
	t = type_target(c->d, t);
	(void)code_emit(c, CONDITION_WORD, code_step(c, t));
	(void)code_emit(c, CONDITION_MULTIPLY, 0);
	(void)code_emit(c, CONDITION_ADD, 0);
	return t;
}

struct type *
code_place(struct compile *c, struct node *n)
{
	struct type *t = NULL;

	if (n->kind == NODE_NAME)
		t = name_place(c, n->text);
	else if (n->kind == NODE_MEMBER)
		t = member_place(c, n);
	else if (n->kind == NODE_INDEX)
		t = element_place(c, n);
	else if (n->kind == NODE_UNARY && n->op == '*' &&
		 (t = code_value(c, n->a)) != NULL)
		t = type_strip(c->d, t)->kind == TYPE_POINTER ?
			type_target(c->d, type_strip(c->d, t)) : NULL;
	return referred(c, t);
}

struct type *
code_load(struct compile *c, struct node *n)
{
	struct type *t = code_place(c, n);
	struct type *bare = t ? type_strip(c->d, t) : NULL;

	if (bare && bare->kind == TYPE_ARRAY && !bare->is_vector)
		return type_pointer_to(c->d, type_target(c->d, bare));
	if (!bare || !type_is_word(bare))
		return NULL;
	code_typed(c, CONDITION_LOAD, bare);
	code_typed(c, CONDITION_NARROW, bare);
	return t;
}
