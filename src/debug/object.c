/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Load objects of the program, as its target lists them. What was read of one
 * stays while the program runs on: types and names point into it.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *
key_of(const struct debug_object *from)
{
	return xasprintf("%s\n%s\n%" PRIx64, from->path, from->shown,
			 from->image ? from->start : 0);
}

static struct object *
known_object(struct debug *d, const struct debug_object *from, const char *key)
{
	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		/* a file by the same name may be another one */
		if (!o->here && strcmp(o->key, key) == 0 &&
		    (!from->symbols || from->symbols == o->symbols))
			return o;
	}
	return NULL;
}

static struct object *
open_object(struct debug *d, const struct debug_object *from, char *key)
{
	struct object *o = xcalloc(1, sizeof *o);

	o->key = key;
	o->shown = xstrdup(from->shown);
	o->symbols = from->symbols;
	if (!o->symbols) {
		o->owned = true;
		o->symbols = from->image ?
			symfile_memory(from->image, from->image_size,
				       from->shown) :
			symfile_open(from->path, from->shown, from->prefix);
	}
	vec_push(&d->objects, o);
	return o;
}

void
objects_load(struct debug *d)
{
	size_t n;
	const struct debug_object *list;

	if (d->objects_known)
		return;
	d->objects_known = true;
	for (size_t i = 0; i < d->objects.len; i++)
		((struct object *)d->objects.items[i])->here = false;
	list = d->target->objects(d->arg, &n);
	for (size_t i = 0; list && i < n; i++) {
		char *key = key_of(&list[i]);
		struct object *o = known_object(d, &list[i], key);

		if (o)
			free(key);
		else
			o = open_object(d, &list[i], key);
		o->here = true;
		o->order = i;
		o->start = list[i].start;
		o->end = list[i].end;
		o->bias = list[i].bias;
	}
}

void
object_close(struct object *o)
{
	scopes_forget(o);
	if (o->eh_cfi)
		(void)dwarf_cfi_end(o->eh_cfi);
	if (o->owned)
		symfile_free(o->symbols);
	free(o->index.slots);
	free(o->shown);
	free(o->key);
	free(o);
}

Dwarf *
object_dwarf(struct object *o)
{
	if (!o->dwarf_sought) {
		o->dwarf_sought = true;
		o->dwarf = symfile_dwarf(o->symbols);
	}
	return o->dwarf;
}

struct object *
object_at(struct debug *d, uint64_t addr)
{
	objects_load(d);
	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here && addr >= o->start && addr < o->end)
			return o;
	}
	return NULL;
}

/* Entries of dwz's common file belong to whoever led to them. */
struct object *
object_of_die(struct debug *d, Dwarf_Die *die, struct object *fallback)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);

	for (size_t i = 0; i < d->objects.len; i++) {
		struct object *o = d->objects.items[i];

		if (o->here && o->dwarf && o->dwarf == dwarf)
			return o;
	}
	return fallback;
}
