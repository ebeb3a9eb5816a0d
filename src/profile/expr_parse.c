/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From text to a tree. The operators are those of C and bind as there; below
 * them all stand the comma, which makes a list, and IN, SOME IN and ORDERED
 * IN, which compare two lists and do not chain:
 *
 *     whole  := list [ [SOME|ORDERED] IN list ]
 *     list   := choice { ',' choice }
 *     choice := binary [ '?' whole ':' choice ]
 *     unary  := { '-' | '+' | '!' | '~' } primary
 *     primary := number | "text" | FIELD | FNAME("re") | FILEIOVFD("re") |
 *                HAS_PROP(FIELD) | '(' whole ')'
 *
 * The text may be anybody's: how deep it nests is bounded.
 */
#include "expr.h"

#include <string.h>

enum { DEPTH_MAX = 400 };

/* Longer ones before those they begin with. */
static const struct {
	const char *text;
	int level;		/* the higher, the closer it binds */
	enum expr_op op;
} operators[] = {
	{ "||", 1, EXPR_OR }, { "&&", 2, EXPR_AND },
	{ "|", 3, EXPR_BIT_OR }, { "^", 4, EXPR_BIT_XOR },
	{ "&", 5, EXPR_BIT_AND },
	{ "==", 6, EXPR_EQUAL }, { "!=", 6, EXPR_UNEQUAL },
	{ "<<", 8, EXPR_LEFT }, { ">>", 8, EXPR_RIGHT },
	{ "<=", 7, EXPR_AT_MOST }, { ">=", 7, EXPR_AT_LEAST },
	{ "<", 7, EXPR_LESS }, { ">", 7, EXPR_MORE },
	{ "+", 9, EXPR_ADD }, { "-", 9, EXPR_SUBTRACT },
	{ "*", 10, EXPR_MULTIPLY }, { "/", 10, EXPR_DIVIDE },
	{ "%", 10, EXPR_REMAINDER },
};

static bool
go_down(struct expr_parser *p)
{
	if (++p->depth <= DEPTH_MAX)
		return true;
	expr_wrong(p, p->at, "the expression is nested too deeply");
	return false;
}

static struct expr_node *
parse_unary(struct expr_parser *p)
{
	static const struct {
		const char *text;
		enum expr_op op;
	} unary[] = { { "-", EXPR_NEGATE }, { "!", EXPR_NOT },
		      { "~", EXPR_COMPLEMENT } };
	struct expr_node *node = NULL;

	if (!go_down(p))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(unary); i++) {
		if (!expr_take(p, unary[i].text))
			continue;
		node = parse_unary(p);
		p->depth--;
		return node ? expr_add(p, (struct expr_node){
			.op = unary[i].op, .a = node }) : NULL;
	}
	node = expr_take(p, "+") ? parse_unary(p) : expr_primary(p);
	p->depth--;
	return node;
}

/* The operator that stands next, if it binds as close as that; -1. */
static int
next_operator(struct expr_parser *p, int level)
{
	expr_skip_blanks(p);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (str_starts(p->text + p->at, operators[i].text))
			return operators[i].level >= level ? (int)i : -1;
	return -1;
}

static struct expr_node *
parse_binary(struct expr_parser *p, int level)
{
	struct expr_node *left = parse_unary(p);
	int i;

	while (left && (i = next_operator(p, level)) >= 0) {
		p->at += strlen(operators[i].text);

		struct expr_node *right = parse_binary(
			p, operators[i].level + 1);

		if (!right)
			return NULL;
		left = expr_add(p, (struct expr_node){
			.op = operators[i].op, .a = left, .b = right });
	}
	return left;
}

static struct expr_node *
parse_choice(struct expr_parser *p)
{
	struct expr_node *when = parse_binary(p, 1), *then, *other;

	if (!when || !expr_take(p, "?"))
		return when;
	if (!(then = expr_whole(p)))
		return NULL;
	if (!expr_take(p, ":"))
		return expr_wrong(p, p->at, "a : is missing");
	if (!go_down(p) || !(other = parse_choice(p)))
		return NULL;
	p->depth--;
	return expr_add(p, (struct expr_node){
		.op = EXPR_CHOICE, .a = when, .b = then, .c = other });
}

static struct expr_node *
parse_list(struct expr_parser *p)
{
	struct expr_node *item = parse_choice(p), *list;

	expr_skip_blanks(p);
	if (!item || p->text[p->at] != ',')
		return item;
	list = expr_add(p, (struct expr_node){ .op = EXPR_LIST, .a = item });
	if (!list)
		return NULL;
	list->a = NULL;		/* it was there for its height */
	vec_push(&list->items, item);
	while (expr_take(p, ",")) {
		if (!(item = parse_choice(p)))
			return NULL;
		expr_hold(list, item);
		vec_push(&list->items, item);
	}
	return list;
}

static enum expr_op
take_in(struct expr_parser *p)
{
	const size_t start = p->at;
	enum expr_op op = EXPR_IN;

	if (expr_take_word(p, "SOME"))
		op = EXPR_SOME_IN;
	else if (expr_take_word(p, "ORDERED"))
		op = EXPR_ORDERED_IN;
	if (expr_take_word(p, "IN"))
		return op;
	p->at = start;
	return EXPR_NUMBER;
}

struct expr_node *
expr_whole(struct expr_parser *p)
{
	struct expr_node *left = NULL, *right;
	enum expr_op op;

	if (!go_down(p) || !(left = parse_list(p)))
		return NULL;
	if ((op = take_in(p)) != EXPR_NUMBER) {
		if (!(right = parse_list(p)))
			return NULL;
		left = expr_add(p, (struct expr_node){
			.op = op, .a = left, .b = right });
		if (left && take_in(p) != EXPR_NUMBER)
			return expr_wrong(p, p->at, "IN does not chain: "
				     "parentheses are missing");
	}
	p->depth--;
	return left;
}

/* ---- the whole ------------------------------------------------------- */

struct expr_node *
expr_text(struct expr_parser *p)
{
	struct expr_node *node = expr_whole(p);

	expr_skip_blanks(p);
	if (node && p->text[p->at])
		return expr_wrong(p, p->at, p->text[p->at] == '=' ?
				  "= is not ==," : "an operator is missing");
	return node;
}

struct expr *
expr_parse(const char *text, const struct profile_index_type *objects,
	   size_t n)
{
	struct expr *e = xcalloc(1, sizeof *e);
	struct expr_parser p = { .e = e, .text = text, .objects = objects,
			    .objects_len = n };

	expr_skip_blanks(&p);
	e->root = text[p.at] ? expr_text(&p) : expr_number(&p, 1);
	if (e->root && expr_text_check(e) == 0)
		return e;
	expr_free(e);
	return NULL;
}
