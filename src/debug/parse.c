/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions of C, and what of C++ is needed, by recursive descent. The tree
 * is made first, so that sizeof and whatis look at an expression without doing
 * it.
 */
#include "expression.h"

#include <string.h>

enum { DEPTH_MAX = 200 };

static struct node *parse_comma(struct parser *p);
static struct node *parse_assign(struct parser *p);
static struct node *parse_unary(struct parser *p);

void
parser_advance(struct parser *p)
{
	p->now = token_next(p->now.end);
}

bool
token_is(const struct parser *p, int op)
{
	return p->now.kind == TOKEN_OPERATOR && p->now.op == op &&
	       !p->now.assigns;
}

bool
parser_takes(struct parser *p, int op)
{
	if (!token_is(p, op))
		return false;
	parser_advance(p);
	return true;
}

static struct node *
syntax(struct parser *p)
{
	if (!p->failed)
		(void)fail(FAIL_USAGE, "A syntax error in expression, near "
			   "`%s'.", p->now.start);
	p->failed = true;
	return NULL;
}

static struct node *
node_new(struct parser *p, enum node_kind kind, int op, struct node *a,
	 struct node *b)
{
	struct node *n = arena_alloc(&p->d->scratch, sizeof *n);

	n->kind = kind;
	n->op = op;
	n->a = a;
	n->b = b;
	return n;
}

static struct node *
node_value(struct parser *p, struct value *v)
{
	struct node *n = node_new(p, NODE_VALUE, 0, NULL, NULL);

	n->value = v;
	if (!v)
		p->failed = true;
	parser_advance(p);
	return v ? n : NULL;
}

static const char *
token_text(struct parser *p)
{
	return arena_textn(&p->d->scratch, p->now.start,
			   (size_t)(p->now.end - p->now.start));
}

static bool
is_word(const struct parser *p, const char *word)
{
	return p->now.kind == TOKEN_NAME &&
	       strlen(word) == (size_t)(p->now.end - p->now.start) &&
	       memcmp(p->now.start, word, strlen(word)) == 0;
}

/* ---- primary ---- */

/* static_cast<TYPE>(x) and the like are what (TYPE)x does. */
static struct node *
parse_named_cast(struct parser *p)
{
	struct node *n;
	struct type *t;

	const bool dynamic = is_word(p, "dynamic_cast");

	parser_advance(p);
	t = parser_takes(p, '<') ? parse_type_here(p) : NULL;
	if (!t || !parser_takes(p, '>') || !parser_takes(p, '('))
		return syntax(p);
	n = parse_comma(p);
	if (!n || !parser_takes(p, ')'))
		return n ? syntax(p) : NULL;
	n = node_new(p, dynamic ? NODE_DYNAMIC : NODE_CAST, 0, n, NULL);
	n->type = t;
	return n;
}

static struct node *
parse_name(struct parser *p)
{
	struct node *n;
	struct type *t;

	if (is_word(p, "static_cast") || is_word(p, "reinterpret_cast") ||
	    is_word(p, "const_cast") || is_word(p, "dynamic_cast"))
		return parse_named_cast(p);
	if (is_word(p, "true") || is_word(p, "false"))
		return node_value(p, value_int(p->d, type_basic(p->d, "bool"),
					       is_word(p, "true")));
	t = parse_type_here(p);
	if (t) {
		n = node_new(p, NODE_TYPE, 0, NULL, NULL);
		n->type = t;
		return n;
	}
	n = node_new(p, NODE_NAME, 0, NULL, NULL);
	n->text = parse_qualified(p);
	return n->text ? n : syntax(p);
}

/* { type } address: the same as *(type *) address. */
static struct node *
parse_braces(struct parser *p)
{
	struct type *t;
	struct node *n, *cast;

	parser_advance(p);
	t = parse_type_here(p);
	if (!t || !parser_takes(p, '}'))
		return syntax(p);
	n = parse_unary(p);
	if (!n)
		return NULL;
	cast = node_new(p, NODE_CAST, 0, n, NULL);
	cast->type = type_pointer_to(p->d, t);
	return node_new(p, NODE_UNARY, '*', cast, NULL);
}

