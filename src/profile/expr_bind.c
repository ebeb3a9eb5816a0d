/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Before an expression is asked: names become functions of the profile, lists
 * of numbers become sets, and what asks of the stack alone gets a place to be
 * remembered in.
 */
#include "calls.h"

bool
expr_needs_functions(const struct expr *e)
{
	for (size_t i = 0; i < e->nodes.len; i++) {
		const struct expr_node *node = e->nodes.items[i];

		if (node->op == EXPR_NAMES || node->asks & ASKS_STACK)
			return true;
	}
	return false;
}

static bool
is_numbers(const struct expr_node *node)
{
	for (size_t i = 0; i < node->items.len; i++)
		if (((struct expr_node *)node->items.items[i])->op !=
		    EXPR_NUMBER)
			return false;
	return true;
}

static struct expr_set *
set_of_numbers(const struct expr_node *node)
{
	struct expr_set *set = expr_set_new();

	for (size_t i = node->items.len; i-- > 0;)
		expr_set_add(set, ((struct expr_node *)
				   node->items.items[i])->number);
	return set;
}

static bool
is_list(const struct expr_node *node)
{
	return node->op == EXPR_LIST || node->op == EXPR_NAMES ||
	       node->op == EXPR_FILES ||
	       (node->op == EXPR_FIELD && expr_field_is_list(node->field));
}

static void
remember(struct expr *e, struct expr_node *node)
{
	if (!node)
		return;
	if (node->asks == ASKS_STACK && !is_list(node)) {
		e->memos = xgrow(e->memos, &e->memos_cap, e->memos_len + 1,
				 sizeof *e->memos);
		e->memos[e->memos_len++] = (struct expr_memo){0};
		node->memo = (uint32_t)e->memos_len;
		return;
	}
	remember(e, node->a);
	remember(e, node->b);
	remember(e, node->c);
	for (size_t i = 0; i < node->items.len; i++)
		remember(e, node->items.items[i]);
}

void
expr_bind(struct expr *e, struct profile *prof)
{
	for (size_t i = 0; i < e->nodes.len; i++) {
		struct expr_node *node = e->nodes.items[i];

		if (node->op == EXPR_NAMES)
			node->set = expr_names(prof, node->text);
		if (node->op == EXPR_FILES)
			node->set = expr_files(prof, node->text);
		if (node->op == EXPR_TEXT)
			node->number = files_name_number(prof, node->text);
		if (node->op == EXPR_LIST && is_numbers(node))
			node->set = set_of_numbers(node);
	}
	for (size_t i = 0; i < prof->sources_len; i++) {
		prof->sources[i].wants_leaks |= e->root->asks & ASKS_LEAKS;
		prof->sources[i].wants_course |= e->root->asks & ASKS_HEAP;
	}
	remember(e, e->root);
}
