/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The things of one group, kept until those of all groups are there. Costs
 * come by the slots of the group's profile and stay by those of the sum. A
 * thing is known again by what its function is called in the symbol table,
 * since names for people tell more of it where there are two of a name.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

static void
list_fini(struct gathered_list *l)
{
	for (size_t i = 0; i < l->len; i++) {
		free(l->items[i].name);
		free(l->items[i].key);
		free(l->items[i].exact);
		free(l->items[i].excl);
		free(l->items[i].incl);
	}
	free(l->items);
}

void
gathering_fini(struct gathering *g)
{
	list_fini(&g->list);
	for (size_t i = 0; i < g->panes_len; i++) {
		list_fini(&g->panes[i].centre);
		list_fini(&g->panes[i].callers);
		list_fini(&g->panes[i].callees);
	}
	free(g->panes);
	*g = (struct gathering){0};
}

/* ---- keys ----------------------------------------------------------- */

/* The name of a thing with what its function is called in its place. */
static char *
with_function(const char *name, const char *shown, const char *called)
{
	const char *at = strstr(name, shown);

	if (!at)
		return xstrdup(name);
	return xasprintf("%.*s%s%s", (int)(at - name), name, called,
			 at + strlen(shown));
}

static void
set_keys(struct viewer *v, struct gathered *g, const char *key)
{
	const struct profile_function *fn = g->function;

	if (!fn) {
		g->key = xstrdup(key ? key : g->name);
		g->exact = xstrdup(g->name);
		return;
	}

	const char *shown = viewer_name(v, fn->id);
	char *called = xasprintf("%s\t%s", fn->linkage, fn->object->name);

	g->exact = with_function(g->name, shown, called);
	/* what is named after its place is nothing elsewhere */
	g->key = fn->is_static ? xstrdup(g->exact) :
		with_function(g->name, shown, fn->linkage);
	free(called);
}

/* ---- costs ---------------------------------------------------------- */

/* Counters have other numbers in another profile. */
static int
slot_here(const struct viewer *v, size_t sum_slot)
{
	const struct compared_group *sum = &v->comparison->sum;
	const char *name = profile_metric(sum->prof,
					  sum->metrics[sum_slot])->name;

	for (size_t s = 0; s < v->slots; s++)
		if (!strcmp(profile_metric(v->prof, v->metrics[s])->name, name))
			return (int)s;
	return -1;
}

static uint64_t *
translate(const struct viewer *v, const uint64_t *values)
{
	const struct comparison *c = v->comparison;
	const size_t slots = c->sum.slots;
	uint64_t *out = xcalloc(slots + 1, sizeof *out);

	for (size_t s = 0; s < slots; s++)
		if (c->slot_here[s] >= 0)
			out[s] = values[c->slot_here[s]];
	return out;
}

static void
add(struct viewer *v, struct gathered_list *l, const struct item *item)
{
	l->items = xgrow(l->items, &l->cap, l->len + 1, sizeof *l->items);

	struct gathered *g = &l->items[l->len++];

	*g = (struct gathered){
		.name = xstrdup(item->name ? item->name :
				viewer_name(v, item->function->id)),
		.function = item->function,
		.order = item->order, .place = place_of(item),
		.excl = translate(v, item->cost.excl),
		.incl = translate(v, item->cost.incl),
		.leads = item->function &&
			 item->function->id == FUNCTION_TOTAL,
	};
	set_keys(v, g, item->key);
}

static void
add_all(struct viewer *v, struct gathered_list *l, const struct item *items,
	size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(v, l, &items[i]);
}

void
gathering_begin(struct viewer *v)
{
	struct comparison *c = v->comparison;

	for (size_t s = 0; s < c->sum.slots; s++)
		c->slot_here[s] = slot_here(v, s);
}

static struct gathering *
gathering_now(struct viewer *v)
{
	struct comparison *c = v->comparison;
	struct compared_group *group = &c->groups[c->now];

	if (!group->total)
		group->total = translate(v, profile_total(v->prof).incl);
	return &c->gathered[c->now];
}

bool
compare_gathers(const struct viewer *v)
{
	return v->comparison && v->comparison->gathered;
}

void
compare_gather_list(struct viewer *v, const char *what, int flavor,
		    const struct sort *sort, const struct item *items,
		    size_t n)
{
	struct comparison *c = v->comparison;

	add_all(v, &gathering_now(v)->list, items, n);
	if (c->is_list)
		return;
	c->is_list = true;
	c->what = xstrdup(what);
	c->flavor = flavor;
	c->sort = *sort;
}

void
compare_gather_pane(struct viewer *v, const struct item *centre,
		    const struct item *callers, size_t above,
		    const struct item *callees, size_t below)
{
	struct gathering *g = gathering_now(v);

	v->comparison->is_panes = true;
	g->panes = xgrow(g->panes, &g->panes_cap, g->panes_len + 1,
			 sizeof *g->panes);

	struct gathered_pane *p = &g->panes[g->panes_len++];

	*p = (struct gathered_pane){0};
	add(v, &p->centre, centre);
	add_all(v, &p->callers, callers, above);
	add_all(v, &p->callees, callees, below);
}

void
compare_gather_fragment(struct viewer *v, const struct item *last,
			const struct item *callers, size_t above,
			const struct item *callees, size_t below)
{
	v->comparison->is_fragment = true;
	compare_gather_pane(v, last, callers, above, callees, below);
}
