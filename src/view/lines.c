/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Below the function: source lines and single instructions.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* <Unknown>, <Truncated-stack>, a hidden object: nothing to have lines. */
static bool
is_pseudo(const struct profile_function *fn)
{
	return fn->is_folded ||
	       (!fn->object->is_file && fn->linkage[0] == '<');
}

static char *
line_name(struct viewer *v, const struct line_cost *line)
{
	const struct profile_function *fn = profile_function(v->prof,
							     line->function);
	const char *name = viewer_name(v, line->function);

	if (line->file)
		return xasprintf("%s, line %d in \"%s\"", name, line->line,
				 path_base(line->file));
	if (is_pseudo(fn))
		return xstrdup(name);
	return xasprintf("<Function: %s, instructions without line numbers>",
			 name);
}

/* ---- places --------------------------------------------------------- */

static int
by_function(const void *a, const void *b, void *arg)
{
	const struct line_cost *lines = arg;
	const struct line_cost *x = &lines[*(const uint32_t *)a];
	const struct line_cost *y = &lines[*(const uint32_t *)b];

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool
is_line(const struct line_cost *line, const char *file, int number)
{
	return line->line == number &&
	       (line->file == file ||
		(line->file && file && !strcmp(line->file, file)));
}

/* Each byte of a function belongs to a line; order[0..n) are those of it that
 * have cost. */
static void
measure(const struct profile_function *fn, const struct line_cost *lines,
	const uint32_t *order, size_t n, struct item *items)
{
	const char *file;
	size_t at = 0;
	int number;

	for (uint64_t pc = fn->start; pc < fn->start + fn->size; pc++) {
		if (!symfile_line(fn->object->symbols, pc, &file, &number)) {
			file = NULL;
			number = 0;
		}
		/* mostly the line of the byte before */
		for (size_t i = 0; i < n; i++, at = (at + 1) % n)
			if (is_line(&lines[order[at]], file, number)) {
				struct place *p = &items[order[at]].place;

				p->address = p->size ? p->address : pc;
				p->size++;
				break;
			}
	}
}

void
lines_places(struct viewer *v, const struct line_cost *lines,
	     struct item *items, size_t n)
{
	uint32_t *order = xcalloc(n + 1, sizeof *order);
	size_t next;

	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		items[i].place = (struct place){ items[i].function->object,
						 0, 0 };
	}
	if (n)
		qsort_r(order, n, sizeof *order, by_function, (void *)lines);
	for (size_t i = 0; i < n; i = next) {
		const struct profile_function *fn = profile_function(
			v->prof, lines[order[i]].function);

		for (next = i + 1; next < n &&
		     lines[order[next]].function == fn->id;)
			next++;
		if (fn->object->symbols && fn->start)
			measure(fn, lines, &order[i], next - i, items);
	}
	free(order);
}

/* ---- tables --------------------------------------------------------- */

struct item *
lines_items(struct viewer *v, const struct line_cost *costs, size_t n)
{
	struct item *items = xcalloc(n + 1, sizeof *items);

	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){
			.name = line_name(v, &costs[i]),
			.cost = costs[i].cost,
			.function = profile_function(v->prof,
						     costs[i].function),
			.index = (uint32_t)i,
		};
	return items;
}

int
view_lines(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct line_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_lines(v->prof, &costs);
	struct item *items = lines_items(v, costs, count);

	/* each byte of their functions is looked at for it */
	if (specs_have_place(v))
		lines_places(v, costs, items, count);

	list_write(v, "Lines", items, count, out);
	free(items);
	return 0;
}

static char *
offset_text(uint64_t offset)
{
	return xasprintf(offset > UINT32_MAX ? "0x%016" PRIX64 :
					       "0x%08" PRIX64, offset);
}

char *
pc_name(struct viewer *v, const struct profile_location *where,
	const char *file, int line)
{
	const struct profile_function *fn = profile_function(v->prof,
							     where->function);
	const char *name = viewer_name(v, where->function);
	const bool lost = fn->object != where->object;

	/* <Truncated-stack> has no inside; <Unknown> has its addresses */
	if (is_pseudo(fn) && (strcmp(fn->linkage, "<Unknown>") ||
			      where->object->show == OBJECT_HIDDEN))
		return xstrdup(name);

	char *offset = offset_text(where->offset);
	char *text = xasprintf("%s%s%s%s + %s", name, lost ? " (<" : "",
			       lost ? where->object->name : "",
			       lost ? ">)" : "", offset);

	free(offset);
	if (!file)
		return text;

	char *full = xasprintf("%s, line %d in \"%s\"", text, line,
			       path_base(file));

	free(text);
	return full;
}

/* <Unknown> begins at 0. */
static struct place
pc_place(const struct profile_location *at)
{
	return (struct place){ at->object, at->object->is_file ? at->vaddr :
			       at->offset, 0 };
}

struct item *
pcs_items(struct viewer *v, const struct location_cost *costs, size_t n)
{
	struct item *items = xcalloc(n + 1, sizeof *items);

	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){
			.name = pc_name(v, &costs[i].where, costs[i].file,
					costs[i].line),
			.cost = costs[i].cost,
			.function = profile_function(v->prof,
						     costs[i].where.function),
			.index = (uint32_t)i,
			.place = pc_place(&costs[i].where),
		};
	return items;
}

int
view_pcs(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct location_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_pcs(v->prof, &costs);
	struct item *items = pcs_items(v, costs, count);

	list_write(v, "PCs", items, count, out);
	free(items);
	return 0;
}
