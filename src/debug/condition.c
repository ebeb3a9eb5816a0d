/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An expression as a program for whoever waits for the threads (arch's
 * condition.c): what it says at the place where the thread stands now, which
 * must be the only one that it is asked at, since variables lie elsewhere at
 * others. Integers, pointers, members, elements, registers; whatever is more
 * is evaluated here at each hit.
 */
#include "expression.h"

#include <string.h>

struct compile {
	struct debug *d;
	const struct frame *frame;
	struct condition *out;
	bool failed;
};

static struct type *value_code(struct compile *c, struct node *n);
static struct type *place_code(struct compile *c, struct node *n);

static struct condition_step *
emit(struct compile *c, enum condition_op op, uint64_t word)
{
	static struct condition_step none;

	if (c->out->len == CONDITION_STEPS) {
		c->failed = true;
		return &none;
	}

	struct condition_step *s = &c->out->steps[c->out->len++];

	*s = (struct condition_step){ .op = (uint8_t)op, .word = word };
	return s;
}

/* A number of 8 bytes at most, or a pointer. */
static bool
is_word(const struct type *t)
{
	return (type_is_integral(t) || t->kind == TYPE_POINTER) &&
		t->size > 0 && t->size <= 8;
}

static void
emit_typed(struct compile *c, enum condition_op op, const struct type *t)
{
	struct condition_step *s = emit(c, op, 0);

	s->size = (uint8_t)t->size;
	s->is_signed = t->kind != TYPE_POINTER && t->is_signed;
}

/* ---- variables ----------------------------------------------------------------- */

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
		(void)emit(c, CONDITION_WORD, v->addr);
	else
		emit(c, CONDITION_REGISTER, v->addr - register_now(c, base))->
			number = (uint8_t)base;
	return v->type;
}

static struct type *
register_code(struct compile *c, int reg, struct type *t)
{
	struct type *bare = type_strip(c->d, t);

	if (reg < 0 || reg >= arch.reg_count || !is_word(bare) || t->of_frame)
		return NULL;
	emit(c, CONDITION_REGISTER, 0)->number = (uint8_t)reg;
	emit_typed(c, CONDITION_NARROW, bare);
	return t;
}

/* ---- what lies in memory ----------------------------------------------------------- */

/* A reference is what it refers to. */
static struct type *
referred(struct compile *c, struct type *t)
{
	struct type *bare = t ? type_strip(c->d, t) : NULL;

	if (!bare || (bare->kind != TYPE_REFERENCE &&
		      bare->kind != TYPE_RVALUE_REFERENCE))
		return t;
	emit(c, CONDITION_LOAD, 0)->size = 8;
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
		t = value_code(c, n->a);
		t = t ? type_target(c->d, type_strip(c->d, t)) : NULL;
	} else {
		t = t ? place_code(c, n->a) : NULL;
	}
	v = t ? value_named_member(c->d, value_at(c->d, t, NOWHERE),
				   n->text) : NULL;
	if (!v || v->place != VALUE_MEMORY || v->bits ||
	    v->addr - NOWHERE > VALUE_MAX || v->type->of_frame)
		return NULL;
	(void)emit(c, CONDITION_WORD, v->addr - NOWHERE);
	(void)emit(c, CONDITION_ADD, 0);
	return v->type;
}

static uint64_t
step_of(struct compile *c, struct type *t)
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
	if (!(t->kind == TYPE_ARRAY ? place_code(c, n->a) :
	      value_code(c, n->a)))
		return NULL;
	i = value_code(c, n->b);
	if (!i || !type_is_integral(type_strip(c->d, i)))
		return NULL;
	t = type_target(c->d, t);
	(void)emit(c, CONDITION_WORD, step_of(c, t));
	(void)emit(c, CONDITION_MULTIPLY, 0);
	(void)emit(c, CONDITION_ADD, 0);
	return t;
}

/* Its address on top, and its type; NULL: it cannot be told so. */
static struct type *
place_code(struct compile *c, struct node *n)
{
	struct type *t = NULL;

	if (n->kind == NODE_NAME)
		t = name_place(c, n->text);
	else if (n->kind == NODE_MEMBER)
		t = member_place(c, n);
	else if (n->kind == NODE_INDEX)
		t = element_place(c, n);
	else if (n->kind == NODE_UNARY && n->op == '*' &&
		 (t = value_code(c, n->a)) != NULL)
		t = type_strip(c->d, t)->kind == TYPE_POINTER ?
			type_target(c->d, type_strip(c->d, t)) : NULL;
	return referred(c, t);
}

static struct type *
load_code(struct compile *c, struct node *n)
{
	struct type *t = place_code(c, n);
	struct type *bare = t ? type_strip(c->d, t) : NULL;

	if (bare && bare->kind == TYPE_ARRAY && !bare->is_vector)
		return type_pointer_to(c->d, type_target(c->d, bare));
	if (!bare || !is_word(bare))
		return NULL;
	emit_typed(c, CONDITION_LOAD, bare);
	emit_typed(c, CONDITION_NARROW, bare);
	return t;
}

