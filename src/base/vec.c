/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing arrays of pointers.
 */
#include "base.h"

#include <stdlib.h>

void
vec_fini(struct vec *v)
{
	free(v->items);
	*v = (struct vec){0};
}

void
vec_push(struct vec *v, void *item)
{
	v->items = xgrow(v->items, &v->cap, v->len + 1, sizeof *v->items);
	v->items[v->len++] = item;
}

void
vec_free_items(struct vec *v)
{
	for (size_t i = 0; i < v->len; i++)
		free(v->items[i]);
	vec_fini(v);
}
