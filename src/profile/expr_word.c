/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What operators stand between: numbers, text, fields, FNAME("re"),
 * FILEIOVFD("re"), HAS_PROP(field) and what is in parentheses.
 */
#include "expr.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
expr_skip_blanks(struct expr_parser *p)
{
	while (p->text[p->at] && strchr(" \t\r\n", p->text[p->at]))
		p->at++;
}

bool
expr_take(struct expr_parser *p, const char *text)
{
	const size_t n = strlen(text);

	expr_skip_blanks(p);
	if (strncmp(p->text + p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* Length of the name that stands next; 0: none does. */
static size_t
name_length(const struct expr_parser *p)
{
	const char *c = p->text + p->at;
	size_t n = 0;

	if (!isalpha((unsigned char)*c) && *c != '_')
		return 0;
	while (isalnum((unsigned char)c[n]) || c[n] == '_')
		n++;
	return n;
}

bool
expr_take_word(struct expr_parser *p, const char *word)
{
	const size_t n = strlen(word);

	expr_skip_blanks(p);
	if (name_length(p) != n || strncasecmp(p->text + p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* ---- primaries ------------------------------------------------------- */

struct expr_node *
expr_number(struct expr_parser *p, uint64_t number)
{
	return expr_add(p, (struct expr_node){ .op = EXPR_NUMBER,
					       .number = number });
}

static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (isxdigit((unsigned char)c))
		return tolower((unsigned char)c) - 'a' + 10;
	return 99;
}

/* As in C: 0x and 0 before a number say its base. */
static struct expr_node *
parse_number(struct expr_parser *p)
{
	const size_t start = p->at;
	const char *c = p->text + start;
	int base = 10;
	uint64_t number = 0;

	if (c[0] == '0' && (c[1] == 'x' || c[1] == 'X') &&
	    isxdigit((unsigned char)c[2])) {
		base = 16;
		c += 2;
	} else if (c[0] == '0') {
		base = 8;
	}
	for (; digit_value(*c) < base; c++)
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit_value(*c),
					   &number))
			return expr_wrong(p, start, "a number is too large");
	if (isalnum((unsigned char)*c) || *c == '_')
		return expr_wrong(p, start, "this is not a number,");
	p->at = (size_t)(c - p->text);
	return expr_number(p, number);
}

static struct expr_node *
close_parenthesis(struct expr_parser *p, struct expr_node *node)
{
	if (node && !expr_take(p, ")"))
		return expr_wrong(p, p->at, "a ) is missing");
	return node;
}

/* What stands between quotes; the caller frees it. NULL: there are none. */
static char *
take_quoted(struct expr_parser *p)
{
	const char quote = p->text[p->at];
	const char *start = p->text + p->at + 1;
	const char *end = quote == '"' || quote == '\'' ?
		strchr(start, quote) : NULL;

	if (!end)
		return NULL;
	p->at = (size_t)(end + 1 - p->text);
	return xstrndup(start, (size_t)(end - start));
}

static struct expr_node *
parse_text(struct expr_parser *p)
{
	char *text = take_quoted(p);

	return text ? expr_add(p, (struct expr_node){ .op = EXPR_TEXT,
						      .text = text }) :
		      expr_wrong(p, p->at, "a quote is missing");
}

/* FNAME("re"), FILEIOVFD("re"); the functions of other names know nothing
 * here. */
static struct expr_node *
parse_names(struct expr_parser *p, enum expr_op op, bool known)
{
	if (!expr_take(p, "("))
		return expr_wrong(p, p->at, "a ( is missing");
	expr_skip_blanks(p);

	const size_t start = p->at;
	char *text = take_quoted(p);

	if (!text)
		return expr_wrong(p, p->at, "a name in quotes is missing");
	if (!known) {
		free(text);
		text = NULL;
	}
	if (text && expr_names_check(text) < 0) {
		free(text);
		fail_in("column %zu", start + 2);
		return NULL;
	}
	return close_parenthesis(p, expr_add(p, (struct expr_node){
		.op = op, .text = text }));
}

static struct expr_node *
parse_has(struct expr_parser *p)
{
	if (!expr_take(p, "("))
		return expr_wrong(p, p->at, "a ( is missing");
	expr_skip_blanks(p);

	const size_t n = name_length(p);
	const struct expr_field *field = expr_field(p->text + p->at, n);

	if (!field)
		return expr_wrong(p, p->at, "there is no such field");
	p->at += n;
	return close_parenthesis(p, expr_add(p, (struct expr_node){
		.op = EXPR_HAS, .field = field, .asks = ASKS_RECORD }));
}

/* An object's name stands for its definition, which may name those that were
 * defined before it. */
static struct expr_node *
parse_definition(struct expr_parser *p, const struct profile_index_type *t)
{
	struct expr_parser inner = {
		.e = p->e, .text = t->expression, .depth = p->depth,
		.objects = p->objects,
		.objects_len = (size_t)(t - p->objects),
	};
	struct expr_node *node = expr_text(&inner);

	if (!node)
		fail_in("%s", t->name);
	return node;
}

static struct expr_node *
parse_field(struct expr_parser *p, size_t n)
{
	const char *name = p->text + p->at;
	const struct expr_field *field = expr_field(name, n);

	for (size_t i = 0; !field && i < p->objects_len; i++)
		if (strlen(p->objects[i].name) == n &&
		    strncasecmp(p->objects[i].name, name, n) == 0) {
			p->at += n;
			return parse_definition(p, &p->objects[i]);
		}
	if (!field)
		return expr_wrong(p, p->at, "there is no such field");
	if (!expr_field_is_read(field))
		return expr_wrong(p, p->at, "no record here has the field");
	p->at += n;
	return expr_add(p, (struct expr_node){
		.op = EXPR_FIELD, .field = field,
		.asks = expr_field_asks(field) });
}

static struct expr_node *
parse_word(struct expr_parser *p)
{
	static const char *const unknown[] = { "DNAME", "JGROUP", "JPARENT" };

	if (expr_take_word(p, "TRUE"))
		return expr_number(p, 1);
	if (expr_take_word(p, "FALSE"))
		return expr_number(p, 0);
	if (expr_take_word(p, "FNAME"))
		return parse_names(p, EXPR_NAMES, true);
	if (expr_take_word(p, "FILEIOVFD"))
		return parse_names(p, EXPR_FILES, true);
	if (expr_take_word(p, "HAS_PROP"))
		return parse_has(p);
	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		if (expr_take_word(p, unknown[i]))
			return parse_names(p, EXPR_NAMES, false);
	return parse_field(p, name_length(p));
}

struct expr_node *
expr_primary(struct expr_parser *p)
{
	expr_skip_blanks(p);
	if (isdigit((unsigned char)p->text[p->at]))
		return parse_number(p);
	if (name_length(p))
		return parse_word(p);
	if (expr_take(p, "("))
		return close_parenthesis(p, expr_whole(p));
	if (p->text[p->at] == '"' || p->text[p->at] == '\'')
		return parse_text(p);
	return expr_wrong(p, p->at, "a value is missing");
}

