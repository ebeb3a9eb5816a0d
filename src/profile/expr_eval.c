/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an expression comes to for one record. Parts that ask of the stack
 * alone are remembered by stack, so a filter by functions costs one look per
 * record, and one comparison of lists per stack.
 */
#include "expr.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_LIST = 8 };

static bool value(struct expr *e, const struct expr_node *node,
		  const struct expr_record *r, uint64_t *out);

/* ---- lists ----------------------------------------------------------- */

struct list {
	size_t first, len;	/* in the scratch, if set is NULL */
	const struct expr_set *set;
};

static uint64_t
list_at(const struct expr *e, const struct list *l, size_t i)
{
	return l->set ? l->set->values[i] : e->scratch[l->first + i];
}

static bool
list_has(const struct expr *e, const struct list *l, uint64_t wanted)
{
	uint64_t ignored;

	if (l->set && l->len > SHORT_LIST)
		return map_get(&l->set->has, wanted, &ignored);
	for (size_t i = 0; i < l->len; i++)
		if (list_at(e, l, i) == wanted)
			return true;
	return false;
}

static void
push(struct expr *e, uint64_t number)
{
	e->scratch = xgrow(e->scratch, &e->scratch_cap, e->scratch_len + 1,
			   sizeof *e->scratch);
	e->scratch[e->scratch_len++] = number;
}

static void
push_stack(struct expr *e, const struct expr_record *r)
{
	const size_t n = expr_stack_length(r->prof, r->stack);

	for (size_t i = 0; i < n; i++)
		push(e, expr_stack_at(r->prof, r->stack, i));
}

/* Put all values of a node at the end of the scratch; those of a list from
 * its last item on, as stacks have the leaf first. */
static bool
push_all(struct expr *e, const struct expr_node *node,
	 const struct expr_record *r)
{
	uint64_t number;

	if (node->op == EXPR_FIELD && expr_field_is_list(node->field)) {
		push_stack(e, r);
		return true;
	}
	if (node->set) {
		for (size_t i = 0; i < node->set->len; i++)
			push(e, node->set->values[i]);
		return true;
	}
	if (node->op == EXPR_LIST) {
		for (size_t i = node->items.len; i-- > 0;)
			if (!push_all(e, node->items.items[i], r))
				return false;
		return true;
	}
	if (!value(e, node, r, &number))
		return false;
	push(e, number);
	return true;
}

static bool
list_of(struct expr *e, const struct expr_node *node,
	const struct expr_record *r, struct list *out)
{
	*out = (struct list){ .first = e->scratch_len, .set = node->set };
	if (node->set) {
		out->len = node->set->len;
		return true;
	}
	if (!push_all(e, node, r))
		return false;
	out->len = e->scratch_len - out->first;
	return true;
}

/* A name that nobody has is in nothing. */
static bool
all_in(const struct expr *e, const struct list *a, const struct list *b)
{
	for (size_t i = 0; i < a->len; i++)
		if (!list_has(e, b, list_at(e, a, i)))
			return false;
	return a->len > 0;
}

static bool
some_in(const struct expr *e, const struct list *a, const struct list *b)
{
	/* the longer one has the quick look, if it has one */
	const struct list *from = b->set || a->len <= b->len ? a : b;
	const struct list *in = from == a ? b : a;

	for (size_t i = 0; i < from->len; i++)
		if (list_has(e, in, list_at(e, from, i)))
			return true;
	return false;
}

/* Does item i of the ordered list allow this value? FNAME: any of them. */
static bool
fits(struct expr *e, const struct expr_node *item,
     const struct expr_record *r, uint64_t wanted, bool *known)
{
	const size_t mark = e->scratch_len;
	struct list l;
	bool found = false;

	if (!list_of(e, item, r, &l))
		*known = false;
	else
		found = list_has(e, &l, wanted);
	e->scratch_len = mark;
	return found;
}

/* The items of a list, one behind the other: (a, b) is where a calls b. */
static bool
ordered_in(struct expr *e, const struct expr_node *node,
	   const struct expr_record *r, const struct list *b, bool *known)
{
	const struct expr_node *a = node->a;
	const size_t n = a->op == EXPR_LIST ? a->items.len : 1;

	for (size_t at = 0; at + n <= b->len; at++) {
		size_t i = 0;

		while (i < n && fits(e, a->op == EXPR_LIST ?
				     a->items.items[n - 1 - i] : a, r,
				     list_at(e, b, at + i), known))
			i++;
		if (i == n)
			return true;
	}
	return false;
}

static bool
compare_lists(struct expr *e, const struct expr_node *node,
	      const struct expr_record *r, uint64_t *out)
{
	const size_t mark = e->scratch_len;
	struct list a = {0}, b;
	bool known = list_of(e, node->b, r, &b) &&
		     (node->op == EXPR_ORDERED_IN ||
		      list_of(e, node->a, r, &a));

	if (known && node->op == EXPR_IN)
		*out = all_in(e, &a, &b);
	else if (known && node->op == EXPR_SOME_IN)
		*out = some_in(e, &a, &b);
	else if (known)
		*out = ordered_in(e, node, r, &b, &known);
	e->scratch_len = mark;
	return known;
}

