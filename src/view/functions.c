/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The function list and the list of load objects.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

int
view_functions(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct function_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (viewer_exports(v))
		return viewer_export(v, out);

	const size_t count = profile_functions(v->prof, &costs);
	struct item *items = xcalloc(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.cost = costs[i].cost,
			.function = profile_function(v->prof,
						     costs[i].function),
		};
	list_write(v, "Functions", items, count, out);
	free(items);
	return 0;
}

static char *
object_name(const struct profile_object *obj)
{
	/* only artificial frames of stacks without an end live there */
	if (!strcmp(obj->name, "<Total>"))
		return xstrdup("<stacks without an end>");
	if (!obj->is_file)
		return xstrdup(obj->name);
	return xasprintf("<%s> (%s)", obj->name, obj->path);
}

static void
write_troubles(const struct object_cost *costs, size_t n, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!costs[i].object->trouble)
			continue;

		char *trouble = str_tamed(costs[i].object->trouble);

		fprintf(out, "note: %s\n", trouble);
		free(trouble);
		any = true;
	}
	if (any)
		putc('\n', out);
}

int
view_objects(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct object_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_objects(v->prof, &costs);
	struct item *items = xcalloc(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.name = object_name(costs[i].object),
			.key = xasprintf("<%s>", costs[i].object->name),
			.cost = costs[i].cost,
		};
	list_write(v, "Load objects", items, count, out);
	free(items);
	write_troubles(costs, count, out);
	return 0;
}