static struct node *
parse_primary(struct parser *p)
{
	const char *written = parse_written(p);
	struct node *n;

	if (written) {
		n = node_new(p, NODE_NAME, 0, NULL, NULL);
		n->text = written;
		return n;
	}
	switch (p->now.kind) {
	case TOKEN_NUMBER:
		return node_value(p, literal_number(p->d, &p->now));
	case TOKEN_CHARACTER:
		return node_value(p, literal_character(p->d, &p->now));
	case TOKEN_STRING:
		return node_value(p, literal_string(p));
	case TOKEN_DOLLAR:
		n = node_new(p, NODE_DOLLAR, 0, NULL, NULL);
		n->text = token_text(p) + 1;
		parser_advance(p);
		return n;
	case TOKEN_NAME:
		return parse_name(p);
	case TOKEN_OPERATOR:
		if (token_is(p, OP_SCOPE))
			return parse_name(p);
		if (token_is(p, '{'))
			return parse_braces(p);
		if (!parser_takes(p, '('))
			return syntax(p);
		n = parse_comma(p);
		return n && parser_takes(p, ')') ? n : n ? syntax(p) : NULL;
	default:
		return syntax(p);
	}
}

static struct node *
parse_call(struct parser *p, struct node *function)
{
	struct node *n = node_new(p, NODE_CALL, 0, function, NULL);

	n->args = arena_alloc(&p->d->scratch, NODE_ARGS * sizeof *n->args);
	if (parser_takes(p, ')'))
		return n;
	do {
		if (n->arg_len == NODE_ARGS)
			return syntax(p);
		n->args[n->arg_len] = parse_assign(p);
		if (!n->args[n->arg_len++])
			return NULL;
	} while (parser_takes(p, ','));
	return parser_takes(p, ')') ? n : syntax(p);
}

static struct node *
parse_member(struct parser *p, struct node *n, int op)
{
	n = node_new(p, NODE_MEMBER, op, n, NULL);
	p->in_member = true;
	n->text = parse_qualified(p);
	p->in_member = false;
	return n->text ? n : syntax(p);
}

/* ++ and --, taken from the text: of n, by 1. */
static struct node *
step_node(struct parser *p, struct node *n)
{
	const int op = p->now.op == OP_INC ? '+' : '-';
	struct node *one = node_new(p, NODE_VALUE, 0, NULL, NULL);

	parser_advance(p);
	one->value = value_int(p->d, type_basic(p->d, "int"), 1);
	n = node_new(p, NODE_ASSIGN, op, n, one);
	n->c = one;
	return n;
}

static struct node *
parse_postfix(struct parser *p)
{
	struct node *n = parse_primary(p), *index;

	while (n) {
		if (parser_takes(p, '[')) {
			index = parse_comma(p);
			if (!index || !parser_takes(p, ']'))
				return index ? syntax(p) : NULL;
			n = node_new(p, NODE_INDEX, 0, n, index);
		} else if (parser_takes(p, '(')) {
			n = parse_call(p, n);
		} else if (parser_takes(p, '.')) {
			n = parse_member(p, n, '.');
		} else if (parser_takes(p, OP_ARROW)) {
			n = parse_member(p, n, OP_ARROW);
		} else if (token_is(p, OP_INC) || token_is(p, OP_DEC)) {
			n = step_node(p, n);
			n->text = "behind";
		} else {
			return n;
		}
	}
	return NULL;
}

/* ---- unary ---- */

static struct node *
parse_sizeof(struct parser *p)
{
	const struct token before = p->now;
	struct node *n = node_new(p, NODE_SIZEOF, 0, NULL, NULL);

	if (parser_takes(p, '(')) {
		n->type = parse_type_here(p);
		if (n->type && parser_takes(p, ')'))
			return n;
		n->type = NULL;
		p->now = before;
	}
	n->a = parse_unary(p);
	return n->a ? n : NULL;
}

/* (type) unary; NULL without a failure: it is no cast. */
static struct node *
parse_cast(struct parser *p)
{
	const struct token before = p->now;
	struct node *n;
	struct type *t;

	parser_advance(p);
	t = parse_type_here(p);
	if (!t || !parser_takes(p, ')') || p->now.kind == TOKEN_END) {
		p->now = before;
		return NULL;
	}
	n = node_new(p, NODE_CAST, 0, parse_unary(p), NULL);
	n->type = t;
	return n->a ? n : NULL;
}

