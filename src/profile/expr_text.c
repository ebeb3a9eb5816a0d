/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text is compared with the fields that are names, and with nothing else: as
 * numbers neither means anything.
 *
 *     IOFNAME == "a.dat"	IOFNAME != "a.dat"	IOFNAME IN ("a", "b")
 */
#include "expr.h"

static bool
is_name(const struct expr_node *node)
{
	return node->op == EXPR_FIELD && expr_field_is_name(node->field);
}

static bool
is_texts(const struct expr_node *node)
{
	if (node->op != EXPR_LIST)
		return node->op == EXPR_TEXT;
	for (size_t i = 0; i < node->items.len; i++)
		if (!is_texts(node->items.items[i]))
			return false;
	return true;
}

static bool
compares(const struct expr_node *node)
{
	switch (node->op) {
	case EXPR_EQUAL:
	case EXPR_UNEQUAL:
		return (is_name(node->a) && node->b->op == EXPR_TEXT) ||
		       (is_name(node->b) && node->a->op == EXPR_TEXT);
	case EXPR_IN:
	case EXPR_SOME_IN:
		return (is_name(node->a) && is_texts(node->b)) ||
		       (is_name(node->b) && is_texts(node->a));
	default:
		return false;
	}
}

static int
check(const struct expr_node *node)
{
	if (!node || compares(node))
		return 0;
	if (is_name(node) || node->op == EXPR_TEXT) {
		fail(FAIL_USAGE, "%s is compared with %s only",
		     is_name(node) ? node->field->name : "text in quotes",
		     is_name(node) ? "text in quotes" : "IOFNAME");
		return fail_remedy("filters 'IOFNAME == \"a.dat\"' is an "
				   "example; IOVFD IN FILEIOVFD(\"re\") asks "
				   "for names that match");
	}
	for (size_t i = 0; i < node->items.len; i++)
		if (check(node->items.items[i]) < 0)
			return -1;
	return check(node->a) < 0 || check(node->b) < 0 ||
	       check(node->c) < 0 ? -1 : 0;
}

int
expr_text_check(const struct expr *e)
{
	return check(e->root);
}
