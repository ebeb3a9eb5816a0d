/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An expression as a program for whoever waits for the threads (arch's
 * condition.c): what it says at the place where the thread stands now, which
 * must be the only one that it is asked at, since variables lie elsewhere at
 * others. Integers, pointers, members, elements, registers; whatever is more
 * is evaluated here at each hit.
 */
#include "condition.h"

#include <string.h>

struct condition_step *
code_emit(struct compile *c, enum condition_op op, uint64_t word)
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

bool
type_is_word(const struct type *t)
{
	return (type_is_integral(t) || t->kind == TYPE_POINTER) &&
		t->size > 0 && t->size <= 8;
}

void
code_typed(struct compile *c, enum condition_op op, const struct type *t)
{
	struct condition_step *s = code_emit(c, op, 0);

	s->size = (uint8_t)t->size;
	s->is_signed = t->kind != TYPE_POINTER && t->is_signed;
}

/* ---- operators ---------------------------------------------------------- */

static struct type *
logic_code(struct compile *c, struct node *n)
{
	struct condition_step *skip;
	size_t from;

	if (!code_value(c, n->a))
		return NULL;
	(void)code_emit(c, CONDITION_NOT, 0);
	(void)code_emit(c, CONDITION_NOT, 0);
	skip = code_emit(c, n->op == OP_AND ? CONDITION_SKIP_ZERO :
		    CONDITION_SKIP_OTHER, 0);
	from = c->out->len;
	(void)code_emit(c, CONDITION_DROP, 0);
	if (!code_value(c, n->b))
		return NULL;
	(void)code_emit(c, CONDITION_NOT, 0);
	(void)code_emit(c, CONDITION_NOT, 0);
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
	code_emit(c, equal ? CONDITION_EQUAL : CONDITION_LESS, 0)->is_signed =
		is_signed;
	if (op == OP_NE || op == OP_GE)
		(void)code_emit(c, CONDITION_NOT, 0);
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
			code_typed(c, ops[i].code, t);
			code_typed(c, CONDITION_NARROW, t);
			return t;
		}
	return NULL;
}

/* A pointer is compared as it is, or moved by so many elements. */
static struct type *
pointer_code(struct compile *c, struct node *n, struct type *a)
{
	struct type *b = code_value(c, n->b);
	const bool is_pointer = a && type_strip(c->d, a)->kind == TYPE_POINTER;

	if (!b)
		return NULL;
	if (is_comparison(n->op))
		return compare_code(c, n->op, false) ?
			type_basic(c->d, "int") : NULL;
	if (!is_pointer || (n->op != '+' && n->op != '-') ||
	    !type_is_integral(type_strip(c->d, b)))
		return NULL;
	(void)code_emit(c, CONDITION_WORD, code_step(c, type_target(c->d,
					type_strip(c->d, a))));
	(void)code_emit(c, CONDITION_MULTIPLY, 0);
	(void)code_emit(c, n->op == '+' ? CONDITION_ADD : CONDITION_SUBTRACT,
			0);
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
	if (!b || !type_is_word(a) || !type_is_word(b))
		return NULL;
	if (a->kind == TYPE_POINTER || b->kind == TYPE_POINTER)
		return (t = code_value(c, n->a)) ? pointer_code(c, n, t) : NULL;
	t = arithmetic_type(c->d, a, b);
	if (!code_value(c, n->a))
		return NULL;
	code_typed(c, CONDITION_NARROW, t);
	if (!code_value(c, n->b))
		return NULL;
	code_typed(c, CONDITION_NARROW, t);
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
		return code_load(c, n);
	if (n->op == '&')
		return (t = code_place(c, n->a)) ? type_pointer_to(c->d, t) :
			NULL;
	if (n->op == '-' || n->op == '~')
		(void)code_emit(c, CONDITION_WORD,
				n->op == '-' ? 0 : UINT64_MAX);
	t = code_value(c, n->a);
	if (!t)
		return NULL;
	if (n->op == '!') {
		(void)code_emit(c, CONDITION_NOT, 0);
		return type_basic(c->d, "int");
	}
	if (!type_is_integral(type_strip(c->d, t)))
		return NULL;
	t = arithmetic_type(c->d, type_strip(c->d, t), NULL);
	if (n->op == '-')
		return arithmetic_code(c, '-', t);
	return n->op == '~' ? arithmetic_code(c, '^', t) : NULL;
}

/* ---- all of it ---------------------------------------------------------- */

/* What does not change from hit to hit. */
static struct type *
constant_code(struct compile *c, struct value *v)
{
	struct type *t = v ? type_strip(c->d, v->type) : NULL;
	uint64_t word;

	if (!t || !type_is_word(t) || v->place != VALUE_TEMPORARY ||
	    value_number(c->d, v, &word) < 0)
		return NULL;
	(void)code_emit(c, CONDITION_WORD, word);
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
		return code_register(c, v->reg, v->type);
	if (v && v->place == VALUE_TEMPORARY)
		return is_constant(c, n->text) ? constant_code(c, v) : NULL;
	return v ? code_load(c, n) : NULL;
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

	return v && reg->size == 8 ? code_register(c, reg->dwarf, v->type) :
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

	if (!type_is_word(t) || t->kind == TYPE_BOOL)
		return NULL;
	from = code_value(c, n->a);
	if (!from)
		return NULL;
	from = to ? class_behind(c, type_strip(c->d, from)) : NULL;
	if (from && !type_same(c->d, from, to))
		return NULL;
	code_typed(c, CONDITION_NARROW, t);
	return n->type;
}

struct type *
code_value(struct compile *c, struct node *n)
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
		return code_load(c, n);
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
	done = n && code_value(&c, n) && !c.failed && agrees(&c, n);
	fail_clear();
	return done;
}

/* Where a call leaves it on the stack: below the frame. */
bool
debug_return_address(struct debug *d, uint64_t now, struct condition *out)
{
	struct compile c = { .d = d, .out = out };
	uint64_t cfa, to = 0;
	int base;

	debug_begin(d);
	memset(out, 0, sizeof *out);
	c.frame = frame_selected(d);
	base = arch.reg_link < 0 && c.frame && c.frame->at->innermost &&
		debug_regs_load(d) == 0 ? frame_cfa_base(c.frame->at) : -1;
	if (base < 0 || base >= arch.reg_count)
		return false;
	cfa = frame_cfa(d, c.frame->at);
	code_emit(&c, CONDITION_REGISTER, cfa - sizeof cfa -
		  c.frame->at->reg[base].value)->number = (uint8_t)base;
	code_emit(&c, CONDITION_LOAD, 0)->size = sizeof to;
	base = condition_number(out, &d->regs.general, read_memory, d, &to);
	fail_clear();
	return base == 0 && to == now;
}