static struct node *
unary_node(struct parser *p)
{
	const int op = p->now.op;
	struct node *n;

	if (is_word(p, "sizeof")) {
		parser_advance(p);
		return parse_sizeof(p);
	}
	if (token_is(p, '(')) {
		n = parse_cast(p);
		if (n || p->failed)
			return n;
	}
	if (token_is(p, OP_INC) || token_is(p, OP_DEC)) {
		n = step_node(p, NULL);
		n->a = parse_unary(p);
		return n->a ? n : NULL;
	}
	if (p->now.kind == TOKEN_OPERATOR && !p->now.assigns &&
	    (op == '&' || op == '*' || op == '-' || op == '+' || op == '~' ||
	     op == '!')) {
		parser_advance(p);
		n = parse_unary(p);
		return n ? node_new(p, NODE_UNARY, op, n, NULL) : NULL;
	}
	return parse_postfix(p);
}

static struct node *
parse_unary(struct parser *p)
{
	struct node *n;

	if (p->depth >= DEPTH_MAX)
		return syntax(p);
	p->depth++;
	n = unary_node(p);
	p->depth--;
	return n;
}

/* ---- binary ---- */

static int
precedence(const struct token *t)
{
	if (t->kind != TOKEN_OPERATOR || t->assigns)
		return 0;
	switch (t->op) {
	case OP_OF: case OP_OF_POINTED: return 13;
	case '*': case '/': case '%': return 12;
	case '+': case '-': return 11;
	case '@': return 10;
	case OP_SHL: case OP_SHR: return 9;
	case '<': case '>': case OP_LE: case OP_GE: return 8;
	case OP_EQ: case OP_NE: return 7;
	case '&': return 6;
	case '^': return 5;
	case '|': return 4;
	case OP_AND: return 3;
	case OP_OR: return 2;
	default: return 0;
	}
}

static struct node *
parse_binary(struct parser *p, int least)
{
	struct node *a = parse_unary(p), *b;

	for (int its; a && (its = precedence(&p->now)) >= least && its > 0;) {
		const int op = p->now.op;

		parser_advance(p);
		p->depth++;
		b = p->depth < DEPTH_MAX ? parse_binary(p, its + 1) :
					   syntax(p);
		p->depth--;
		if (!b)
			return NULL;
		a = node_new(p, op == '@' ? NODE_REPEAT : NODE_BINARY, op, a,
			     b);
	}
	return a;
}

static struct node *
parse_condition(struct parser *p)
{
	struct node *n = parse_binary(p, 1), *condition;

	if (!n || !parser_takes(p, '?'))
		return n;
	condition = node_new(p, NODE_CONDITION, 0, n, parse_comma(p));
	if (!condition->b || !parser_takes(p, ':'))
		return condition->b ? syntax(p) : NULL;
	condition->c = parse_assign(p);
	return condition->c ? condition : NULL;
}

static struct node *
assign_node(struct parser *p)
{
	struct node *a = parse_condition(p), *b;
	int op = 0;

	if (!a || p->now.kind != TOKEN_OPERATOR ||
	    !(p->now.assigns || p->now.op == '='))
		return a;
	if (p->now.assigns)
		op = p->now.op;
	parser_advance(p);
	b = parse_assign(p);
	return b ? node_new(p, NODE_ASSIGN, op, a, b) : NULL;
}

static struct node *
parse_assign(struct parser *p)
{
	struct node *n;

	if (p->depth >= DEPTH_MAX)
		return syntax(p);
	p->depth++;
	n = assign_node(p);
	p->depth--;
	return n;
}

static struct node *
parse_comma(struct parser *p)
{
	struct node *a = parse_assign(p);

	while (a && parser_takes(p, ',')) {
		struct node *b = parse_assign(p);

		if (!b)
			return NULL;
		a = node_new(p, NODE_COMMA, 0, a, b);
	}
	return a;
}

struct node *
parse_text(struct debug *d, const char *text)
{
	struct parser p = { .d = d, .text = text, .now = token_next(text) };
	struct node *n;

	if (p.now.kind == TOKEN_END) {
		(void)fail(FAIL_USAGE, "an expression is missing");
		return NULL;
	}
	n = parse_comma(&p);
	if (n && p.now.kind != TOKEN_END)
		return syntax(&p);
	return n;
}

struct type *
parse_type(struct debug *d, const char *text)
{
	struct parser p = { .d = d, .text = text, .now = token_next(text) };
	struct type *t = parse_type_here(&p);

	return t && p.now.kind == TOKEN_END ? t : NULL;
}
