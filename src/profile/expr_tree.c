/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of an expression, while it grows and when it goes. The text may be
 * anybody's: the size and the height of the tree are bounded.
 */
#include "expr.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHT_MAX = 1000, NODES_MAX = 1 << 16, EXCERPT_MAX = 24 };

struct expr_node *
expr_wrong(const struct expr_parser *p, size_t at, const char *what)
{
	const char *rest = p->text + at;
	const size_t n = strlen(rest);

	if (n)
		fail(FAIL_USAGE, "%s at column %zu: '%.*s%s'", what, at + 1,
		     (int)(n > EXCERPT_MAX ? EXCERPT_MAX : n), rest,
		     n > EXCERPT_MAX ? "..." : "");
	else
		fail(FAIL_USAGE, "%s at its end, column %zu", what, at + 1);
	fail_remedy("filters 'FNAME(\"main\") SOME IN USTACK' is an example; "
		    "describe lists the fields");
	return NULL;
}

void
expr_hold(struct expr_node *node, const struct expr_node *part)
{
	if (!part)
		return;
	node->asks |= part->asks;
	if (part->height >= node->height)
		node->height = part->height + 1;
}

struct expr_node *
expr_add(struct expr_parser *p, struct expr_node node)
{
	struct expr_node *copy;

	node.height = 1;
	expr_hold(&node, node.a);
	expr_hold(&node, node.b);
	expr_hold(&node, node.c);
	if (node.height > HEIGHT_MAX || p->e->nodes.len >= NODES_MAX) {
		free(node.text);
		return expr_wrong(p, p->at, "the expression is too long");
	}
	copy = xmalloc(sizeof *copy);
	*copy = node;
	vec_push(&p->e->nodes, copy);
	return copy;
}

void
expr_free(struct expr *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->nodes.len; i++) {
		struct expr_node *node = e->nodes.items[i];

		vec_fini(&node->items);
		expr_set_free(node->set);
		free(node->text);
		free(node);
	}
	vec_fini(&e->nodes);
	for (size_t i = 0; i < e->memos_len; i++)
		free(e->memos[i].items);
	free(e->memos);
	free(e->scratch);
	free(e);
}