/* ---- operators -------------------------------------------------------------------- */

static struct type *
logic_code(struct compile *c, struct node *n)
{
	struct condition_step *skip;
	size_t from;

	if (!value_code(c, n->a))
		return NULL;
	(void)emit(c, CONDITION_NOT, 0);
	(void)emit(c, CONDITION_NOT, 0);
	skip = emit(c, n->op == OP_AND ? CONDITION_SKIP_ZERO :
		    CONDITION_SKIP_OTHER, 0);
	from = c->out->len;
	(void)emit(c, CONDITION_DROP, 0);
	if (!value_code(c, n->b))
		return NULL;
	(void)emit(c, CONDITION_NOT, 0);
	(void)emit(c, CONDITION_NOT, 0);
	skip->word = c->out->len - from;
	return type_basic(c->d, "int");
}

/* x and y are on top, and of type t both. */
static bool
compare_code(struct compile *c, int op, bool is_signed)
{
	const bool equal = op == OP_EQ || op == OP_NE;

	if (!equal && op != '<' && op != OP_GE)
		return false;	/* the others: turned round before */
	emit(c, equal ? CONDITION_EQUAL : CONDITION_LESS, 0)->is_signed =
		is_signed;
	if (op == OP_NE || op == OP_GE)
		(void)emit(c, CONDITION_NOT, 0);
	return true;
}

static struct type *
arithmetic_code(struct compile *c, int op, struct type *t)
{
	static const struct {
		int op;
		enum condition_op code;
	} ops[] = {
		{ '+', CONDITION_ADD }, { '-', CONDITION_SUBTRACT },
		{ '*', CONDITION_MULTIPLY }, { '/', CONDITION_DIVIDE },
		{ '%', CONDITION_REMAINDER }, { '&', CONDITION_AND },
		{ '|', CONDITION_OR }, { '^', CONDITION_XOR },
	};

	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (ops[i].op == op) {
			emit_typed(c, ops[i].code, t);
			emit_typed(c, CONDITION_NARROW, t);
			return t;
		}
	return NULL;
}

/* A pointer is compared as it is, or moved by so many elements. */
static struct type *
pointer_code(struct compile *c, struct node *n, struct type *a)
{
	struct type *b = value_code(c, n->b);
	const bool is_pointer = a && type_strip(c->d, a)->kind == TYPE_POINTER;

	if (!b)
		return NULL;
	if (is_comparison(n->op))
		return compare_code(c, n->op, false) ?
			type_basic(c->d, "int") : NULL;
	if (!is_pointer || (n->op != '+' && n->op != '-') ||
	    !type_is_integral(type_strip(c->d, b)))
		return NULL;
	(void)emit(c, CONDITION_WORD, step_of(c, type_target(c->d,
					type_strip(c->d, a))));
	(void)emit(c, CONDITION_MULTIPLY, 0);
	(void)emit(c, n->op == '+' ? CONDITION_ADD : CONDITION_SUBTRACT, 0);
	return a;
}

/* The type that both sides have in arithmetic. */
static struct type *
type_of_node(struct compile *c, struct node *n)
{
	struct value *v = evaluate(c->d, n, true);

	v = v ? value_unref(c->d, v) : NULL;
	v = v ? value_decay(c->d, v) : NULL;
	return v ? type_strip(c->d, v->type) : NULL;
}

static struct type *
binary_code(struct compile *c, struct node *node)
{
	struct node turned = *node, *n = &turned;
	struct type *a, *b, *t;

	if (n->op == OP_AND || n->op == OP_OR)
		return logic_code(c, n);
	if (n->op == '>' || n->op == OP_LE) {	/* a > b is b < a */
		n->a = node->b;
		n->b = node->a;
		n->op = node->op == '>' ? '<' : OP_GE;
	}
	a = type_of_node(c, n->a);
	b = a ? type_of_node(c, n->b) : NULL;
	if (!b || !is_word(a) || !is_word(b))
		return NULL;
	if (a->kind == TYPE_POINTER || b->kind == TYPE_POINTER)
		return (t = value_code(c, n->a)) ? pointer_code(c, n, t) : NULL;
	t = arithmetic_type(c->d, a, b);
	if (!value_code(c, n->a))
		return NULL;
	emit_typed(c, CONDITION_NARROW, t);
	if (!value_code(c, n->b))
		return NULL;
	emit_typed(c, CONDITION_NARROW, t);
	if (!is_comparison(n->op))
		return arithmetic_code(c, n->op, t);
	return compare_code(c, n->op, t->is_signed) ?
		type_basic(c->d, "int") : NULL;
}

