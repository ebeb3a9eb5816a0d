/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions over the fields of a record: filters keep the records for which
 * one is not zero, index objects are what it comes to. Numbers are unsigned
 * and have 64 bits, so -1 is the largest; dividing by zero gives zero, and so
 * does shifting by 64 or more.
 *
 * A field that a kind of record does not have has no value there, and nothing
 * that needs it has: a filter then keeps the record. What is asked of the
 * stack alone is found out once per stack.
 */
#ifndef PROFILE_EXPR_H
#define PROFILE_EXPR_H

#include "filter.h"

/* ---- expr_fields.c: what can be asked of a record -------------------- */

enum expr_asks { ASKS_RECORD = 1, ASKS_STACK = 2,
		 ASKS_LEAKS = 4,	/* when its block was freed, if ever */
		 ASKS_HEAP = 8 };	/* what its process had in use */

struct expr_record {		/* one packet, and what is known of it */
	const struct experiment_packet *packet;
	/* that this is a piece of, where times are cut; NULL: of none */
	const struct experiment_packet *whole;
	struct profile *prof;
	struct source *src;
	uint32_t stack;
	uint32_t thread, lwp;	/* by first appearance, 1 first */
};

struct expr_field {
	const char *name;
	const char *help;
	uint32_t kinds;		/* of packets that have it: bit per kind */
	int id;
};

/* NULL: there is no such field. Upper and lower case are one. */
const struct expr_field *expr_field(const char *name, size_t len);
unsigned expr_field_asks(const struct expr_field *field);	/* ASKS_* */
/* false: gprofng has a field of that name, but no record here does. */
bool expr_field_is_read(const struct expr_field *field);
/* Text: it is compared with text, and has no use else. */
bool expr_field_is_name(const struct expr_field *field);
/* Functions of the stack, not one number. */
bool expr_field_is_list(const struct expr_field *field);
bool expr_field_has(const struct expr_field *field,
		    const struct expr_record *r);
/* false: this record does not have it. Of a list the first. */
bool expr_field_value(const struct expr_field *field,
		      const struct expr_record *r, uint64_t *out);
/* A function as a value; 0 is none. */
static inline uint64_t
expr_function(uint32_t function)
{
	return (uint64_t)function + 1;
}
/* Values of the functions of a stack, leaf first, <Total> last: the i-th. */
size_t expr_stack_length(const struct profile *prof, uint32_t stack);
uint64_t expr_stack_at(const struct profile *prof, uint32_t stack, size_t i);

/* ---- expr_tree.c ----------------------------------------------------- */

enum expr_op {
	EXPR_NUMBER, EXPR_TEXT, EXPR_FIELD, EXPR_NAMES, EXPR_FILES, EXPR_LIST,
	EXPR_HAS,
	EXPR_NOT, EXPR_COMPLEMENT, EXPR_NEGATE,
	EXPR_OR, EXPR_AND, EXPR_BIT_OR, EXPR_BIT_XOR, EXPR_BIT_AND,
	EXPR_EQUAL, EXPR_UNEQUAL, EXPR_LESS, EXPR_MORE, EXPR_AT_MOST,
	EXPR_AT_LEAST, EXPR_LEFT, EXPR_RIGHT, EXPR_ADD, EXPR_SUBTRACT,
	EXPR_MULTIPLY, EXPR_DIVIDE, EXPR_REMAINDER,
	EXPR_CHOICE, EXPR_IN, EXPR_SOME_IN, EXPR_ORDERED_IN,
};

/* Values in one place, and a quick way to find one; what FNAME names, and
 * long lists of numbers. */
struct expr_set {
	uint64_t *values;
	size_t len, cap;
	struct map has;
};

struct expr_node {
	enum expr_op op;
	unsigned asks;		/* ASKS_*, of all below */
	uint32_t height;	/* how deep it is, itself counted */
	struct expr_node *a, *b, *c;
	const struct expr_field *field;
	uint64_t number;
	char *text;		/* of FNAME, or itself; NULL: nothing has
				 * such names */
	struct vec items;	/* of a list: struct expr_node * */
	struct expr_set *set;	/* once it is bound */
	uint32_t memo;		/* which one, + 1; 0: none */
};

struct expr_known {
	uint64_t value;
	enum { EXPR_NOT_ASKED, EXPR_NO_VALUE, EXPR_HAS_VALUE } state;
};

struct expr_memo {		/* of one node, by stack */
	struct expr_known *items;
	size_t len;
};

struct expr {
	struct expr_node *root;
	struct vec nodes;	/* all of them */
	struct expr_memo *memos;
	size_t memos_len, memos_cap;
	uint64_t *scratch;	/* lists, as a stack */
	size_t scratch_len, scratch_cap;
};

struct expr_parser {
	struct expr *e;
	const char *text;
	size_t at;
	unsigned depth;
	const struct profile_index_type *objects;
	size_t objects_len;
};

/* Says what is wrong and where; NULL. */
struct expr_node *expr_wrong(const struct expr_parser *p, size_t at,
			     const char *what);
/* The part is below the node. */
void expr_hold(struct expr_node *node, const struct expr_node *part);
/* A copy, with a, b and c below it. NULL: the tree has become too large. */
struct expr_node *expr_add(struct expr_parser *p, struct expr_node node);

/* ---- expr_word.c: what operators stand between ----------------------- */

void expr_skip_blanks(struct expr_parser *p);
/* Is that what stands next? Then it is behind us. */
bool expr_take(struct expr_parser *p, const char *text);
bool expr_take_word(struct expr_parser *p, const char *word);
struct expr_node *expr_number(struct expr_parser *p, uint64_t number);
struct expr_node *expr_primary(struct expr_parser *p);

/* ---- expr_parse.c ---------------------------------------------------- */

struct expr_node *expr_whole(struct expr_parser *p);
/* All of the text. */
struct expr_node *expr_text(struct expr_parser *p);
/* NULL: FAIL_USAGE says what is wrong and where. Names that are no fields are
 * asked for in objects, those of index objects. */
struct expr *expr_parse(const char *text,
			const struct profile_index_type *objects, size_t n);
void expr_free(struct expr *e);

/* ---- expr_text.c ----------------------------------------------------- */

/* Is text compared with names only, and names with text? -1: it is not. */
int expr_text_check(const struct expr *e);

/* ---- expr_names.c: FNAME("re"), FILEIOVFD("re") ---------------------- */

/* -1: it is no regular expression, or one that could take for ever. */
int expr_names_check(const char *pattern);
/* Functions whose whole displayed name matches; also the set of nothing. */
struct expr_set *expr_names(struct profile *prof, const char *pattern);
/* Numbers of open files with such names. */
struct expr_set *expr_files(struct profile *prof, const char *pattern);
struct expr_set *expr_set_new(void);
void expr_set_add(struct expr_set *set, uint64_t value);
void expr_set_free(struct expr_set *set);

/* ---- expr_bind.c ----------------------------------------------------- */

/* Needs functions or their names: stacks must have been symbolized before it
 * is bound. */
bool expr_needs_functions(const struct expr *e);
/* Before values are asked for. The profile's stacks and functions have their
 * final numbers, or none are needed. */
void expr_bind(struct expr *e, struct profile *prof);

/* ---- expr_eval.c ----------------------------------------------------- */

/* false: it has no value for this record. */
bool expr_value(struct expr *e, const struct expr_record *r, uint64_t *out);
/* Does a filter of it keep the record? */
bool expr_keeps(struct expr *e, const struct expr_record *r);

#endif
