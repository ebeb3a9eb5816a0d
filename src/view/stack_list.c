/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of stacks with what was counted for each: in text a heading and the
 * frames below it, leaf first; for programs a panel with a list of frames;
 * tables have them in one cell.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

void
stack_list_add(struct stack_list *list, struct stack_entry entry)
{
	list->items = xgrow(list->items, &list->cap, list->len + 1,
			    sizeof *list->items);
	list->items[list->len++] = entry;
}

void
stack_list_fini(struct stack_list *list)
{
	free(list->items);
}

/* ---- order --------------------------------------------------------------- */

struct ordering {
	size_t first, second;
};

static int
compare(const void *a, const void *b, void *arg)
{
	const struct ordering *by = arg;
	const struct stack_entry *x = a, *y = b;
	const size_t at = x->values[by->first] != y->values[by->first] ?
		by->first : by->second;

	if (x->values[at] != y->values[at])
		return x->values[at] > y->values[at] ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void
stack_list_sort(struct stack_list *list, size_t first, size_t second)
{
	struct ordering by = { first, second };

	if (list->len)
		qsort_r(list->items, list->len, sizeof *list->items, compare,
			&by);
}

/* ---- frames -------------------------------------------------------------- */

struct shown {			/* the frames of one stack as text */
	struct viewer *v;
	struct traced_frame *frames;
	size_t len, cap;
};

static void
show(struct shown *s, uint32_t stack)
{
	s->len = traced_stack(s->v->prof, stack, &s->frames, &s->cap);
}

static char *
frame_text(const struct shown *s, size_t i)
{
	if (!s->len)
		return xstrdup("<no stack recorded>");
	return pc_name(s->v, &s->frames[i].where, s->frames[i].file,
		       s->frames[i].line);
}

static size_t
frame_count(const struct shown *s)
{
	return s->len ? s->len : 1;
}

const char *
stack_caller(struct viewer *v, uint32_t stack)
{
	static const char *const allocators[] = {
		"malloc", "calloc", "realloc", "reallocarray", "memalign",
		"aligned_alloc", "posix_memalign", "valloc", "pvalloc",
		"strdup", "strndup", "operator new(unsigned long)",
		"operator new[](unsigned long)",
	};
	struct shown s = { .v = v };
	const char *name = NULL;
	size_t at = 0;

	show(&s, stack);
	while (at < s.len) {
		size_t i = 0;

		name = profile_function(v->prof,
					s.frames[at].where.function)->name;
		while (i < ARRAY_LEN(allocators) && strcmp(name, allocators[i]))
			i++;
		if (i == ARRAY_LEN(allocators))
			break;
		at++;
	}
	name = at < s.len ? viewer_name(v, s.frames[at].where.function) : NULL;
	free(s.frames);
	return name;
}

bool
stack_is_stdio(struct viewer *v, uint32_t stack)
{
	static const char *const makers[] = { "_IO_file_doallocate",
					      "_IO_wfile_doallocate" };
	struct shown s = { .v = v };
	bool found = false;

	show(&s, stack);
	for (size_t f = 0; f < s.len && !found; f++) {
		const struct profile_function *fn = profile_function(
			v->prof, s.frames[f].where.function);

		for (size_t i = 0; i < ARRAY_LEN(makers); i++)
			found |= strcmp(fn->linkage, makers[i]) == 0 &&
				str_starts(fn->object->name, "libc");
	}
	free(s.frames);
	return found;
}

/* ---- text ---------------------------------------------------------------- */

static bool
is_said(const struct stack_list *list, const struct stack_entry *e, size_t c)
{
	return c < list->always || e->values[c];
}

static void
write_heading(struct viewer *v, const struct stack_list *list, size_t i,
	      FILE *out)
{
	const struct stack_entry *e = &list->items[i];
	struct str text = {0};
	char buf[64];

	str_addf(&text, "%s #%zu", e->what, i + 1);
	for (size_t c = 0; c < list->columns_len; c++) {
		const struct column *col = &list->columns[c];

		if (!is_said(list, e, c))
			continue;
		if (col->kind == CELL_TIME)
			snprintf(buf, sizeof buf, "%.6f s",
				 (double)e->values[c] / 1e9);
		else
			snprintf(buf, sizeof buf, "%llu",
				 (unsigned long long)e->values[c]);
		str_addf(&text, ", %s = %s", col->heading, buf);
	}
	fprintf(out, "%s%s%s\n", v->color ? "\033[1m" : "", str_text(&text),
		v->color ? "\033[0m" : "");
	str_fini(&text);
}

static void
write_text(struct viewer *v, const struct stack_list *list, size_t n,
	   FILE *out)
{
	struct shown s = { .v = v };

	for (size_t i = 0; i < n; i++) {
		write_heading(v, list, i, out);
		show(&s, list->items[i].stack);
		for (size_t f = 0; f < frame_count(&s); f++) {
			/* others gave the names: a frame stays one line */
			char *text = str_tame(frame_text(&s, f));

			fprintf(out, "  %s\n", text);
			free(text);
		}
		putc('\n', out);
	}
	free(s.frames);
}

/* ---- panels and tables --------------------------------------------------- */

struct panels {
	const struct stack_list *list;
	struct shown shown;
	char *name;
};

static void
make_panel(void *arg, size_t i, struct panel *p)
{
	struct panels *ps = arg;
	const struct stack_entry *e = &ps->list->items[i];

	free(ps->name);
	ps->name = xasprintf("%s #%zu", e->what, i + 1);
	p->name = ps->name;
	for (size_t c = 0; c < ps->list->columns_len; c++) {
		const struct column *col = &ps->list->columns[c];

		if (col->kind == CELL_TIME)
			panel_metric(p, xstrdup(col->heading), true,
				     e->values[c], 0);
		else
			panel_count(p, col->heading, e->values[c]);
	}
	show(&ps->shown, e->stack);
	panel_list(p, "Stack");
	for (size_t f = 0; f < frame_count(&ps->shown); f++) {
		char *text = frame_text(&ps->shown, f);

		panel_item(p, text);
		free(text);
	}
}

static char *
whole_stack(struct shown *s, uint32_t stack)
{
	struct str text = {0};

	show(s, stack);
	for (size_t f = 0; f < frame_count(s); f++) {
		char *frame = frame_text(s, f);

		str_addf(&text, "%s%s", f ? "; " : "", frame);
		free(frame);
	}
	return str_take(&text);
}

static void
write_table(struct viewer *v, const struct stack_list *list, FILE *out)
{
	struct table t = { .v = v };
	struct shown s = { .v = v };
	struct vec names = {0};

	for (size_t c = 0; c < list->columns_len; c++) {
		struct column col = list->columns[c];

		col.heading = xstrdup(col.heading);
		col.show = SHOW_VALUE;
		table_column(&t, col);
	}
	table_column(&t, (struct column){ .heading = xstrdup("Name"),
			 .kind = CELL_NAME, .show = SHOW_VALUE });
	for (size_t i = 0; i < list->len; i++) {
		char *name = whole_stack(&s, list->items[i].stack);
		const struct row *row = table_row(&t, name);

		vec_push(&names, name);
		for (size_t c = 0; c < list->columns_len; c++)
			table_cell(&t, row, c)->value =
				list->items[i].values[c];
	}
	table_write(&t, v->limit, out);
	table_fini(&t);
	vec_free_items(&names);
	free(s.frames);
}

void
stack_list_write(struct viewer *v, const struct stack_list *list, FILE *out)
{
	const size_t n = v->limit && v->limit < list->len ? v->limit :
							    list->len;

	if (facts_wanted(v)) {
		struct panels ps = { .list = list, .shown.v = v };

		panels_write(v, list->title, n, make_panel, &ps, out);
		notes_write(v, list->notes, out);
		free(ps.name);
		free(ps.shown.frames);
		return;
	}
	title_write(v, out, "%s", list->title);
	if (v->report) {
		write_table(v, list, out);
		notes_write(v, list->notes, out);
		return;
	}
	fprintf(out, "%s\n", list->notes);
	write_text(v, list, n, out);
}