/* ---- numbers --------------------------------------------------------- */

/* With one side unknown it may be known all the same. */
static bool
logical(struct expr *e, const struct expr_node *node,
	const struct expr_record *r, uint64_t *out)
{
	const uint64_t decides = node->op == EXPR_OR;
	uint64_t a, b;
	const bool known = value(e, node->a, r, &a);

	*out = decides;
	if (known && !!a == decides)
		return true;
	if (!value(e, node->b, r, &b))
		return false;
	*out = b != 0;
	return known || *out == decides;
}

static uint64_t
combine(enum expr_op op, uint64_t a, uint64_t b)
{
	switch (op) {
	case EXPR_BIT_OR: return a | b;
	case EXPR_BIT_XOR: return a ^ b;
	case EXPR_BIT_AND: return a & b;
	case EXPR_EQUAL: return a == b;
	case EXPR_UNEQUAL: return a != b;
	case EXPR_LESS: return a < b;
	case EXPR_MORE: return a > b;
	case EXPR_AT_MOST: return a <= b;
	case EXPR_AT_LEAST: return a >= b;
	case EXPR_LEFT: return b < 64 ? a << b : 0;
	case EXPR_RIGHT: return b < 64 ? a >> b : 0;
	case EXPR_ADD: return a + b;
	case EXPR_SUBTRACT: return a - b;
	case EXPR_MULTIPLY: return a * b;
	case EXPR_DIVIDE: return b ? a / b : 0;
	case EXPR_REMAINDER: return b ? a % b : 0;
	default: return 0;
	}
}

static bool
apply(struct expr *e, const struct expr_node *node,
      const struct expr_record *r, uint64_t *out)
{
	uint64_t a, b = 0;

	if (!value(e, node->a, r, &a) ||
	    (node->b && !value(e, node->b, r, &b)))
		return false;
	if (node->op == EXPR_NOT)
		*out = !a;
	else if (node->op == EXPR_COMPLEMENT)
		*out = ~a;
	else if (node->op == EXPR_NEGATE)
		*out = -a;
	else
		*out = combine(node->op, a, b);
	return true;
}

static bool
ask(struct expr *e, const struct expr_node *node, const struct expr_record *r,
    uint64_t *out)
{
	uint64_t a;

	switch (node->op) {
	case EXPR_NUMBER:
	case EXPR_TEXT:
		*out = node->number;
		return true;
	case EXPR_FIELD:
		return expr_field_value(node->field, r, out);
	case EXPR_HAS:
		*out = expr_field_has(node->field, r);
		return true;
	case EXPR_NAMES:
	case EXPR_FILES:
		*out = node->set && node->set->len ? node->set->values[0] : 0;
		return true;
	case EXPR_LIST:		/* as C's comma */
		return value(e, node->items.items[node->items.len - 1], r,
			     out);
	case EXPR_OR:
	case EXPR_AND:
		return logical(e, node, r, out);
	case EXPR_CHOICE:
		return value(e, node->a, r, &a) &&
		       value(e, a ? node->b : node->c, r, out);
	case EXPR_IN:
	case EXPR_SOME_IN:
	case EXPR_ORDERED_IN:
		return compare_lists(e, node, r, out);
	default:
		return apply(e, node, r, out);
	}
}

/* ---- what is remembered ---------------------------------------------- */

static bool
recall(struct expr *e, const struct expr_node *node,
       const struct expr_record *r, uint64_t *out)
{
	struct expr_memo *memo = &e->memos[node->memo - 1];

	if (r->stack >= memo->len) {
		const size_t n = r->prof->stacks_len;

		memo->items = xrealloc(memo->items, n * sizeof *memo->items);
		memset(&memo->items[memo->len], 0,
		       (n - memo->len) * sizeof *memo->items);
		memo->len = n;
	}

	struct expr_known *known = &memo->items[r->stack];

	if (known->state == EXPR_NOT_ASKED) {
		uint64_t number = 0;
		const bool has = ask(e, node, r, &number);

		known = &e->memos[node->memo - 1].items[r->stack];
		known->value = number;
		known->state = has ? EXPR_HAS_VALUE : EXPR_NO_VALUE;
	}
	*out = known->value;
	return known->state == EXPR_HAS_VALUE;
}

static bool
value(struct expr *e, const struct expr_node *node,
      const struct expr_record *r, uint64_t *out)
{
	return node->memo ? recall(e, node, r, out) : ask(e, node, r, out);
}

bool
expr_value(struct expr *e, const struct expr_record *r, uint64_t *out)
{
	return value(e, e->root, r, out);
}

bool
expr_keeps(struct expr *e, const struct expr_record *r)
{
	uint64_t number;

	return !value(e, e->root, r, &number) || number != 0;
}