static struct type *
unary_code(struct compile *c, struct node *n)
{
	struct type *t;

	if (n->op == '*')
		return load_code(c, n);
	if (n->op == '&')
		return (t = place_code(c, n->a)) ? type_pointer_to(c->d, t) :
			NULL;
	if (n->op == '-' || n->op == '~')
		(void)emit(c, CONDITION_WORD, n->op == '-' ? 0 : UINT64_MAX);
	t = value_code(c, n->a);
	if (!t)
		return NULL;
	if (n->op == '!') {
		(void)emit(c, CONDITION_NOT, 0);
		return type_basic(c->d, "int");
	}
	if (!type_is_integral(type_strip(c->d, t)))
		return NULL;
	t = arithmetic_type(c->d, type_strip(c->d, t), NULL);
	if (n->op == '-')
		return arithmetic_code(c, '-', t);
	return n->op == '~' ? arithmetic_code(c, '^', t) : NULL;
}

/* ---- all of it --------------------------------------------------------------------- */

/* What does not change from hit to hit. */
static struct type *
constant_code(struct compile *c, struct value *v)
{
	struct type *t = v ? type_strip(c->d, v->type) : NULL;
	uint64_t word;

	if (!t || !is_word(t) || v->place != VALUE_TEMPORARY ||
	    value_number(c->d, v, &word) < 0)
		return NULL;
	(void)emit(c, CONDITION_WORD, word);
	return v->type;
}

static bool
is_constant(struct compile *c, const char *name)
{
	Dwarf_Die die;
	struct entry *e;

	if (scope_find(c->d, c->frame, name, WANT_VALUE, &die))
		return dwarf_tag(&die) == DW_TAG_enumerator;
	e = index_find(c->d, name, WANT_VALUE, NULL);
	return e && dwarf_tag(&e->die) == DW_TAG_enumerator;
}

static struct type *
name_code(struct compile *c, struct node *n)
{
	struct value *v = symbol_value(c->d, n->text);

	if (v && v->place == VALUE_REGISTER && !v->bits)
		return register_code(c, v->reg, v->type);
	if (v && v->place == VALUE_TEMPORARY)
		return is_constant(c, n->text) ? constant_code(c, v) : NULL;
	return v ? load_code(c, n) : NULL;
}

static struct type *
sizeof_code(struct compile *c, struct node *n)
{
	struct value *v = n->type ? NULL : evaluate(c->d, n->a, true);

	return !n->type && (!v || v->type->of_frame) ? NULL :
		constant_code(c, evaluate(c->d, n, true));
}

static struct type *
dollar_code(struct compile *c, struct node *n)
{
	const struct machine_reg *reg = machine_named(n->text);
	struct value *v = reg ? register_value(c->d, n->text) : NULL;

	return v && reg->size == 8 ? register_code(c, reg->dwarf, v->type) :
		NULL;
}

/* A class that a pointer points to; else NULL. */
static struct type *
class_behind(struct compile *c, struct type *t)
{
	struct type *to = t->kind == TYPE_POINTER ?
		type_strip(c->d, type_target(c->d, t)) : NULL;

	return to && to->kind == TYPE_STRUCT ? to : NULL;
}

/* A pointer to another class may have to be moved, to where its base lies. */
static struct type *
cast_code(struct compile *c, struct node *n)
{
	struct type *t = type_strip(c->d, n->type), *to = class_behind(c, t);
	struct type *from;

	if (!is_word(t) || t->kind == TYPE_BOOL || !(from = value_code(c, n->a)))
		return NULL;
	from = to ? class_behind(c, type_strip(c->d, from)) : NULL;
	if (from && !type_same(c->d, from, to))
		return NULL;
	emit_typed(c, CONDITION_NARROW, t);
	return n->type;
}

/* The value on top, with the bits of its sign, and its type. */
static struct type *
value_code(struct compile *c, struct node *n)
{
	switch (n->kind) {
	case NODE_VALUE:
		return constant_code(c, n->value);
	case NODE_SIZEOF:
		return sizeof_code(c, n);
	case NODE_NAME:
		return name_code(c, n);
	case NODE_DOLLAR:
		return dollar_code(c, n);
	case NODE_UNARY:
		return unary_code(c, n);
	case NODE_BINARY:
		return binary_code(c, n);
	case NODE_MEMBER: case NODE_INDEX:
		return load_code(c, n);
	case NODE_CAST:
		return cast_code(c, n);
	default:
		return NULL;
	}
}

static int
read_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	return debug_read(arg, addr, buf, n);
}

/* Does it say now what the expression itself says? */
static bool
agrees(struct compile *c, struct node *n)
{
	struct value *v = evaluate(c->d, n, false);
	bool truth, ours;

	return v && value_truth(c->d, v, &truth) == 0 &&
		condition_run(c->out, &c->d->regs.general, read_memory, c->d,
			      &ours) == 0 && ours == truth;
}

bool
debug_condition(struct debug *d, const char *text, struct condition *out)
{
	struct compile c = { .d = d, .out = out };
	struct node *n;
	bool done;

	debug_begin(d);
	memset(out, 0, sizeof *out);
	c.frame = frame_selected(d);
	n = c.frame && c.frame->at->innermost && c.frame->at->object &&
		c.frame->at->scope_len && debug_regs_load(d) == 0 ?
		parse_text(d, text) : NULL;
	done = n && value_code(&c, n) && !c.failed && agrees(&c, n);
	fail_clear();
	return done;
}
