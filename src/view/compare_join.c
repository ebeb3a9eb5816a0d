/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which things of several groups are the same. A key that is one thing's in
 * every group joins, whatever load object it is in, so that two builds of a
 * program compare; where a group has two of a key, the load object and the
 * place must be the same too, and where even that is two's, the shown name.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/* Counts by name, in one group at a time. */
struct tally {
	struct map at;		/* hash -> index + 1 */
	size_t *seen_in;	/* group + 1 that had it last */
	bool *twice;
	size_t len, cap_seen, cap_twice;
};

/* Names of equal hash share their fate, which loses nothing but a join. */
static size_t
tally_find(struct tally *t, const char *name)
{
	uint64_t *slot = map_slot_of(&t->at, hash_bytes(name, strlen(name),
							0));
	if (*slot)
		return *slot - 1;

	const size_t n = t->len++;

	t->seen_in = xgrow(t->seen_in, &t->cap_seen, n + 1,
			   sizeof *t->seen_in);
	t->twice = xgrow(t->twice, &t->cap_twice, n + 1, sizeof *t->twice);
	t->seen_in[n] = 0;
	t->twice[n] = false;
	*slot = n + 1;
	return n;
}

static void
tally_fini(struct tally *t)
{
	map_fini(&t->at);
	free(t->seen_in);
	free(t->twice);
}

static void
tally_add(struct tally *t, const char *name, size_t group)
{
	const size_t i = tally_find(t, name);

	if (t->seen_in[i] == group + 1)
		t->twice[i] = true;
	t->seen_in[i] = group + 1;
}

/* ---- rows ----------------------------------------------------------- */

struct joining {
	struct join *join;
	struct tally keys, exacts;
	struct map rows;	/* hash of the chosen key -> row + 1 */
};

static const char *
chosen_key(struct joining *j, const struct gathered *g, char *kind)
{
	*kind = 'k';
	if (!j->keys.twice[tally_find(&j->keys, g->key)])
		return g->key;
	*kind = 'e';
	if (!j->exacts.twice[tally_find(&j->exacts, g->exact)])
		return g->exact;
	*kind = 'n';
	return g->name;
}

static struct joined *
new_row(struct join *join)
{
	join->rows = xgrow(join->rows, &join->cap, join->len + 1,
			   sizeof *join->rows);
	join->rows[join->len] = (struct joined){
		.cells = xcalloc(join->groups, sizeof *join->rows->cells),
		.at = xcalloc(join->groups, sizeof *join->rows->at),
	};
	return &join->rows[join->len++];
}

static void
place(struct joining *j, const struct gathered_list *list, size_t i,
      size_t group)
{
	const struct gathered *g = &list->items[i];
	char kind;
	const char *key = chosen_key(j, g, &kind);
	uint64_t *slot = map_slot_of(&j->rows, hash_bytes(
		key, strlen(key), (uint64_t)kind));
	struct joined *row = *slot ? &j->join->rows[*slot - 1] : NULL;

	/* two of a shown name in one group: each its row */
	if (!row || row->cells[group]) {
		row = new_row(j->join);
		*slot = j->join->len;
	}
	row->cells[group] = g;
	row->at[group] = i;
	if (!row->first)
		row->first = g;
}

void
join_make(struct join *join, const struct gathered_list *const *lists,
	  size_t groups)
{
	struct joining j = { .join = join };

	*join = (struct join){ .groups = groups };
	for (size_t g = 0; g < groups; g++)
		for (size_t i = 0; lists[g] && i < lists[g]->len; i++) {
			tally_add(&j.keys, lists[g]->items[i].key, g);
			tally_add(&j.exacts, lists[g]->items[i].exact, g);
		}
	for (size_t g = 0; g < groups; g++)
		for (size_t i = 0; lists[g] && i < lists[g]->len; i++)
			place(&j, lists[g], i, g);
	tally_fini(&j.keys);
	tally_fini(&j.exacts);
	map_fini(&j.rows);
}

void
join_fini(struct join *join)
{
	for (size_t i = 0; i < join->len; i++) {
		free(join->rows[i].cells);
		free(join->rows[i].at);
	}
	free(join->rows);
	*join = (struct join){0};
}

/* ---- order ---------------------------------------------------------- */

struct ordering {
	const struct sort *sort;
	int slot;		/* -1: not by a metric */
	size_t groups;
};

static uint64_t
value_in(const struct ordering *by, const struct joined *row, size_t group)
{
	const struct gathered *g = row->cells[group];

	if (!g || by->slot < 0)
		return 0;
	return (by->sort->flavor == EXCLUSIVE ? g->excl : g->incl)[by->slot];
}

static int
compare_rows(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const struct joined *x = a, *y = b;
	int order = 0;

	if (x->first->leads != y->first->leads)
		return x->first->leads ? -1 : 1;
	for (size_t g = 0; g < by->groups && !order; g++) {
		const uint64_t vx = value_in(by, x, g), vy = value_in(by, y, g);

		order = vx == vy ? 0 : vx > vy ? -1 : 1;
	}
	if (!order && x->first->order != y->first->order)
		order = x->first->order < y->first->order ? -1 : 1;
	if (!order)
		order = strcmp(x->first->name, y->first->name);
	return by->sort->reverse ? -order : order;
}

void
join_sort(struct join *join, const struct viewer *v, const struct sort *sort)
{
	struct ordering by = {
		.sort = sort, .groups = join->groups,
		.slot = sort->metric < 0 ? -1 : viewer_slot(v, sort->metric),
	};

	if (join->len)
		qsort_r(join->rows, join->len, sizeof *join->rows,
			compare_rows, &by);
}
