/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions as trees, between parsing and evaluation.
 */
#ifndef DEBUG_EXPRESSION_H
#define DEBUG_EXPRESSION_H

#include "private.h"

enum token_kind {
	TOKEN_END, TOKEN_NAME, TOKEN_DOLLAR, TOKEN_NUMBER, TOKEN_STRING,
	TOKEN_CHARACTER, TOKEN_OPERATOR, TOKEN_BAD,
};

struct token {
	enum token_kind kind;
	int op;			/* a character, or OP_* */
	const char *start, *end;
	bool assigns;		/* op=, as += */
};

struct parser {
	struct debug *d;
	const char *text;
	struct token now;
	bool failed;
	bool in_member;		/* what is taken is a member's name */
	int depth;
};

enum node_kind {
	NODE_VALUE, NODE_NAME, NODE_DOLLAR, NODE_UNARY, NODE_BINARY,
	NODE_MEMBER, NODE_INDEX, NODE_CALL, NODE_CAST, NODE_SIZEOF,
	NODE_TYPE, NODE_ASSIGN, NODE_CONDITION, NODE_REPEAT, NODE_COMMA,
	NODE_DYNAMIC,
};

enum { NODE_ARGS = 64 };	/* more than a call can have */

struct node {
	enum node_kind kind;
	int op;
	struct node *a, *b, *c;
	struct node **args;
	size_t arg_len;
	const char *text;	/* of an assignment: its value is the one before */
	struct type *type;
	struct value *value;
};

struct token token_next(const char *at);
void parser_advance(struct parser *p);
bool parser_takes(struct parser *p, int op);
bool token_is(const struct parser *p, int op);
struct value *literal_number(struct debug *d, const struct token *t);
struct value *literal_character(struct debug *d, const struct token *t);
/* With those that follow; the last one is the parser's then. */
struct value *literal_string(struct parser *p);
/* A type at this place; NULL, and nothing taken: none is here. */
struct type *parse_type_here(struct parser *p);
/* "unsigned long" in arguments of templates as g++ has it in debug information
 * ("long unsigned int"), or clang ("unsigned long"); scratch. */
const char *spelled_out(struct debug *d, const char *name, bool in_full);
/* A::B<C>::d, taken from the text. */
const char *parse_qualified(struct parser *p);
/* `FILE`A::b or 'FILE'::A::b, as `FILE`A::b; NULL: none is here. */
const char *parse_written(struct parser *p);

#endif
